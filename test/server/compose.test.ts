import type { JsonObject } from "portolan";
import { createServer, type Servable, type ServerExtension } from "portolan/server";
import { createMemoryStorage } from "portolan/storage";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { connectMemory } from "../kit/raw-peer.ts";
import { revisions } from "../kit/revisions.ts";
import { call, connect, countNotifications, eras, info, listen, names, stateful, stateless } from "./peers.ts";

describe("mount", () => {
  const log: string[] = [];
  const inner = createServer(info, { app: () => "inner app" })
    .use((exchange, next) => {
      log.push(exchange.method);
      return next(exchange);
    })
    .tool("greet", { title: "Greet", output: z.object({ hello: z.string() }), run: (_, ctx) => ({ hello: ctx.app }) })
    .tool("plain", { input: { type: "object", properties: { n: { type: "number" } } }, run: ({ n }) => String(n) })
    .prompt("ask", { arguments: { who: { complete: ["Ada"] } }, get: (_, ctx) => ctx.app })
    .resource("x:note", { read: (ctx) => ctx.app })
    .template("y:{id}", { read: ({ id }) => String(id) });

  test.each(eras)(
    "adds features under a prefix, with their application context and middleware ($revision)",
    async (era) => {
      const outer = createServer(info)
        .tool("greet", { run: () => "outer" })
        .mount("in_", inner);
      const peer = await connect(outer, era);
      log.length = 0;
      expect(await names(peer)).toEqual(["greet", "in_greet", "in_plain"]);
      expect((await peer.request("tools/list")).result.tools[1]).toMatchObject({
        name: "in_greet",
        title: "Greet",
        outputSchema: { type: "object" },
      });
      expect(await names(peer, "prompts/list", "prompts")).toEqual(["in_ask"]);
      expect(await call(peer, "greet")).toBe("outer");
      expect(log).toEqual([]);
      expect((await peer.callTool("in_greet")).result.structuredContent).toEqual({ hello: "inner app" });
      expect(await call(peer, "in_plain", { n: 2 })).toBe("2");
      expect((await peer.callTool("in_plain", { n: "x" })).result.isError).toBe(true);
      expect((await peer.request("prompts/get", { name: "in_ask" })).result.messages[0].content.text).toBe("inner app");
      expect((await peer.request("resources/read", { uri: "x:note" })).result.contents[0].text).toBe("inner app");
      expect((await peer.request("resources/read", { uri: "y:7" })).result.contents[0].text).toBe("7");
      expect(log).toEqual([
        "tools/call",
        "tools/call",
        "tools/call",
        "prompts/get",
        "resources/read",
        "resources/read",
      ]);
      const ref = { type: "ref/prompt", name: "in_ask" };
      const { result } = await peer.request("completion/complete", { ref, argument: { name: "who", value: "" } });
      expect(result.completion.values).toEqual(["Ada"]);
      expect((await peer.callTool("plain")).error?.code).toBe(-32602);
    },
  );

  test("works over two levels and with two mounts of the same server", async () => {
    const middle = createServer(info).mount("b_", createServer(info).tool("t", { run: () => "deep" }));
    const peer = await connect(createServer(info).mount("a_", middle).mount("c_", middle));
    expect(await names(peer)).toEqual(["a_b_t", "c_b_t"]);
    expect(await call(peer, "a_b_t")).toBe("deep");
  });

  test("throws for names and URIs that exist already, and leaves the definition unchanged", async () => {
    const outer = createServer(info).tool("in_greet", { run: () => "" });
    expect(() => outer.mount("in_", inner)).toThrow('Tool "in_greet" is defined twice; names must differ');
    const once = createServer(info).mount("a_", inner);
    expect(() => once.mount("b_", inner)).toThrow('Resource "x:note" is defined twice; names must differ');
    expect(await names(await connect(outer))).toEqual(["in_greet"]);
  });
});

describe("extension", () => {
  const id = "com.example/stars";
  const stars: ServerExtension = {
    id,
    on: ({ era }) =>
      era === "stateless"
        ? {
            settings: { maximum: 5 },
            requests: { "stars/get": { handle: ({ params }) => ({ stars: 3, of: params["name"] }) } },
            listen: {
              starsChanged: {
                admit: (wanted) => (wanted === "hidden" ? undefined : wanted),
                wants: (admitted, topic, payload) => topic === "stars/changed" && payload["name"] === admitted,
              },
            },
            decorate: (entry, { kind, options }) => ({ ...entry, stars: options ?? (kind === "tool" ? 3 : 0) }),
          }
        : undefined,
    around: async (exchange, next, isDeclared) => {
      around.push(`${exchange.method} ${isDeclared}`);
      return next(exchange);
    },
  };
  const around: string[] = [];
  const server = createServer(info)
    .tool("t", { run: () => "" })
    .prompt("p", { get: () => "" })
    .prompt("rated", { extensions: { [id]: 5 }, get: () => "" })
    .extend(stars);
  const declaring = { ...stateless, capabilities: { extensions: { [id]: {} } } };

  test("is announced with its settings on the revisions it supports", async () => {
    const { result } = await (await connect(server)).request("server/discover");
    expect(result.capabilities.extensions).toEqual({ [id]: { maximum: 5 } });
    const { initialized } = await connect(server, stateful);
    expect(initialized?.result.capabilities).not.toHaveProperty("extensions");
  });

  test("serves its requests to peers that declared it, and refuses others with the required extension", async () => {
    const [aware, unaware] = [await connect(server, declaring), await connect(server)];
    expect((await aware.request("stars/get", { name: "x" })).result).toMatchObject({
      resultType: "complete",
      stars: 3,
      of: "x",
    });
    expect((await unaware.request("stars/get", { name: "x" })).error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [id]: {} } } },
    });
    expect((await (await connect(server, stateful)).request("stars/get")).error?.code).toBe(-32601);
  });

  test("changes list entries only for peers that declared it, with the options of the feature", async () => {
    const [aware, unaware] = [await connect(server, declaring), await connect(server)];
    expect((await unaware.request("tools/list")).result.tools[0]).not.toHaveProperty("stars");
    expect((await aware.request("tools/list")).result.tools[0]).toMatchObject({ name: "t", stars: 3 });
    const { prompts } = (await aware.request("prompts/list")).result;
    expect(prompts).toEqual([expect.objectContaining({ stars: 0 }), expect.objectContaining({ stars: 5 })]);
    expect((await unaware.request("tools/list")).result.tools[0]).not.toHaveProperty("stars");
  });

  test("wraps every request of its revisions, and knows if the peer declared it", async () => {
    const [aware, unaware, old] = [
      await connect(server, declaring),
      await connect(server),
      await connect(server, stateful),
    ];
    around.length = 0;
    for (const peer of [old, unaware, aware]) await peer.request("tools/list");
    expect(around).toEqual(["tools/list false", "tools/list true"]);
  });

  test("has its own listen filter, whose notifications have the subscription id", async () => {
    const [aware, unaware] = [await connect(server, declaring), await connect(server)];
    expect(await listen(aware, { starsChanged: "x" })).toEqual({ starsChanged: "x" });
    const old = await connect(server, stateful);
    const publish = server.publish as (topic: string, payload: JsonObject) => void;
    publish.call(server, "stars/changed", { name: "y" });
    publish.call(server, "stars/changed", { name: "x" });
    await Promise.all([aware.settled(), unaware.settled(), old.settled()]);
    expect(aware.notifications.slice(1)).toEqual([
      {
        jsonrpc: "2.0",
        method: "notifications/stars/changed",
        params: { name: "x", _meta: { "io.modelcontextprotocol/subscriptionId": "listen" } },
      },
    ]);
    expect(countNotifications(unaware, "stars/changed")).toBe(0);
    expect(old.notifications).toEqual([]);
  });

  test("admits a part of a filter, and refuses a filter of peers that did not declare it", async () => {
    const [aware, unaware] = [await connect(server, declaring), await connect(server)];
    expect(await listen(aware, { starsChanged: "hidden", toolsListChanged: true })).toEqual({});
    const refused = await unaware.request("subscriptions/listen", { notifications: { starsChanged: "x" } });
    expect(refused.error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [id]: {} } } },
    });
  });

  test("has open parts for every peer, and capabilities of another name", async () => {
    const open: ServerExtension = {
      id: "io.modelcontextprotocol/tasks",
      on: ({ era }) =>
        era === "stateful"
          ? {
              isOpen: true,
              capabilities: { stars: { list: {} } },
              requests: { "stars/open": { handle: () => ({ open: true }) } },
              decorate: (entry, { isDeclared }) => ({ ...entry, _meta: { isDeclared } }),
            }
          : { isOpen: true, requests: { "stars/open": { handle: () => ({ open: true }) } } },
    };
    const opened = createServer(info)
      .tool("t", { run: () => "" })
      .extend(open);
    const newest = await connect(opened);
    expect((await newest.request("stars/open")).result).toMatchObject({ open: true });
    // The oldest peers must not know this id, and a declaration of it counts for nothing.
    const old = await connect(opened, { ...stateful, capabilities: { extensions: { [open.id]: {} } } });
    expect(old.initialized?.result.capabilities).toMatchObject({ stars: { list: {} } });
    expect(old.initialized?.result.capabilities).not.toHaveProperty("extensions");
    expect((await old.request("stars/open")).result).toMatchObject({ open: true });
    expect((await old.request("tools/list")).result.tools[0]).toMatchObject({ _meta: { isDeclared: false } });
  });

  test("reaches the server that it extends", async () => {
    const seen: unknown[] = [];
    const reported: unknown[] = [];
    const curious: ServerExtension = {
      id: "com.example/curious",
      on: (_, served) => ({
        isOpen: true,
        requests: {
          "curious/look": {
            handle(exchange) {
              seen.push(served.optionsOf("tool", "t", exchange), served.optionsOf("tool", "hidden", exchange));
              seen.push(served.storage);
              served.publish("resources/updated", { uri: "x:a" });
              return { reference: served.report(new Error("seen")) };
            },
          },
        },
      }),
    };
    const storage = createMemoryStorage();
    const extended = createServer(info, { storage, view: () => "all", onError: (error) => reported.push(error) })
      .tool("t", { extensions: { "com.example/curious": { a: 1 } }, run: () => "" })
      .tool("hidden", { extensions: { "com.example/curious": 2 }, visibleTo: () => false, run: () => "" })
      .extend(curious);
    const { result } = await (await connect(extended)).request("curious/look");
    expect(result).toMatchObject({ reference: expect.any(String) });
    expect(seen).toEqual([{ a: 1 }, undefined, storage]);
    expect(reported).toEqual([expect.objectContaining({ message: "seen" })]);
  });

  test("comes along with a mounted server, and another one with its id is refused", async () => {
    const outer = createServer(info).mount("in_", server).mount("also_", createServer(info).extend(stars));
    const aware = await connect(outer, declaring);
    expect((await aware.request("stars/get", { name: "x" })).result).toMatchObject({ stars: 3 });
    expect((await aware.request("tools/list")).result.tools[0]).toMatchObject({ name: "in_t", stars: 3 });
    around.length = 0;
    await aware.request("tools/call", { name: "in_t" });
    expect(around).toEqual(["tools/call true"]);
    const other = createServer(info).extend({ id, on: () => undefined });
    expect(() => outer.mount("b_", other)).toThrow(`Extension "${id}" is defined twice`);
  });

  test.each(revisions.slice(0, 4))("of tasks takes no part in %s, whatever it says itself", async (revision) => {
    const id = "io.modelcontextprotocol/tasks";
    const requests = { "tasks/get": { handle: () => ({}) } };
    const server = createServer(info)
      .extend({ id, on: () => ({ requests }) })
      .extend({ id: "io.modelcontextprotocol/ui", on: () => ({}) });
    const old = await connect(server, { revision, capabilities: { extensions: { [id]: {} } } });
    expect(old.initialized?.result.capabilities.extensions).toEqual({ "io.modelcontextprotocol/ui": {} });
    expect((await old.request("tasks/get")).error?.code).toBe(-32601);
    const newest = await connect(server, { revision: "2026-07-28", capabilities: { extensions: { [id]: {} } } });
    expect((await newest.request("tasks/get")).result).toBeDefined();
  });

  test("may support a stateful revision too", async () => {
    const everywhere = createServer(info).extend({ id: "com.example/ui", on: () => ({ settings: { a: 1 } }) });
    const { initialized } = await connect(everywhere, { revision: "2025-06-18" });
    expect(initialized?.result.capabilities.extensions).toEqual({ "com.example/ui": { a: 1 } });
  });
});

describe("a definition", () => {
  test("that is extended in two ways shares nothing", async () => {
    const base = createServer(info).tool("base", { run: () => "base" });
    const one = base.tool("one", { run: () => "1" }).tool("same", { run: () => "from one" });
    const two = base.tool("two", { run: () => "2" }).tool("same", { run: () => "from two" });
    const again = base.tool("one", { run: () => "again" });
    const [atBase, atOne, atTwo, atAgain] = [
      await connect(base),
      await connect(one),
      await connect(two),
      await connect(again),
    ];
    expect(await names(atBase)).toEqual(["base"]);
    expect(await names(atOne)).toEqual(["base", "one", "same"]);
    expect(await names(atTwo)).toEqual(["base", "same", "two"]);
    expect(await call(atOne, "same")).toBe("from one");
    expect(await call(atTwo, "same")).toBe("from two");
    expect(await call(atAgain, "one")).toBe("again");
    expect(await call(atBase, "one")).toBe("-32602: Unknown tool: one");
  });

  test("with a name that some clients refuse is served, and onError is warned", async () => {
    const warnings: string[] = [];
    const server = createServer(info, { onError: (error) => warnings.push((error as Error).message) })
      .tool("fine-name_1.0", { run: () => "" })
      .tool("größe in m", { run: () => "served" });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^Tool name "größe in m": /);
    expect(await call(await connect(server), "größe in m")).toBe("served");
  });

  test("is unchanged after a failed extension", async () => {
    const base = createServer(info).tool("a", { run: () => "a" });
    expect(() => base.tool("a", { run: () => "b" })).toThrow();
    expect(() => base.tool("b", {} as never)).toThrow();
    expect(await names(await connect(base.tool("b", { run: () => "b" })))).toEqual(["a", "b"]);
  });

  test("is served to peers of all revisions at the same time", async () => {
    const server = createServer(info).tool("who", { run: (_, ctx) => `${ctx.protocolVersion} ${ctx.requestId}` });
    const all = await Promise.all(revisions.map((revision) => connect(server, { revision })));
    const answers = await Promise.all(all.map((peer) => peer.request("tools/call", { name: "who" }, "same id")));
    expect(answers.map(({ result }) => result.content[0].text)).toEqual(
      revisions.map((revision) => `${revision} same id`),
    );
  });
});

describe("without", () => {
  const server = createServer(info)
    .tool("a", { run: () => "a" })
    .tool("b", { run: () => "b" });

  test("removes a feature from the new definition, keeps it in the old one, and frees its name", async () => {
    const names = async (served: Servable) => {
      const { result } = await (await connect(served)).request("tools/list");
      return result.tools.map(({ name }: { name: string }) => name);
    };
    const without = server.without("tools", "a");
    expect(await names(without)).toEqual(["b"]);
    expect(await names(without.tool("a", { run: () => "new" }))).toEqual(["a", "b"]);
    expect(await names(server)).toEqual(["a", "b"]);
  });

  test("throws if the feature is not defined", () => {
    expect(() => server.without("tools", "c")).toThrow(
      'without: expected the key of one of the defined tools, got "c"',
    );
  });
});

test("mayAsk reports which requests the client supports", async () => {
  const asked = createServer(info).tool("may", {
    run: (_, ctx) =>
      JSON.stringify([ctx.mayAsk("elicitation.form"), ctx.mayAsk("elicitation.url"), ctx.mayAsk("roots")]),
  });
  const capabilities = { elicitation: {}, roots: {} };
  for (const [revision, expected] of [
    ["2024-11-05", "[false,false,true]"],
    ["2025-11-25", "[true,false,true]"],
    ["2026-07-28", "[true,false,true]"],
  ] as const) {
    const peer = await connectMemory(asked, { revision, capabilities });
    expect((await peer.callTool("may")).result.content[0].text).toBe(expected);
  }
});
