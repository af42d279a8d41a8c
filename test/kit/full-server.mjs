// A server with one of everything. Each call creates a new one, so that tests of one transport do not see another's
// changes.
import { createServer, form, inputRequired, live, ToolError } from "portolan/server";
import { z } from "zod";

const icon = { src: "https://example.com/icon.png", mimeType: "image/png", sizes: ["48x48"] };
const meta = { "example.com/note": "kept" };
const name = form(z.object({ name: z.string().min(1), age: z.number().int().optional() }));
const colour = form({
  type: "object",
  properties: {
    one: {
      type: "string",
      oneOf: [
        { const: "r", title: "Red" },
        { const: "g", title: "Green" },
      ],
      default: "r",
    },
    text: { type: "string", default: "hello" },
    count: { type: "number", default: 1.5 },
    agree: { type: "boolean", default: true },
  },
});
const several = form({
  type: "object",
  properties: { many: { type: "array", items: { type: "string", enum: ["a", "b"] } } },
});
const text = (value) => ({ content: [{ type: "text", text: value }] });

export const errors = [];

export default function createFullServer(options = {}) {
  let effects = 0;
  const server = createServer(
    {
      name: "full",
      version: "1.2.3",
      title: "Full",
      description: "One of everything",
      websiteUrl: "https://example.com",
      icons: [icon],
    },
    {
      instructions: "Use with care.",
      pageSize: 10,
      onError: (error, about) => errors.push({ error, about }),
      ...options,
    },
  )
    .tool("echo", { input: z.object({ message: z.string() }), run: ({ message }) => message })
    .tool("wait", {
      description: "Ends when it is cancelled or after the given time",
      input: z.object({ ms: z.number() }),
      run: ({ ms }, ctx) =>
        new Promise((resolve) => {
          const timer = setTimeout(() => resolve("done"), ms);
          ctx.signal.addEventListener("abort", () => {
            clearTimeout(timer);
            aborted.push(String(ctx.signal.reason?.message));
            resolve("aborted");
          });
        }),
    })
    .tool("aborted", { run: () => JSON.stringify(aborted) })
    .tool("add", {
      title: "Add",
      description: "Adds two numbers",
      input: z.object({ a: z.number(), b: z.number() }),
      output: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true, title: "Adds" },
      icons: [icon],
      meta,
      run: ({ a, b }) => ({ sum: a + b }),
    })
    .tool("numbers", { output: z.array(z.number()), run: () => [1, 2, 3] })
    .tool("nothing", { output: z.null(), run: () => null })
    .tool("wrong_output", { output: z.object({ sum: z.number() }), run: () => ({ sum: "three" }) })
    .tool("mixed", {
      run: () => ({
        content: [
          {
            type: "text",
            text: "one",
            annotations: { audience: ["user"], priority: 0.5, lastModified: "2026-01-01T00:00:00Z" },
            _meta: meta,
          },
          { type: "image", data: "aW1hZ2U=", mimeType: "image/png" },
          { type: "audio", data: "c291bmQ=", mimeType: "audio/wav" },
          { type: "resource_link", uri: "note://a", name: "a", title: "Note A", icons: [icon] },
          { type: "resource", resource: { uri: "note://a", mimeType: "text/plain", text: "A", _meta: meta } },
        ],
        _meta: meta,
        "example.com/extra": 1,
      }),
    })
    .tool("fails", {
      run: () => {
        throw new ToolError("No city named Atlantis");
      },
    })
    .tool("is_error", {
      output: z.object({ sum: z.number() }),
      run: () => ({ ...text("it went wrong"), isError: true }),
    })
    .tool("throws", {
      run: () => {
        throw new Error("password=hunter2");
      },
    })
    .tool("unserializable", { run: () => ({ rows: [{ id: 1n }] }) })
    .tool("progress", {
      input: z.object({ steps: z.number() }),
      run({ steps }, ctx) {
        for (let step = 1; step <= steps; step += 1) ctx.progress(step / 2, steps / 2, `step ${step}`);
        ctx.progress(0.1);
        setTimeout(() => ctx.progress(1_000), 0);
        return "done";
      },
    })
    .tool("logs", {
      run(_, ctx) {
        for (const level of ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"])
          ctx.log(level, { level }, "full");
        return "logged";
      },
    })
    .tool("who", {
      run: (_, ctx) =>
        JSON.stringify({
          client: ctx.client,
          capabilities: ctx.capabilities,
          version: ctx.protocolVersion,
          principal: ctx.principal,
          meta: ctx.meta,
        }),
    })
    .tool("ask_name", {
      async run(_, ctx) {
        const answer = await ctx.elicit("name", { message: "Who are you?", form: name });
        return answer.action === "accept" ? `Hello ${answer.content.name}` : answer.action;
      },
    })
    .tool("ask_colour", {
      run: async (_, ctx) => JSON.stringify(await ctx.elicit("colour", { message: "Which?", form: colour })),
    })
    .tool("ask_several", {
      run: async (_, ctx) => JSON.stringify(await ctx.elicit("several", { message: "Which?", form: several })),
    })
    .tool("ask_two", {
      async run(_, ctx) {
        const [a, b] = await Promise.all([ctx.confirm("a", "A?"), ctx.confirm("b", "B?")]);
        return JSON.stringify({ a, b });
      },
    })
    .tool("ask_in_turn", {
      async run(_, ctx) {
        const first = await ctx.confirm("first", "First?");
        const effect = await ctx.once("effect", () => {
          effects += 1;
          return { effects };
        });
        const second = await ctx.confirm("second", "Second?");
        return JSON.stringify({ first, second, effect, effects });
      },
    })
    .tool("ask_parked", {
      asks: "park",
      async run(_, ctx) {
        effects += 1;
        const before = effects;
        const first = await ctx.confirm("first", "First?");
        const second = await ctx.confirm("second", "Second?");
        return JSON.stringify({ first, second, ranOnce: before === effects });
      },
    })
    .tool("ask_explicitly", {
      run(_, ctx) {
        const answer = ctx.answer("name");
        if (!answer) {
          const params = {
            mode: "form",
            message: "Who?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } } },
          };
          return inputRequired({ requests: { name: { method: "elicitation/create", params } }, state: { step: 1 } });
        }
        return JSON.stringify({ name: answer.content?.name, state: ctx.state() });
      },
    })
    .tool("ask_swallowed", {
      async run(_, ctx) {
        try {
          await ctx.confirm("a", "A?");
        } catch {}
        return "went on";
      },
    })
    .tool("ask_twice", {
      async run(_, ctx) {
        await ctx.confirm("same", "A?");
        await ctx.confirm("same", "B?");
        return "no";
      },
    })
    .tool("ask_changing", {
      async run(_, ctx) {
        effects += 1;
        return String(await ctx.confirm("changing", `Pay ${effects}?`));
      },
    })
    .tool("ask_model", {
      async run(_, ctx) {
        const { content } = await ctx.sample("model", {
          messages: [{ role: "user", content: { type: "text", text: "Hi" } }],
          maxTokens: 10,
        });
        return JSON.stringify(content);
      },
    })
    .tool("ask_model_with_tools", {
      async run(_, ctx) {
        const tools = [{ name: "t", inputSchema: { type: "object" } }];
        const answer = await ctx.sample("model", {
          messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
          maxTokens: 10,
          tools,
          toolChoice: { mode: "auto" },
        });
        return JSON.stringify(answer.content);
      },
    })
    .tool("ask_roots", { run: async (_, ctx) => JSON.stringify(await ctx.roots()) })
    .tool("ask_visit", {
      run: async (_, ctx) =>
        (await ctx.openUrl("login", { message: "Log in", url: "https://example.com/login?x=1" })).action,
    })
    .tool("needs_elicitation", { needs: { elicitation: { form: {} } }, run: () => "ran" })
    .resource("note://a", {
      name: "a",
      title: "Note A",
      mimeType: "text/plain",
      annotations: { priority: 1, lastModified: "2026-01-01T00:00:00Z" },
      size: 1,
      icons: [icon],
      meta,
      subscribe: true,
      cache: { ttlMs: 5_000, cacheScope: "public" },
      read: () => "A",
    })
    .resource("note://b", { name: "b", read: () => new Uint8Array([0, 1, 255]) })
    .resource("note://gone", { read: () => undefined })
    .resource("note://throws", {
      read() {
        throw new Error("password=hunter2");
      },
    })
    .resource("note://asks", {
      async read(ctx) {
        return String(await ctx.confirm("read", "Read?"));
      },
    })
    .template("page://{book}/{number}", {
      name: "page",
      title: "Page",
      mimeType: "text/plain",
      icons: [icon],
      meta,
      subscribe: true,
      complete: {
        book: ["alpha", "beta", "gamma"],
        number: (value, known) => Array.from({ length: 150 }, (_, n) => `${known.book ?? ""}${value}${n}`),
      },
      read: ({ book, number }, _ctx, uri) => `${book} ${number} ${uri}`,
    })
    .prompt("greet", {
      title: "Greet",
      description: "Greets somebody",
      icons: [icon],
      meta,
      arguments: {
        who: { required: true, title: "Who", description: "Whom to greet", complete: ["Ada", "Alan"] },
        tone: {},
      },
      get: ({ who, tone }) => `Hello ${who}${tone ? ` (${tone})` : ""}`,
    })
    .prompt("media", {
      get: () => [
        { role: "user", content: { type: "audio", data: "c291bmQ=", mimeType: "audio/wav" } },
        { role: "assistant", content: { type: "resource_link", uri: "note://a", name: "a" } },
        { role: "user", content: { type: "resource", resource: { uri: "note://a", text: "A" } } },
      ],
    })
    .prompt("asks", {
      async get(_, ctx) {
        return String(await ctx.confirm("get", "Get?"));
      },
    })
    .method("example.com/double", { handle: ({ params }) => ({ value: params.value * 2 }) });

  const served = live(server);
  const aborted = [];
  served.update((current) =>
    current.tool("change", {
      description: "Adds a tool, a prompt and a resource, twice in one turn, and says that note://a changed",
      run() {
        served.update((now) => now.tool(`extra_${effects}_a`, { run: () => "extra" }));
        served.update((now) =>
          now
            .tool(`extra_${effects++}_b`, { run: () => "extra" })
            .prompt(`extra_${effects}`, { get: () => "x" })
            .resource(`note://extra/${effects}`, { read: () => "x" }),
        );
        served.publish("resources/updated", { uri: "note://a" });
        served.publish("resources/updated", { uri: "page://alpha/1/line" });
        served.publish("message", { level: "error", data: "outside" });
        return "changed";
      },
    }),
  );
  return served;
}
