// A server with every feature, on the public API only, for the clients of other implementations.
//   INTEROP_HTTP        serves over HTTP and prints its URL on the first line of standard output. Default: stdio
//   INTEROP_PAGE_SIZE   entries per page of a list
//   INTEROP_TAP         a module to load first, which records the messages
//   INTEROP_JOURNAL     a file for the handlers' journal, readable after the server has exited
import { appendFileSync } from "node:fs";
import { createServer, live, ToolError } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { serveStdio } from "portolan/server/stdio";
import { z } from "zod";
import { withQuestions } from "./fixture-questions.mjs";

const { INTEROP_HTTP, INTEROP_PAGE_SIZE, INTEROP_JOURNAL, INTEROP_TAP } = process.env;
if (INTEROP_TAP !== undefined) await import(INTEROP_TAP);

const journal = [];

function note(line) {
  journal.push(line);
  if (INTEROP_JOURNAL) appendFileSync(INTEROP_JOURNAL, `${line}\n`);
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const silence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

const turn = () => new Promise((resolve) => setImmediate(resolve));
const label = z.object({ label: z.string() });

const anyValues = {
  ...{ list: [3, 1, 2], empty: [], number: 7, no: false, null: null },
  ...{ date: new Date(0), object: { sky: "clear" } },
};

const plain = createServer(
  { name: "interop-fixture", version: "1.2.3", title: "Interop fixture" },
  {
    instructions: "One of everything.",
    onError: (error) => note(`error: ${error instanceof Error ? error.message : error}`),
    ...(INTEROP_PAGE_SIZE !== undefined && { pageSize: Number(INTEROP_PAGE_SIZE) }),
  },
)
  .tool("text", {
    title: "Text",
    description: "Says what it was given",
    input: z.object({ text: z.string().describe("What to say") }),
    annotations: { readOnlyHint: true },
    run: ({ text }) => text,
  })
  .tool("structured", {
    description: "The weather as an object",
    input: z.object({ city: z.string() }),
    output: z.object({ city: z.string(), celsius: z.number(), sky: z.enum(["clear", "cloudy"]) }),
    run: ({ city }) => ({ city, celsius: 21.5, sky: "clear" }),
  })
  .tool("structured-list", {
    description: "The weather as a list",
    output: z.array(z.number()),
    run: () => [3, 1, 2],
  })
  .tool("any-value", {
    description: "A value without an output schema",
    input: z.object({ kind: z.enum(["list", "empty", "number", "no", "null", "date", "object"]) }),
    run: ({ kind }) => anyValues[kind],
  })
  .tool("structured-union", {
    description: "One of two objects",
    output: z.discriminatedUnion("sky", [
      z.object({ sky: z.literal("clear"), celsius: z.number() }),
      z.object({ sky: z.literal("cloudy"), cover: z.number() }),
    ]),
    run: () => ({ sky: "clear", celsius: 21.5 }),
  })
  .tool("image", { run: () => [{ type: "image", data: pixel, mimeType: "image/png" }] })
  .tool("audio", { run: () => [{ type: "audio", data: silence, mimeType: "audio/wav" }] })
  .tool("link", { run: () => [{ type: "resource_link", uri: "note://1", name: "first note", mimeType: "text/plain" }] })
  .tool("embedded", {
    run: () => [{ type: "resource", resource: { uri: "note://1", mimeType: "text/plain", text: "Note 1" } }],
  })
  .tool("error-result", { run: () => ({ content: [{ type: "text", text: "Out of ink" }], isError: true }) })
  .tool("tool-error", {
    run: () => {
      throw new ToolError("No city named Atlantis");
    },
  })
  .tool("crash", {
    run: async () => {
      throw new Error("the password is hunter2");
    },
  })
  .tool("progress", {
    input: z.object({ steps: z.int() }),
    run: async ({ steps }, context) => {
      // The official clients drop progress that they read together with the result, so the result waits for `release`.
      const released = new Promise((resolve) => {
        release = resolve;
      });
      for (let step = 1; step <= steps; step += 1) {
        context.progress(step, steps, `step ${step}`);
        await turn();
      }
      await released;
      return "done";
    },
  })
  .tool("release", { description: "Lets the progress tool end", run: () => release?.() })
  .tool("slow", {
    description: "Runs until it is cancelled",
    input: label,
    run: ({ label }, context) =>
      new Promise((_, reject) => {
        note(`started ${label}`);
        context.signal.addEventListener("abort", () => {
          note(`aborted ${label}`);
          reject(context.signal.reason);
        });
        context.progress(1);
      }),
  })
  .tool("journal", { run: () => journal.join("\n") })
  .tool("log", {
    input: label,
    run: ({ label }, context) => {
      for (const level of ["debug", "info", "warning", "error"]) context.log(level, `${label} ${level}`, "fixture");
      return "logged";
    },
  })
  .tool("noise", {
    description: "Prints to standard output",
    run: () => {
      console.log("no message");
      process.stdout.write('{"jsonrpc": "2.0", "method"');
    },
  })
  .tool("whoami", {
    output: z.object({ name: z.string(), protocolVersion: z.string(), capabilities: z.array(z.string()) }),
    run: (_, { client, protocolVersion, capabilities }) => ({
      name: client?.name ?? "nobody",
      protocolVersion,
      capabilities: Object.keys(capabilities).sort(),
    }),
  })
  .tool("needs-roots", { needs: { roots: {} }, run: () => "has roots" })
  .tool("tick", {
    description: "Changes the watched resource",
    run: () => {
      ticks += 1;
      tellWatcher?.();
      return String(ticks);
    },
  })
  .tool("touch", {
    description: "Announces a change of a resource",
    input: z.object({ uri: z.string() }),
    run: ({ uri }) => {
      server.publish("resources/updated", { uri });
      return "touched";
    },
  })
  .tool("grow", {
    description: "Adds a tool, a prompt and a resource",
    run: () => {
      server.update((current) =>
        current
          .tool("grown", { run: () => "I am new" })
          .prompt("grown", { get: () => "I am new" })
          .resource("grown://new", { read: () => "I am new" }),
      );
      return "grown";
    },
  })
  .tool("shrink", {
    description: "Removes what grow added",
    run: () => {
      server.update(() => contents);
      return "shrunk";
    },
  })
  .resource("text://hello", { name: "hello", title: "Hello", mimeType: "text/plain", read: () => "Hello, world" })
  .resource("data://pixel", {
    name: "pixel",
    mimeType: "image/png",
    read: () => new Uint8Array(Buffer.from(pixel, "base64")),
  })
  .resource("counter://ticks", {
    name: "ticks",
    subscribe: true,
    watch: (uri, changed) => {
      note(`watch ${uri}`);
      tellWatcher = changed;
      return () => {
        note(`unwatch ${uri}`);
        tellWatcher = undefined;
      };
    },
    read: () => String(ticks),
  })
  .template("note://{id}", {
    name: "note",
    title: "Notes",
    mimeType: "text/plain",
    subscribe: true,
    list: () => [1, 2].map((id) => ({ uri: `note://${id}`, name: `note ${id}` })),
    complete: { id: ["1", "2", "10", "11"] },
    read: ({ id }) => (Number(id) > 99 ? undefined : `Note ${id}`),
  })
  .template("repo://{owner}/{name}", {
    name: "repository",
    complete: {
      owner: ["ada", "alan"],
      name: (value, { owner }) => [`${owner}-engine`, `${owner}-notes`].filter((name) => name.startsWith(value)),
    },
    read: ({ owner, name }) => `${name} of ${owner}`,
  })
  .prompt("greet", {
    title: "Greet",
    description: "Greets somebody",
    arguments: {
      name: { required: true, description: "Whom", complete: ["Ada", "Alan", "Grace"] },
      tone: { complete: (value) => ["formal", "friendly"].filter((tone) => tone.startsWith(value)) },
    },
    get: ({ name, tone }) => `Greet ${name}${tone === undefined ? "" : ` in a ${tone} tone`}`,
  })
  .prompt("rich", {
    get: () => [
      { role: "user", content: { type: "image", data: pixel, mimeType: "image/png" } },
      { role: "assistant", content: { type: "resource", resource: { uri: "note://1", text: "Note 1" } } },
    ],
  });

const contents = withQuestions(plain, note);

let release;
let ticks = 0;
let tellWatcher;

const server = live(contents);
if (INTEROP_HTTP === undefined) serveStdio(server);
else console.log((await serveHttp(server, { httpSse: true }).listen(0)).url);
