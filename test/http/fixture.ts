import type { JsonObject } from "portolan";
import { createServer, type LiveServer, live } from "portolan/server";

/** A server whose handlers wait until the test releases them. */
export interface Fixture {
  readonly server: LiveServer;
  /** The actions of the handlers, in order. */
  readonly journal: string[];
  /** The messages of the errors that reached `onError`. */
  readonly reported: string[];
  /** Resolves when the journal contains the line. */
  noted(line: string): Promise<void>;
  /** Completes the `hold` call with this key. */
  release(key: string): void;
  /** Makes the `hold` call with this key report progress. */
  step(key: string): void;
}

interface Held {
  release(): void;
  step(): void;
}

const key: JsonObject = { type: "object", properties: { key: { type: "string" } }, required: ["key"] };

/** Creates a fixture. Servers with the same secrets accept each other's request states. */
export function createFixture(secrets?: string[]): Fixture {
  const journal: string[] = [];
  const reported: string[] = [];
  const held = new Map<string, Held>();
  /** Commands for `hold` calls that have not begun. */
  const early = new Map<string, (keyof Held)[]>();
  const command = (name: string, what: keyof Held) => {
    const tool = held.get(name);
    if (tool) tool[what]();
    else early.set(name, [...(early.get(name) ?? []), what]);
  };
  let watchers: (() => void)[] = [];
  const note = (line: string) => {
    journal.push(line);
    const woken = watchers;
    watchers = [];
    for (const wake of woken) wake();
  };
  const onError = (error: unknown) => {
    reported.push(error instanceof Error ? error.message : String(error));
  };
  const definition = createServer({ name: "http-fixture", version: "1.0.0" }, { onError, ...(secrets && { secrets }) })
    .tool("echo", { run: ({ text }) => String(text) })
    .tool("whoami", { run: (_, { principal, protocolVersion }) => `${principal.key} ${protocolVersion}` })
    .tool("hold", {
      description: "Runs until it is released or cancelled",
      input: key,
      run: ({ key }, context) =>
        new Promise((resolve, reject) => {
          const name = String(key);
          let steps = 0;
          held.set(name, { release: () => resolve(`released ${name}`), step: () => context.progress(++steps) });
          context.signal.addEventListener("abort", () => {
            note(`aborted ${name}`);
            reject(context.signal.reason);
          });
          note(`holding ${name}`);
          for (const what of early.get(name) ?? []) command(name, what);
          early.delete(name);
        }),
    })
    .tool("progress", {
      run: (_, context) => {
        for (const step of [1, 2, 3]) context.progress(step, 3);
        return "done";
      },
    })
    .tool("patience", {
      description: "Hangs up, and goes on in a later turn",
      run: async (_, context) => {
        context.hangUp();
        await new Promise((resolve) => setImmediate(resolve));
        context.progress(1);
        return "worth it";
      },
    })
    .tool("steps", {
      run: async (_, context) => {
        for (const step of [1, 2, 3]) {
          context.progress(step, 3);
          await new Promise((resolve) => setImmediate(resolve));
        }
        return "done";
      },
    })
    .tool("shout", {
      run: (_, context) => {
        context.log("emergency", "heard");
        return "shouted";
      },
    })
    .tool("ask", {
      run: async (_, context) => {
        const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
        const answer = await context.elicit("who", { message: "Who?", form });
        return answer.action === "accept" ? `Hello ${(answer.content as { name: string }).name}` : answer.action;
      },
    })
    .tool("needy", { needs: { sampling: {} }, run: () => "has sampling" })
    .tool("fail", {
      run: () => {
        throw new Error("the password is hunter2");
      },
    })
    .tool("routed", {
      input: {
        type: "object",
        properties: {
          region: { type: "string", "x-mcp-header": "Region" },
          count: { type: "integer", "x-mcp-header": "Count" },
          dry: { type: "boolean", "x-mcp-header": "Dry" },
          inner: { type: "object", properties: { deep: { type: "string", "x-mcp-header": "Deep" } } },
        },
      },
      run: (args) => JSON.stringify(args),
    })
    .tool("grüße €", { run: () => "hello" })
    .resource("note://ä", { name: "umlaut", read: () => "umlaut" })
    .resource("note://1", { name: "note", subscribe: true, read: () => "one" })
    .prompt("greet", { get: () => "Hello" });
  return {
    server: live(definition),
    journal,
    reported,
    async noted(line) {
      while (!journal.includes(line)) await new Promise<void>((resolve) => watchers.push(resolve));
    },
    release: (name) => command(name, "release"),
    step: (name) => command(name, "step"),
  };
}
