// Tools that run as tasks. A task waits for its gate, which the tool "open" opens. Each call creates a new server.
import { createServer, form, RpcError, ToolError } from "portolan/server";
import { tasks } from "portolan/server/tasks";

const name = form({ type: "object", properties: { name: { type: "string" } }, required: ["name"] });

export default function createTaskServer() {
  const gates = new Map();
  const runs = new Map();
  const events = [];
  const gate = (key) => {
    if (!gates.has(key)) {
      let open;
      const opened = new Promise((resolve) => {
        open = resolve;
      });
      gates.set(key, { opened, open });
    }
    return gates.get(key);
  };
  /** Waits for a gate, or for the end of the task. */
  const pass = (key, { signal }) =>
    new Promise((resolve, reject) => {
      gate(key).opened.then(resolve);
      signal.addEventListener("abort", () => {
        events.push(`stopped ${key}`);
        reject(signal.reason);
      });
    });
  const count = (key) => {
    runs.set(key, (runs.get(key) ?? 0) + 1);
    return runs.get(key);
  };
  const ask = async (ctx, key, message = `Question ${key}`) => {
    const answer = await ctx.elicit(key, { message, form: name });
    return answer.action === "accept" ? answer.content.name : answer.action;
  };

  return createServer({ name: "tasks", version: "1.0.0" }, { onError() {} })
    .extend(tasks({ pollMs: 20, maxTtlMs: 3_600_000, perCaller: { open: 60 } }))
    .tool("open", { run: ({ key }) => gate(key).open() })
    .tool("events", { run: () => JSON.stringify(events) })
    .tool("plain", { run: () => "a plain result" })
    .tool("render", {
      task: "optional",
      async run({ key }, ctx) {
        ctx.status("1 of 2");
        await pass(key, ctx);
        return { content: [{ type: "text", text: `rendered ${key}` }], structuredContent: { key } };
      },
    })
    .tool("report", {
      task: "optional",
      async run({ key }, ctx) {
        ctx.progress(1, 2, "half");
        ctx.log("warning", "a log message");
        await pass(key, ctx);
        ctx.progress(2, 2);
        return "reported";
      },
    })
    .tool("must", { task: "required", run: () => "a required result" })
    .tool("fail", {
      task: "optional",
      run() {
        throw new ToolError("The farm is closed");
      },
    })
    .tool("refuse", {
      task: "optional",
      run() {
        throw new RpcError(-31_000, "The scene is refused", { data: { scene: 7 } });
      },
    })
    .tool("crash", {
      task: "optional",
      run() {
        throw new Error("a secret of the server");
      },
    })
    .tool("ask", {
      task: "optional",
      async run({ key }, ctx) {
        const effect = await ctx.once("effect", () => count(key));
        const answer = await ask(ctx, "name");
        return `${answer}, effects: ${effect}`;
      },
    })
    .tool("park", {
      task: "optional",
      asks: "park",
      async run({ key }, ctx) {
        const run = count(key);
        const first = await ask(ctx, "first");
        return `${first} and ${await ask(ctx, "second")}, runs: ${run}`;
      },
    })
    .tool("ask-both", {
      task: "optional",
      run: async (_, ctx) => (await Promise.all([ask(ctx, "a"), ask(ctx, "b")])).join(" and "),
    })
    .tool("ask-again", {
      task: "optional",
      async run({ key }, ctx) {
        // In the second run the question has other words, so that it is another question.
        return ask(ctx, "name", `Question ${count(key) === 1 ? 1 : 2}`);
      },
    })
    .tool("sample", {
      task: "optional",
      async run(_, ctx) {
        const messages = [{ role: "user", content: { type: "text", text: "Hello" } }];
        const { content } = await ctx.sample("greeting", { messages, maxTokens: 10 });
        return content.text;
      },
    })
    .tool("round-first", {
      task: { mode: "required", quickMs: 60_000 },
      // The second question makes a task of it, because its handler waits in memory: see "round-then-task".
      run: async (_, ctx) => ask(ctx, "name"),
    })
    .tool("round-then-task", {
      task: { mode: "required", quickMs: 300 },
      async run({ key }, ctx) {
        const answer = await ask(ctx, "name");
        await pass(key, ctx);
        return answer;
      },
    })
    .tool("choose", {
      task: { when: ({ size }) => size > 10 },
      input: { type: "object", properties: { size: { type: "number" } }, required: ["size"] },
      run: ({ size }) => `size ${size}`,
    })
    .tool("brief", { task: { ttlMs: 30 }, run: ({ key }, ctx) => pass(key, ctx) });
}
