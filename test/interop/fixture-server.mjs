// A server with one of everything, on the public API only; the peers' clients drive it over stdio.
//   INTEROP_PAGE_SIZE   how many features a list page holds
//   INTEROP_JOURNAL     a file that receives what the handlers saw, for when nobody can be asked any more
import { appendFileSync } from "node:fs";
import { createServer, form, inputRequired, live, ToolError } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
import { z } from "zod";

const { INTEROP_PAGE_SIZE, INTEROP_JOURNAL } = process.env;

const journal = [];

function note(line) {
  journal.push(line);
  if (INTEROP_JOURNAL) appendFileSync(INTEROP_JOURNAL, `${line}\n`);
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const silence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

const nameForm = form(
  z.object({
    name: z.string().min(1).meta({ title: "Name" }),
    age: z.int().min(0).max(150).optional(),
    size: z.enum(["s", "m", "l"]).default("m"),
    news: z.boolean().optional(),
  }),
);
const colourForm = form(z.object({ colour: z.string() }));

const turn = () => new Promise((resolve) => setImmediate(resolve));
const label = z.object({ label: z.string() });

const contents = createServer(
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
      for (let step = 1; step <= steps; step += 1) {
        context.progress(step, steps, `step ${step}`);
        await turn();
      }
      // The official clients drop progress that they read together with the result: it waits until all was heard.
      await new Promise((resolve) => {
        release = resolve;
      });
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
  .tool("ask-form", {
    run: async (_, context) => {
      const answer = await context.elicit("name", { message: "Who are you?", form: nameForm });
      if (answer.action !== "accept") return `no name: ${answer.action}`;
      const { name, size } = answer.content;
      return `Hello ${name}, size ${size}`;
    },
  })
  .tool("ask-confirm", {
    run: async (_, context) => ((await context.confirm("sure", "Really?")) ? "confirmed" : "refused"),
  })
  .tool("ask-url", {
    input: label,
    run: async ({ label }, context) => {
      const url = `https://example.com/consent?for=${label}`;
      const { action } = await context.visit("consent", { message: "Please allow it", url, ready: turn });
      return `visit: ${action}`;
    },
  })
  .tool("sample", {
    input: z.object({ text: z.string() }),
    run: async ({ text }, context) => {
      const answer = await context.sample("summary", {
        messages: [{ role: "user", content: { type: "text", text: `Summarize: ${text}` } }],
        systemPrompt: "Be brief",
        modelPreferences: { hints: [{ name: "small" }], speedPriority: 1 },
        maxTokens: 50,
      });
      return `${answer.model}: ${answer.content.text}`;
    },
  })
  .tool("sample-with-tools", {
    run: async (_, context) => {
      const ask = { role: "user", content: { type: "text", text: "What is 2+3?" } };
      const add = { name: "add", description: "Adds", inputSchema: { type: "object" } };
      const first = await context.sample("use", { messages: [ask], tools: [add], maxTokens: 50 });
      const uses = [first.content].flat().filter((block) => block.type === "tool_use");
      const results = uses.map(({ id, input }) => {
        const text = String(input.a + input.b);
        return { type: "tool_result", toolUseId: id, content: [{ type: "text", text }] };
      });
      const messages = [ask, { role: "assistant", content: first.content }, { role: "user", content: results }];
      const last = await context.sample("answer", { messages, tools: [add], maxTokens: 50 });
      return [last.content].flat()[0].text;
    },
  })
  .tool("ask-roots", {
    run: async (_, context) => (await context.roots()).map(({ uri, name }) => `${name} ${uri}`).join("\n"),
  })
  .tool("ask-together", {
    description: "Three questions at once",
    run: async (_, context) => {
      const [colour, summary, roots] = await Promise.all([
        context.elicit("colour", { message: "Which colour?", form: colourForm }),
        context.sample("poem", {
          messages: [{ role: "user", content: { type: "text", text: "A poem" } }],
          maxTokens: 10,
        }),
        context.roots(),
      ]);
      return [colour.content.colour, summary.content.text, roots.length].join(" / ");
    },
  })
  .tool("ask-twice", {
    description: "Two questions, one after the other, with an effect before each",
    input: label,
    run: async ({ label }, context) => {
      const first = await context.once("first", () => {
        note(`effect 1 ${label}`);
        return 1;
      });
      const { content: name } = await context.elicit("name", { message: "First?", form: nameForm });
      const second = await context.once("second", () => {
        note(`effect 2 ${label}`);
        return first + 1;
      });
      const { content: colour } = await context.elicit("colour", { message: "Second?", form: colourForm });
      return `${name.name} likes ${colour.colour} (${second})`;
    },
  })
  .tool("ask-explicitly", {
    run: (_, context) => {
      const answer = context.answer("colour");
      if (answer) return `${context.state().round}: ${answer.content.colour}`;
      const params = { mode: "form", message: "Which colour?", requestedSchema: colourForm.schema };
      return inputRequired({ requests: { colour: { method: "elicitation/create", params } }, state: { round: 1 } });
    },
  })
  .tool("ask-parked", {
    asks: "park",
    input: label,
    run: async ({ label }, context) => {
      note(`parked ${label}`);
      const { content } = await context.elicit("colour", { message: "Which colour?", form: colourForm });
      return `parked ${content.colour}`;
    },
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
    description: "Says that a resource changed",
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
    description: "Takes back what was added",
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
  .resource("asks://name", {
    name: "a resource that asks first",
    read: async (context) => {
      const answer = await context.elicit("colour", { message: "Which colour?", form: colourForm });
      return `painted ${answer.content.colour}`;
    },
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
  })
  .prompt("asks", {
    get: async (_, context) => {
      const answer = await context.elicit("colour", { message: "Which colour?", form: colourForm });
      return `Paint it ${answer.content.colour}`;
    },
  });

let release;
let ticks = 0;
let tellWatcher;

const server = live(contents);
serveStdio(server);
