// A server whose handlers misbehave, or wait until they are released.
import { RpcError } from "portolan";
import { createServer } from "portolan/server";
import { z } from "zod";

const later = () => new Promise((resolve) => setImmediate(resolve));

export default function createWireServer() {
  const held = new Map();
  const aborts = new Map();
  const heard = [];
  const reported = [];
  const onError = (error) => reported.push(String(error));
  return createServer(
    { name: "wire", version: "1.0.0" },
    { onError, cache: { ttlMs: 1_000, cacheScope: "public" }, pageSize: 2 },
  )
    .tool("any", { run: (args) => JSON.stringify(args) })
    .tool("hold", {
      description: "Says that it runs, then waits until it is released or cancelled",
      input: z.object({ key: z.string() }),
      run: ({ key }, ctx) =>
        new Promise((resolve) => {
          ctx.signal.addEventListener("abort", () => {
            aborts.set(key, (aborts.get(key) ?? 0) + 1);
            ctx.progress(2);
            ctx.log("emergency", "too late");
            resolve("aborted");
          });
          held.set(key, () => resolve(`released ${key}`));
          ctx.progress(1);
        }),
    })
    .tool("release", {
      input: z.object({ keys: z.array(z.string()) }),
      async run({ keys }) {
        for (const key of keys) {
          held.get(key)?.();
          await later();
        }
        return "released";
      },
    })
    .tool("aborts", { run: () => JSON.stringify(Object.fromEntries(aborts)) })
    .tool("throw_code", {
      input: z.object({ code: z.number(), data: z.any().optional() }),
      run({ code, data }) {
        throw new RpcError(code, "thrown by a handler", { data });
      },
    })
    .tool("bad_error", {
      run() {
        throw new RpcError(4711, "thrown by a handler", { data: { list: [1n] } });
      },
    })
    .tool("bad_error_later", {
      async run() {
        await later();
        throw new RpcError(4711, "thrown by a handler", { data: { list: [1n] } });
      },
    })
    .tool("bad_log", {
      run(_, ctx) {
        ctx.log("error", { list: [1n] });
        return "logged";
      },
    })
    .tool("bad_question", {
      run: async (_, ctx) => (await ctx.elicit("q", { message: 1n, form: { type: "object", properties: {} } })).action,
    })
    .tool("bad_result", { run: () => ({ content: [], _meta: { list: [0, 1n] } }) })
    .tool("loop", {
      run() {
        const loop = { content: [] };
        loop.self = loop;
        return loop;
      },
    })
    .tool("polluted", {
      run: (args) =>
        JSON.stringify({
          polluted: {}.polluted ?? null,
          keys: Object.keys(args),
          own: Object.hasOwn(args, "__proto__"),
        }),
    })
    .tool("noise", {
      run() {
        console.log("noise: console.log");
        console.info('{"jsonrpc":"2.0","id":1,"result":{"from":"a print"}}');
        process.stdout.write("noise: process.stdout.write\n");
        console.error("noise: console.error");
        return "one\ntwo\r\nthree\u2028four";
      },
    })
    .tool("reported", { run: () => JSON.stringify(reported) })
    .tool("heard", { run: () => JSON.stringify(heard) })
    .resource("secret://a", {
      read() {
        throw new Error("password=hunter2");
      },
    })
    .resource("asks://a", {
      cache: { ttlMs: 60_000, cacheScope: "public" },
      read: async (ctx) => String(await ctx.confirm("read", "Read?")),
    })
    .method("example.com/twice", {
      params: (value, path) => (typeof value.value === "number" ? undefined : `${path}.value: expected a number`),
      handle: ({ params }) => ({ value: params.value * 2 }),
    })
    .notification("example.com/heard", (params) => heard.push(params))
    .notification("example.com/throws", () => {
      throw new Error("password=hunter2");
    })
    .extend({
      id: "com.example/extra",
      on: () => ({
        settings: { depth: 3 },
        requests: { "com.example/extra": { handle: () => ({ extra: true }) } },
        notifications: { "com.example/extra": (params) => heard.push(params) },
      }),
    });
}
