import { createMemoryPair } from "portolan";
import { type Client, connect } from "portolan/client";
import { createServer, type Servable, serveChannel } from "portolan/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { calculator, increment } from "../../examples/guide/typed-client.ts";
import { pathTo } from "../examples/example.ts";
import { revisions } from "../kit/revisions.ts";
import { importGuide } from "./guide.ts";

const guide = await importGuide("client");
// examples/guide/typed-client.ts is imported above: "examples/guide/typed-client.ts"

const note = "note://today";
const server = createServer({ name: "guide", version: "1.0.0" })
  .tool("work", {
    input: z.object({ steps: z.number() }),
    output: z.object({ done: z.number() }),
    async run({ steps }, context) {
      for (let step = 1; step <= Math.min(steps, 3); step += 1) context.progress(step, steps);
      if (steps > 3) await new Promise((_, reject) => context.signal.addEventListener("abort", reject));
      return { done: steps };
    },
  })
  .tool("greet_formally", {
    input: z.object({ name: z.string() }),
    async run({ name }, context) {
      const form = z.object({ title: z.string() });
      const answer = await context.elicit("title", { message: `What is the title of ${name}?`, form });
      return answer.action === "accept" ? `Hello ${answer.content.title} ${name}` : `Hello ${name}`;
    },
  })
  .resource(note, { read: () => "Buy milk", subscribe: true })
  .prompt("plan", { arguments: { day: { complete: ["monday", "friday"] } }, get: ({ day }) => `Plan my ${day}` });

function channelTo(served: Servable) {
  const [near, far] = createMemoryPair({ serialize: true });
  serveChannel(served, far);
  return near;
}

async function closeAfterTest(connecting: Promise<Client>): Promise<Client> {
  const client = await connecting;
  onTestFinished(() => client.close());
  return client;
}

test("starts a server, calls its tool and closes it", async () => {
  const result = await guide.greet(pathTo("test/docs/greeter.mjs"));
  expect(result).toMatchObject({ version: "2026-07-28", era: "stateless", server: "greeter" });
  expect(result.content).toEqual([{ type: "text", text: "Hello Ada" }]);
});

describe.each(revisions)("docs/client.md on %s", (era) => {
  const open = () => closeAfterTest(connect(channelTo(server), { era }));

  test("reports the progress of a call and returns its result", async () => {
    const shown: string[] = [];
    const result = await guide.work(await open(), new AbortController().signal, (text: string) => shown.push(text));
    expect(shown).toEqual(["1 of 3", "2 of 3", "3 of 3"]);
    expect(result).toEqual(era >= "2025-06-18" ? { done: 3 } : undefined);
  });

  test("distinguishes an aborted call from a closed connection", async () => {
    const client = await open();
    expect(await guide.describeOutcome(client, AbortSignal.abort())).toBe("you stopped it");
    const waiting = guide.describeOutcome(client, new AbortController().signal);
    await client.close();
    expect(await waiting).toMatch(/^no answer: /);
  });

  test("iterates over tools and collects prompts", async () => {
    expect(await guide.overview(await open())).toEqual({ names: ["greet_formally", "work"], prompts: ["plan"] });
  });

  test("reads a resource, completes an argument and gets a prompt", async () => {
    const { contents, messages } = await guide.prepareDay(await open());
    expect(contents).toMatchObject([{ uri: note, text: "Buy milk" }]);
    expect(messages).toEqual([{ role: "user", content: { type: "text", text: "Plan my monday" } }]);
  });

  test("waits for a change of a resource", async () => {
    const client = await open();
    const changed = guide.waitForChange(client, note);
    // A change before the watch is open is not delivered, so the server publishes it repeatedly.
    const publishing = setInterval(() => server.publish("resources/updated", { uri: note }), 1);
    onTestFinished(() => clearInterval(publishing));
    expect(await changed).toBe(note);
  });

  test("leaves out an argument with a default in a typed call", async () => {
    expect(await increment(channelTo(calculator), 41)).toBe(42);
  });
});

test.each(["2025-06-18", "2025-11-25", "2026-07-28"])("asks the user on %s", async (era) => {
  const asked: string[] = [];
  const askUser = async (question: string) => {
    asked.push(question);
    return "Prof.";
  };
  const pinned = await closeAfterTest(
    connect(channelTo(server), { era, answers: { elicit: () => ({ action: "decline" }) } }),
  );
  expect((await pinned.callTool("greet_formally", { name: "Ada" })).content).toEqual([
    { type: "text", text: "Hello Ada" },
  ]);
  const client = await closeAfterTest(guide.connectForUser(channelTo(server), askUser));
  const { content } = await client.callTool("greet_formally", { name: "Ada" });
  expect(content).toEqual([{ type: "text", text: "Hello Prof. Ada" }]);
  expect(asked).toEqual(["What is the title of Ada?"]);
});

test("returns the questions of a round and sends the caller's answers", async () => {
  const capabilities = { elicitation: { form: {} } };
  const client = await closeAfterTest(connect(channelTo(server), { era: "stateless", capabilities }));
  expect((await guide.answerByHand(client, "Ada")).content).toEqual([{ type: "text", text: "Hello Dr. Ada" }]);
});

test("connects for two users with one verdict store and one cache", async () => {
  const target = { command: process.execPath, args: [pathTo("test/docs/greeter.mjs")] };
  for (const user of ["ada", "bob"]) {
    const client = await closeAfterTest(guide.connectFor(target, user));
    expect(client.server.version).toBe("2026-07-28");
    expect((await client.listTools()).length).toBeGreaterThan(0);
  }
});
