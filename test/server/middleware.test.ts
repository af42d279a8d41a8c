import type { JsonObject } from "portolan";
import { createServer, type Middleware } from "portolan/server";
import { describe, expect, test } from "vitest";
import { revisions } from "../kit/revisions.ts";
import { call, connect, info, stateful, stateless } from "./peers.ts";

describe("middleware", () => {
  const noting =
    (log: string[], name: string): Middleware =>
    async (exchange, next) => {
      log.push(`${name} before ${exchange.method}`);
      const outcome = await next(exchange);
      log.push(`${name} after ${exchange.method}`);
      return outcome;
    };

  test("wraps the handler in order of definition, the first one outermost", async () => {
    const log: string[] = [];
    const server = createServer(info)
      .use(noting(log, "a"))
      .tool("t", {
        run: () => {
          log.push("run");
          return "";
        },
      })
      .use(noting(log, "b"))
      .use(noting(log, "only prompts"), { method: "prompts/get" })
      .use(noting(log, "only calls"), { method: "tools/call" });
    await call(await connect(server), "t");
    expect(log).toEqual([
      "a before tools/call",
      "b before tools/call",
      "only calls before tools/call",
      "run",
      "only calls after tools/call",
      "b after tools/call",
      "a after tools/call",
    ]);
  });

  test.each([stateful, stateless])("may change structured content in place ($revision)", async (era) => {
    const server = createServer(info)
      .tool("t", { run: () => ({ city: "Oslo" }) })
      .use(
        async (exchange, next) => {
          const outcome = await next(exchange);
          if (outcome.kind === "complete") (outcome.result["structuredContent"] as JsonObject)["city"] = "Bergen";
          return outcome;
        },
        { method: "tools/call" },
      );
    const { result } = await (await connect(server, era)).callTool("t");
    expect(result.structuredContent).toEqual({ city: "Bergen" });
  });

  test("may answer without the handler, refuse, change the params and change the result", async () => {
    const runs: unknown[] = [];
    const server = createServer(info)
      .tool("t", {
        run: (args) => {
          runs.push(args);
          return "ran";
        },
      })
      .use(
        async (exchange, next) => {
          const args = (exchange.params["arguments"] ?? {}) as JsonObject;
          if (args["short"]) return { kind: "complete", result: { content: [{ type: "text", text: "instead" }] } };
          if (args["refuse"]) throw new Error("secret reason");
          const outcome = await next(exchange.withParams({ ...exchange.params, arguments: { ...args, added: true } }));
          if (outcome.kind !== "complete") return outcome;
          return { ...outcome, result: { ...outcome.result, _meta: { "example.com/seen": true } } };
        },
        { method: "tools/call" },
      );
    const peer = await connect(server);
    expect(await call(peer, "t", { short: true })).toBe("instead");
    expect(await call(peer, "t", { refuse: true })).toMatch(/^-32603: Internal error \(reference \w+\)$/);
    expect(runs).toEqual([]);
    expect((await peer.callTool("t", { given: 1 })).result).toMatchObject({
      content: [{ text: "ran" }],
      _meta: { "example.com/seen": true },
    });
    expect(runs).toEqual([{ given: 1, added: true }]);
  });

  test.each(revisions)("sees list pages as results and may change them (%s)", async (revision) => {
    const seen: string[] = [];
    const server = createServer(info, { pageSize: 1 })
      .tool("a", { run: () => "" })
      .tool("b", { run: () => "" })
      .use(async (exchange, next) => {
        const outcome = await next(exchange);
        if (outcome.kind !== "complete" || !exchange.method.endsWith("/list")) return outcome;
        const [tool] = outcome.result["tools"] as JsonObject[];
        seen.push(String(tool?.["name"]));
        return { ...outcome, result: { ...outcome.result, tools: [{ ...tool, description: "changed" }] } };
      });
    const peer = await connect(server, { revision });
    const first = (await peer.request("tools/list")).result;
    expect(first.tools).toEqual([{ name: "a", description: "changed", inputSchema: { type: "object" } }]);
    const second = (await peer.request("tools/list", { cursor: first.nextCursor })).result;
    expect(second.tools).toEqual([{ name: "b", description: "changed", inputSchema: { type: "object" } }]);
    expect(second).not.toHaveProperty("nextCursor");
    expect(seen).toEqual(["a", "b"]);
    if (revision === "2026-07-28")
      expect(first).toMatchObject({ resultType: "complete", ttlMs: 0, cacheScope: "private" });
    else expect(Object.keys(first).sort()).toEqual(["nextCursor", "tools"]);
  });

  test("wraps custom methods and the handshake, and sees input_required results", async () => {
    const kinds: string[] = [];
    const server = createServer(info)
      .tool("asks", { run: async (_, ctx) => String(await ctx.confirm("sure", "Sure?")) })
      .method("example.com/double", { handle: ({ params }) => ({ value: Number(params["value"]) * 2 }) })
      .use(async (exchange, next) => {
        const outcome = await next(exchange);
        kinds.push(`${exchange.method} ${outcome.kind}`);
        return outcome;
      });
    const peer = await connect(server, { ...stateless, capabilities: { elicitation: {} } });
    expect((await peer.request("example.com/double", { value: 4 })).result.value).toBe(8);
    await peer.callTool("asks");
    await connect(server, stateful);
    expect(kinds).toEqual(["example.com/double complete", "tools/call input_required", "initialize complete"]);
  });
});
