import { type Channel, createMemoryPair, type JsonObject, PortolanError } from "portolan";
import {
  createServer,
  form,
  inputRequired,
  type LiveServer,
  live,
  type Middleware,
  type Served,
  type ServerExtension,
  serveChannel,
} from "portolan/server";
import { afterEach, describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { connectMemory, RawPeer, type RawPeerOptions } from "./kit/raw-peer.ts";
import { revisions } from "./kit/revisions.ts";

const info = { name: "test", version: "1.0.0" };
const stateless = { revision: "2026-07-28" } as const;
const stateful = { revision: "2025-11-25" } as const;
const eras = [stateful, stateless];
const peers: RawPeer[] = [];

afterEach(async () => {
  await Promise.all(peers.splice(0).map((peer) => peer.close()));
});

async function connect(server: Served, options: RawPeerOptions = stateless): Promise<RawPeer> {
  const peer = await connectMemory(server, options);
  peers.push(peer);
  return peer;
}

async function connectAs(server: Served, key: string, options: RawPeerOptions = stateless): Promise<RawPeer> {
  const [near, far] = createMemoryPair({ serialize: true });
  serveChannel(server, far, { principal: { key } });
  const peer = await new RawPeer(near, options).start();
  peers.push(peer);
  return peer;
}

async function names(peer: RawPeer, method = "tools/list", member = "tools"): Promise<string[]> {
  const { result } = await peer.request(method);
  return result[member].map((entry: { name?: string; uri?: string }) => entry.uri ?? entry.name);
}

async function call(peer: RawPeer, name: string, args?: JsonObject): Promise<string> {
  const { result, error } = await peer.callTool(name, args);
  return error ? `${error.code}: ${error.message}` : result.content[0]?.text;
}

async function listen(peer: RawPeer, notifications: JsonObject, id = "listen"): Promise<JsonObject> {
  peer.send({ jsonrpc: "2.0", id, method: "subscriptions/listen", params: peer.describe({ notifications }) });
  const { params } = await peer.notification("notifications/subscriptions/acknowledged");
  return params?.["notifications"] as JsonObject;
}

function heard(peer: RawPeer, method: string): number {
  return peer.notifications.filter((notification) => notification.method === `notifications/${method}`).length;
}

describe("views", () => {
  const visibleTo = (view: string) => view === "admin";
  const server = createServer(info, {
    view: ({ key }) => (key === "root" ? "admin" : "user"),
    cache: { ttlMs: 1_000, cacheScope: "public" },
  })
    .tool("open", { run: (_, ctx) => ctx.principal.key })
    .tool("secret", { visibleTo, run: () => "secret" })
    .prompt("open", { get: () => "open" })
    .prompt("secret", { visibleTo, arguments: { a: { complete: ["x"] } }, get: () => "secret" })
    .resource("x:open", { subscribe: true, read: () => "open" })
    .resource("x:secret", { visibleTo, subscribe: true, read: () => "secret" })
    .template("y:{id}", { visibleTo, complete: { id: ["1"] }, read: () => "secret" });

  test.each(eras)("a caller sees the features of its view only ($revision)", async (era) => {
    const [root, user] = [await connectAs(server, "root", era), await connectAs(server, "ada", era)];
    expect(await names(root)).toEqual(["open", "secret"]);
    expect(await names(user)).toEqual(["open"]);
    expect(await names(root, "prompts/list", "prompts")).toEqual(["open", "secret"]);
    expect(await names(user, "prompts/list", "prompts")).toEqual(["open"]);
    expect(await names(root, "resources/list", "resources")).toEqual(["x:open", "x:secret"]);
    expect(await names(user, "resources/list", "resources")).toEqual(["x:open"]);
    expect((await user.request("resources/templates/list")).result.resourceTemplates).toEqual([]);
    expect((await root.request("resources/templates/list")).result.resourceTemplates).toHaveLength(1);
  });

  test.each(eras)("what a caller does not see is unknown to it ($revision)", async (era) => {
    const [root, user] = [await connectAs(server, "root", era), await connectAs(server, "ada", era)];
    expect(await call(root, "secret")).toBe("secret");
    expect(await call(user, "secret")).toBe("-32602: Unknown tool: secret");
    expect((await user.request("prompts/get", { name: "secret" })).error?.message).toBe("Unknown prompt: secret");
    for (const uri of ["x:secret", "y:1"]) {
      expect((await root.request("resources/read", { uri })).result.contents[0].text).toBe("secret");
      expect((await user.request("resources/read", { uri })).error?.message).toBe(`Resource not found: ${uri}`);
    }
    for (const ref of [
      { type: "ref/prompt", name: "secret" },
      { type: "ref/resource", uri: "y:{id}" },
    ]) {
      const argument = { name: ref.type === "ref/prompt" ? "a" : "id", value: "" };
      expect((await root.request("completion/complete", { ref, argument })).result.completion.values).toHaveLength(1);
      expect((await user.request("completion/complete", { ref, argument })).error?.code).toBe(-32602);
    }
  });

  test("nobody follows a resource that it does not see", async () => {
    const user = await connectAs(server, "ada", stateful);
    expect((await user.request("resources/subscribe", { uri: "x:secret" })).error?.code).toBe(-32002);
    const modern = await connectAs(server, "ada");
    expect(await listen(modern, { resourceSubscriptions: ["x:open", "x:secret"] })).toEqual({
      resourceSubscriptions: ["x:open"],
    });
    server.publish("resources/updated", { uri: "x:secret" });
    server.publish("resources/updated", { uri: "x:open" });
    await modern.settled();
    expect(heard(modern, "resources/updated")).toBe(1);
  });

  test("lists that depend on the caller are private, and their cursors stay within the view", async () => {
    const user = await connectAs(server, "ada");
    expect((await user.request("tools/list")).result).toMatchObject({ ttlMs: 1_000, cacheScope: "private" });
    const paged = createServer(info, { view: ({ key }) => key, pageSize: 1 })
      .tool("a", { run: () => "" })
      .tool("b", { run: () => "" });
    const [ada, bob] = [await connectAs(paged, "ada"), await connectAs(paged, "bob")];
    const { nextCursor: cursor } = (await ada.request("tools/list")).result;
    expect((await ada.request("tools/list", { cursor })).result.tools).toHaveLength(1);
    expect((await bob.request("tools/list", { cursor })).error?.code).toBe(-32602);
  });

  test("without a view everybody sees the same, and the cache hint is the author's", async () => {
    const open = createServer(info, { cache: { ttlMs: 5, cacheScope: "public" } }).tool("a", { run: () => "" });
    const peer = await connectAs(open, "anybody");
    expect((await peer.request("tools/list")).result).toMatchObject({ ttlMs: 5, cacheScope: "public" });
  });
});

describe("application context", () => {
  test("is made once per request, on first use, and is typed", async () => {
    let made = 0;
    const server = createServer(info, {
      app: ({ principal, meta }) => {
        made += 1;
        return { user: principal.key, tenant: String(meta?.["example.com/tenant"]) };
      },
    })
      .tool("who", {
        run(_, ctx) {
          expectTypeOf(ctx.app).toEqualTypeOf<{ user: string; tenant: string }>();
          return `${ctx.app.user} of ${ctx.app.tenant}`;
        },
      })
      .tool("none", { run: () => "none" })
      .resource("x:who", { read: (ctx) => ctx.app.user })
      .prompt("who", {
        arguments: { a: { complete: (_value, _known, ctx) => [ctx.app.user] } },
        get: (_, ctx) => ctx.app.user,
      });
    const peer = await connectAs(server, "ada");
    expect(await call(peer, "none")).toBe("none");
    expect(made).toBe(0);
    const { result } = await peer.callTool("who", {}, { _meta: { "example.com/tenant": "acme" } });
    expect(result.content[0].text).toBe("ada of acme");
    expect(made).toBe(1);
    expect((await peer.request("resources/read", { uri: "x:who" })).result.contents[0].text).toBe("ada");
    expect((await peer.request("prompts/get", { name: "who" })).result.messages[0].content.text).toBe("ada");
    const ref = { type: "ref/prompt", name: "who" };
    const completed = await peer.request("completion/complete", { ref, argument: { name: "a", value: "" } });
    expect(completed.result.completion.values).toEqual(["ada"]);
    expect(made).toBe(4);
  });

  test("that fails is masked and reported", async () => {
    const errors: unknown[] = [];
    const app = (): string => {
      throw new Error("no database at 10.0.0.1");
    };
    const server = createServer(info, { app, onError: (error) => errors.push(error) }).tool("a", {
      run: (_, ctx) => ctx.app,
    });
    const { result } = await (await connect(server)).callTool("a");
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).not.toContain("10.0.0.1");
    expect(errors).toHaveLength(1);
  });
});

describe("middleware", () => {
  const noting =
    (log: string[], name: string): Middleware =>
    async (exchange, next) => {
      log.push(`${name} before ${exchange.method}`);
      const outcome = await next(exchange);
      log.push(`${name} after ${exchange.method}`);
      return outcome;
    };

  test("stands around the handler like the skins of an onion, the first one outermost", async () => {
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

  test("may answer itself, refuse, change the params and change the result", async () => {
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

  test("stands around methods of one's own and the handshake, and sees interim results", async () => {
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

  test.each(eras)("brings features under a prefix, with their application and middleware ($revision)", async (era) => {
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
    expect(log).toEqual(["tools/call", "tools/call", "tools/call", "prompts/get", "resources/read", "resources/read"]);
    const ref = { type: "ref/prompt", name: "in_ask" };
    const { result } = await peer.request("completion/complete", { ref, argument: { name: "who", value: "" } });
    expect(result.completion.values).toEqual(["Ada"]);
    expect((await peer.callTool("plain")).error?.code).toBe(-32602);
  });

  test("works over two levels and beside another mount of the same server", async () => {
    const middle = createServer(info).mount("b_", createServer(info).tool("t", { run: () => "deep" }));
    const peer = await connect(createServer(info).mount("a_", middle).mount("c_", middle));
    expect(await names(peer)).toEqual(["a_b_t", "c_b_t"]);
    expect(await call(peer, "a_b_t")).toBe("deep");
  });

  test("refuses names and URIs that are there already, and leaves the definition as it was", async () => {
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
    on: ({ lifecycle }) =>
      lifecycle === "per-request"
        ? {
            settings: { maximum: 5 },
            requests: { "stars/get": { handle: ({ params }) => ({ stars: 3, of: params["name"] }) } },
            listen: {
              starsChanged: (wanted, topic, payload) => topic === "stars/changed" && payload["name"] === wanted,
            },
            decorate: (kind, entry) => ({ ...entry, stars: kind === "tool" ? 3 : 0 }),
          }
        : undefined,
    around: async (exchange, next) => {
      around.push(exchange.method);
      return next(exchange);
    },
  };
  const around: string[] = [];
  const server = createServer(info)
    .tool("t", { run: () => "" })
    .prompt("p", { get: () => "" })
    .extend(stars);
  const knowing = { ...stateless, capabilities: { extensions: { [id]: {} } } };

  test("is advertised with its settings where it has a part in the revision", async () => {
    const { result } = await (await connect(server)).request("server/discover");
    expect(result.capabilities.extensions).toEqual({ [id]: { maximum: 5 } });
    const { initialized } = await connect(server, stateful);
    expect(initialized?.result.capabilities).not.toHaveProperty("extensions");
  });

  test("serves its requests to peers that declared it, and names itself to the others", async () => {
    const [knows, ignorant] = [await connect(server, knowing), await connect(server)];
    expect((await knows.request("stars/get", { name: "x" })).result).toMatchObject({
      resultType: "complete",
      stars: 3,
      of: "x",
    });
    expect((await ignorant.request("stars/get", { name: "x" })).error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [id]: {} } } },
    });
    expect((await (await connect(server, stateful)).request("stars/get")).error?.code).toBe(-32601);
  });

  test("changes list entries and stands around requests for peers that declared it only", async () => {
    const [knows, ignorant] = [await connect(server, knowing), await connect(server)];
    around.length = 0;
    expect((await ignorant.request("tools/list")).result.tools[0]).not.toHaveProperty("stars");
    expect(around).toEqual([]);
    expect((await knows.request("tools/list")).result.tools[0]).toMatchObject({ name: "t", stars: 3 });
    expect((await knows.request("prompts/list")).result.prompts[0]).toMatchObject({ name: "p", stars: 0 });
    expect(around).toEqual(["tools/list", "prompts/list"]);
    expect((await ignorant.request("tools/list")).result.tools[0]).not.toHaveProperty("stars");
  });

  test("has a filter of its own in listen, whose notifications are tagged", async () => {
    const [knows, ignorant] = [await connect(server, knowing), await connect(server)];
    expect(await listen(knows, { starsChanged: "x" })).toEqual({ starsChanged: "x" });
    expect(await listen(ignorant, { starsChanged: "x" })).toEqual({});
    const old = await connect(server, stateful);
    const publish = server.publish as (topic: string, payload: JsonObject) => void;
    publish.call(server, "stars/changed", { name: "y" });
    publish.call(server, "stars/changed", { name: "x" });
    await Promise.all([knows.settled(), ignorant.settled(), old.settled()]);
    expect(knows.notifications.slice(1)).toEqual([
      {
        jsonrpc: "2.0",
        method: "notifications/stars/changed",
        params: { name: "x", _meta: { "io.modelcontextprotocol/subscriptionId": "listen" } },
      },
    ]);
    expect(heard(ignorant, "stars/changed")).toBe(0);
    expect(old.notifications).toEqual([]);
  });

  test("may take part in a handshake revision too", async () => {
    const everywhere = createServer(info).extend({ id: "com.example/ui", on: () => ({ settings: { a: 1 } }) });
    const { initialized } = await connect(everywhere, { revision: "2025-06-18" });
    expect(initialized?.result.capabilities.extensions).toEqual({ "com.example/ui": { a: 1 } });
  });
});

describe("a definition", () => {
  test("that is extended two ways shares nothing", async () => {
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

  test("with a name that some clients refuse is served, and the operator is warned", async () => {
    const warnings: string[] = [];
    const server = createServer(info, { onError: (error) => warnings.push((error as Error).message) })
      .tool("fine-name_1.0", { run: () => "" })
      .tool("größe in m", { run: () => "served" });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^Tool name "größe in m": /);
    expect(await call(await connect(server), "größe in m")).toBe("served");
  });

  test("that failed to grow is as it was", async () => {
    const base = createServer(info).tool("a", { run: () => "a" });
    expect(() => base.tool("a", { run: () => "b" })).toThrow();
    expect(() => base.tool("b", {} as never)).toThrow();
    expect(await names(await connect(base.tool("b", { run: () => "b" })))).toEqual(["a", "b"]);
  });

  test("is served to many peers of all revisions at once", async () => {
    const server = createServer(info).tool("who", { run: (_, ctx) => `${ctx.protocolVersion} ${ctx.requestId}` });
    const all = await Promise.all(revisions.map((revision) => connect(server, { revision })));
    const answers = await Promise.all(all.map((peer) => peer.request("tools/call", { name: "who" }, "same id")));
    expect(answers.map(({ result }) => result.content[0].text)).toEqual(
      revisions.map((revision) => `${revision} same id`),
    );
  });
});

describe("a live server", () => {
  const started = (): LiveServer =>
    live(
      createServer(info)
        .tool("a", { run: () => "a" })
        .prompt("p", { get: () => "" }),
    );

  test.each(eras)("tells of each changed list once per burst ($revision)", async (era) => {
    const server = started();
    const peer = await connect(server, era);
    if (era === stateless)
      await listen(peer, { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true });
    server.update((now) => now.tool("b", { run: () => "b" }));
    server.update((now) => now.tool("c", { run: () => "c" }).resource("x:a", { read: () => "" }));
    server.update((now) => now.template("x:{id}", { read: () => "" }));
    await peer.settled();
    expect(["tools", "resources", "prompts"].map((list) => heard(peer, `${list}/list_changed`))).toEqual([1, 1, 0]);
    server.update((now) => now);
    await peer.settled();
    expect(heard(peer, "tools/list_changed")).toBe(1);
    server.update(() => server.current.prompt("q", { get: () => "" }));
    await peer.settled();
    expect(heard(peer, "prompts/list_changed")).toBe(1);
    expect(await names(peer)).toEqual(["a", "b", "c"]);
  });

  test("serves a call to the end with the definition it began with", async () => {
    let go: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const server = live(
      createServer(info).tool("slow", {
        run: async () => {
          await gate;
          return "old";
        },
      }),
    );
    const peer = await connect(server);
    const pending = call(peer, "slow");
    await peer.settled();
    server.update(() => createServer(info).tool("new", { run: () => "new" }));
    go();
    expect(await pending).toBe("old");
    expect(await call(peer, "slow")).toBe("-32602: Unknown tool: slow");
    expect(await call(peer, "new")).toBe("new");
  });

  test.each(eras)(
    "tells once that a feature is gone or replaced, and does not know it any more ($revision)",
    async (era) => {
      const server = started();
      const peer = await connect(server, era);
      if (era === stateless) await listen(peer, { toolsListChanged: true, promptsListChanged: true });
      server.update((now) => now.without("tools", "a"));
      await peer.settled();
      expect(heard(peer, "tools/list_changed")).toBe(1);
      expect(await names(peer)).toEqual([]);
      expect(await call(peer, "a")).toBe("-32602: Unknown tool: a");
      server.update((now) => now.tool("a", { run: () => "back" }));
      server.update((now) => now.without("tools", "a").tool("a", { run: () => "replaced" }));
      await peer.settled();
      expect(heard(peer, "tools/list_changed")).toBe(2);
      expect(heard(peer, "prompts/list_changed")).toBe(0);
      expect(await call(peer, "a")).toBe("replaced");
      expect(() => server.update((now) => now.without("tools", "nowhere"))).toThrow(
        'without: expected one of the tools that are defined, got "nowhere"',
      );
    },
  );

  test("keeps its definition when an update fails", async () => {
    const server = started();
    expect(() => server.update((now) => now.tool("a", { run: () => "" }))).toThrow("defined twice");
    expect(() => server.update(() => undefined as never)).toThrow("Expected a server made by createServer");
    const peer = await connect(server, stateful);
    expect(await names(peer)).toEqual(["a"]);
    await peer.settled();
    expect(peer.notifications).toEqual([]);
  });
});

describe("publish", () => {
  test.each(eras)("reaches one principal when it says so ($revision)", async (era) => {
    const server = createServer(info).resource("x:a", { subscribe: true, read: () => "" });
    const [ada, bob] = [await connectAs(server, "ada", era), await connectAs(server, "bob", era)];
    for (const peer of [ada, bob]) {
      if (era === stateless) await listen(peer, { resourceSubscriptions: ["x:a"] });
      else await peer.request("resources/subscribe", { uri: "x:a" });
    }
    server.publish("resources/updated", { uri: "x:a" }, { principal: "ada" });
    await Promise.all([ada.settled(), bob.settled()]);
    expect([ada, bob].map((peer) => heard(peer, "resources/updated"))).toEqual([1, 0]);
    server.publish("resources/updated", { uri: "x:a" });
    await Promise.all([ada.settled(), bob.settled()]);
    expect([ada, bob].map((peer) => heard(peer, "resources/updated"))).toEqual([2, 1]);
  });

  test("of a list change is refused where the list cannot change", () => {
    const server = createServer(info).tool("a", { run: () => "" });
    expect(() => server.publish("tools/list_changed", {})).toThrow(
      'publish("tools/list_changed"): this list cannot change; serve live(server) to change it',
    );
    expect(() => server.publish("resources/list_changed", {})).toThrow();
    const listing = createServer(info).template("x:{id}", { list: () => [], read: () => "" });
    expect(() => listing.publish("resources/list_changed", {})).not.toThrow();
  });
});

describe("watch", () => {
  test.each(eras)("begins with the first subscriber and ends after the last ($revision)", async (era) => {
    const log: string[] = [];
    let changed: (uri?: string) => void = () => {};
    const server = createServer(info).resource("x:a", {
      read: () => "",
      watch: (uri, tell) => {
        log.push(`begin ${uri}`);
        changed = tell;
        return () => {
          log.push(`end ${uri}`);
        };
      },
    });
    const [one, two] = [await connect(server, era), await connect(server, era)];
    const follow = async (peer: RawPeer) => {
      if (era === stateless) await listen(peer, { resourceSubscriptions: ["x:a"] });
      else await peer.request("resources/subscribe", { uri: "x:a" });
      await peer.settled();
    };
    const leave = async (peer: RawPeer) => {
      if (era === stateless) peer.notify("notifications/cancelled", { requestId: "listen" });
      else await peer.request("resources/unsubscribe", { uri: "x:a" });
      await peer.settled();
    };
    expect(log).toEqual([]);
    await follow(one);
    await follow(two);
    expect(log).toEqual(["begin x:a"]);
    changed();
    changed("x:a/part");
    await Promise.all([one.settled(), two.settled()]);
    expect([one, two].map((peer) => heard(peer, "resources/updated"))).toEqual([2, 2]);
    await leave(one);
    expect(log).toEqual(["begin x:a"]);
    changed();
    await Promise.all([one.settled(), two.settled()]);
    expect([one, two].map((peer) => heard(peer, "resources/updated"))).toEqual([2, 3]);
    // The last one does not say goodbye.
    await two.close();
    while (log.length < 2) await one.settled();
    expect(log).toEqual(["begin x:a", "end x:a"]);
    await follow(one);
    expect(log).toEqual(["begin x:a", "end x:a", "begin x:a"]);
  });

  test("that fails is reported once, and the subscriber lives", async () => {
    const errors: PortolanError[] = [];
    const onError = (error: unknown) => errors.push(error as PortolanError);
    const watch = () => {
      throw new Error("no such file");
    };
    const server = createServer(info, { onError }).resource("x:a", { read: () => "a", watch });
    const peer = await connect(server);
    await listen(peer, { resourceSubscriptions: ["x:a"] });
    await peer.settled();
    peer.notify("notifications/cancelled", { requestId: "listen" });
    await peer.settled();
    expect(errors.map(({ message, cause }) => [message, (cause as Error).message])).toEqual([
      ["Watching x:a failed", "no such file"],
    ]);
  });
});

describe("cursors", () => {
  test.each(revisions)("of another list, another server or nobody are refused (%s)", async (revision) => {
    const server = createServer(info, { pageSize: 1 })
      .tool("a", { run: () => "" })
      .tool("b", { run: () => "" })
      .prompt("a", { get: () => "" })
      .prompt("b", { get: () => "" });
    const peer = await connect(server, { revision });
    const { nextCursor: cursor } = (await peer.request("tools/list")).result;
    expect((await peer.request("tools/list", { cursor })).result.tools).toHaveLength(1);
    for (const wrong of ["garbage", "", `${cursor}=`, cursor.slice(1), "W10", "eyJhIjoxfQ"]) {
      const { error } = await peer.request("tools/list", { cursor: wrong });
      expect(error).toEqual({
        code: -32602,
        message: "Invalid params: cursor: expected one that this list has given; start again without it",
      });
    }
    expect((await peer.request("prompts/list", { cursor })).error?.code).toBe(-32602);
  });

  test("survives a feature that went away between two pages", async () => {
    const tool = { run: () => "" };
    const server = live(createServer(info, { pageSize: 2 }).tool("a", tool).tool("b", tool).tool("c", tool));
    const peer = await connect(server);
    const { nextCursor: cursor } = (await peer.request("tools/list")).result;
    server.update(() => createServer(info, { pageSize: 2 }).tool("a", tool).tool("c", tool).tool("d", tool));
    const { result } = await peer.request("tools/list", { cursor });
    expect(result.tools.map(({ name }: { name: string }) => name)).toEqual(["c", "d"]);
  });
});

describe("a mistake in a definition is told in one line", () => {
  const run = () => "";
  const read = () => "";
  const get = () => "";
  const server = createServer(info);
  // biome-ignore lint/suspicious/noExplicitAny: these are the mistakes that types would catch
  const wrong = (value: unknown): any => value;

  const mistakes: [what: string, make: () => unknown, says: RegExp][] = [
    [
      "no info",
      () => createServer(wrong(undefined)),
      /^createServer: expected \{ name, version \} as strings, got nothing/,
    ],
    [
      "info without version",
      () => createServer(wrong({ name: "x" })),
      /^createServer: expected \{ name, version \} as strings/,
    ],
    [
      "options of another kind",
      () => createServer(info, wrong("options")),
      /^createServer: options: expected an object, got "options"/,
    ],
    [
      "a tool without a name",
      () => server.tool("", { run }),
      /^The name of a tool: expected a string that is not empty, got ""/,
    ],
    ["a tool with a number for a name", () => server.tool(wrong(5), { run }), /^The name of a tool: .*, got number 5/],
    [
      "a tool without a definition",
      () => server.tool("t", wrong(undefined)),
      /^Tool "t": expected \{ run \}, got nothing/,
    ],
    ["a tool without run", () => server.tool("t", wrong({})), /^Tool "t": run: expected a function, got nothing/],
    [
      "a tool defined twice",
      () => server.tool("t", { run }).tool("t", { run }),
      /^Tool "t" is defined twice; names must differ/,
    ],
    [
      "a schema that is none",
      () => server.tool("t", { input: wrong("string"), run }),
      /^Tool "t": input: expected a Standard Schema .*, got "string"/,
    ],
    [
      "an input that is no object",
      () => server.tool("t", { input: wrong(z.string()), run }),
      /^Tool "t": input: expected a schema whose root is \{ type: "object" \}/,
    ],
    [
      "an input without JSON form",
      () => server.tool("t", { input: wrong(z.object({ d: z.date() })), run }),
      /^Tool "t": input: .*date/i,
    ],
    [
      "an output without JSON form",
      () => server.tool("t", { output: wrong(z.bigint()), run }),
      /^Tool "t": output: .*bigint/i,
    ],
    [
      "a relative URI",
      () => server.resource("notes.txt", { read }),
      /^Resource "notes.txt": expected an absolute URI such as file:\/\/\/notes.txt/,
    ],
    [
      "a resource without a definition",
      () => server.resource("x:a", wrong(undefined)),
      /^Resource "x:a": expected \{ read \}, got nothing/,
    ],
    [
      "a resource without read",
      () => server.resource("x:a", wrong({})),
      /^Resource "x:a": read: expected a function, got nothing/,
    ],
    [
      "a resource defined twice",
      () => server.resource("x:a", { read }).resource("x:a", { read }),
      /^Resource "x:a" is defined twice/,
    ],
    [
      "a template without a definition",
      () => server.template("x:{a}", wrong(null)),
      /^Resource "x:\{a\}": expected \{ read \}, got null/,
    ],
    [
      "a template without read",
      () => server.template("x:{a}", wrong({})),
      /^Resource "x:\{a\}": read: expected a function, got nothing/,
    ],
    [
      "a template defined twice",
      () => server.template("x:{a}", { read }).template("x:{a}", { read }),
      /^Resource template "x:\{a\}" is defined twice/,
    ],
    [
      "a prompt without a definition",
      () => server.prompt("p", wrong(undefined)),
      /^Prompt "p": expected \{ get \}, got nothing/,
    ],
    ["a prompt without get", () => server.prompt("p", wrong({})), /^Prompt "p": get: expected a function, got nothing/],
    ["a prompt defined twice", () => server.prompt("p", { get }).prompt("p", { get }), /^Prompt "p" is defined twice/],
    ["middleware that is no function", () => server.use(wrong({})), /^use: expected a function, got an object/],
    ["an extension that is none", () => server.extend(wrong(undefined)), /^extend: expected \{ id, on \}, got nothing/],
    [
      "an extension without a prefix",
      () => server.extend({ id: "x", on: () => undefined }),
      /^Extension "x": expected an id with a prefix, such as com.example\/id/,
    ],
    [
      "an extension without on",
      () => server.extend(wrong({ id: "a/b" })),
      /^Extension "a\/b": on: expected a function, got nothing/,
    ],
    [
      "an extension used twice",
      () => server.extend({ id: "a/b", on: () => undefined }).extend({ id: "a/b", on: () => undefined }),
      /^Extension "a\/b" is defined twice/,
    ],
    [
      "a mount of nothing",
      () => server.mount("x_", wrong(undefined)),
      /^Expected a server made by createServer or live, got nothing/,
    ],
    [
      "a mount without a prefix",
      () => server.mount(wrong(server), wrong(undefined)),
      /^mount: expected a prefix as a string, got an object/,
    ],
    [
      "a method without a handler",
      () => server.method("x/y", wrong({})),
      /^Method "x\/y": handle: expected a function, got nothing/,
    ],
    [
      "a method without a name",
      () => server.method("", { handle: () => ({}) }),
      /^The name of a method: expected a string that is not empty/,
    ],
    [
      "a method defined twice",
      () => server.method("x", { handle: () => ({}) }).method("x", { handle: () => ({}) }),
      /^The method "x" is defined twice/,
    ],
    [
      "a notification without a handler",
      () => server.notification("x", wrong(undefined)),
      /^Notification "x": expected a function, got nothing/,
    ],
    ["a live server of nothing", () => live(wrong(undefined)), /^Expected a server made by createServer, got nothing/],
    [
      "a live server of a live server",
      () => live(wrong(live(server))),
      /^Expected a server made by createServer, got an object/,
    ],
    [
      "a page size of none",
      () => runtime(createServer(info, { pageSize: 0 })),
      /^pageSize: expected a whole number above 0, got 0/,
    ],
    [
      "serving nothing",
      () => serveChannel(wrong(undefined), createMemoryPair()[0]),
      /^Expected a server made by createServer or live, got nothing/,
    ],
    [
      "serving no channel",
      () => serveChannel(server, wrong(undefined)),
      /^serveChannel: expected a channel with open, send and close, got nothing/,
    ],
    ["a form of nothing", () => form(wrong(undefined)), /expected a Standard Schema .*, got nothing/],
    [
      "a nested form",
      () => form(z.object({ a: z.object({}) })),
      /^form field "a": expected a string, number, boolean or choice; forms are flat/,
    ],
    [
      "questions of nothing",
      () => inputRequired(wrong(undefined)),
      /^inputRequired: expected requests, a state, or both; got neither/,
    ],
    [
      "questions without any",
      () => inputRequired({}),
      /^inputRequired: expected requests, a state, or both; got neither/,
    ],
    [
      "an update that is no function",
      () => live(server).update(wrong(server)),
      /^update: expected a function, got an object/,
    ],
  ];

  const runtime = (served: Served) => serveChannel(served, createMemoryPair()[1]);

  test.each(mistakes)("%s", (_, make, says) => {
    let thrown: unknown;
    try {
      make();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(PortolanError);
    expect((thrown as PortolanError).message).toMatch(says);
    expect((thrown as PortolanError).message).not.toContain("\n");
    expect(["invalid-definition", "invalid-argument"]).toContain((thrown as PortolanError).code);
  });

  test("what is known only after loading is told to the operator, by the first request", async () => {
    const late: [server: Served, says: RegExp][] = [];
    const heardBy = (define: (from: typeof server) => Served, says: RegExp) => late.push([define(server), says]);
    const errors: Error[] = [];
    const from = createServer(info, { onError: (error) => errors.push(error as Error) });
    heardBy(() => from.template("x:{a", { read }), /^Resource "x:\{a": |x:\{a/);
    heardBy(
      () => from.template("x:{a}", { read, complete: { b: [] } }),
      /^Resource "x:\{a\}": complete: the template has no variable "b"/,
    );
    heardBy(
      () => from.tool("t", { input: { type: "object", properties: { a: { type: "strnig" } } }, run }),
      /^Tool "t": input: .*strnig/,
    );
    heardBy(
      () => from.tool("t", { output: { $ref: "https://example.com/x" }, run }),
      /^Tool "t": output: .*https:\/\/example.com\/x/,
    );
    expect(() => from.tool("t", { input: { type: "array" }, run })).toThrow(
      /^Tool "t": input: expected a schema whose root is \{ type: "object" \}/,
    );
    for (const [served, says] of late) {
      errors.length = 0;
      const { error } = await (await connect(served)).request("tools/list");
      expect(error?.code).toBe(-32603);
      expect(errors).toHaveLength(1);
      expect(errors[0]?.message).toMatch(says);
      expect(errors[0]?.message).not.toContain("\n");
    }
  });
});

describe("a feature taken out", () => {
  const server = createServer(info)
    .tool("a", { run: () => "a" })
    .tool("b", { run: () => "b" });

  test("is gone from the new definition, stays in the old one, and its name is free again", async () => {
    const names = async (served: Served) => {
      const { result } = await (await connect(served)).request("tools/list");
      return result.tools.map(({ name }: { name: string }) => name);
    };
    const without = server.without("tools", "a");
    expect(await names(without)).toEqual(["b"]);
    expect(await names(without.tool("a", { run: () => "new" }))).toEqual(["a", "b"]);
    expect(await names(server)).toEqual(["a", "b"]);
  });

  test("must be there", () => {
    expect(() => server.without("tools", "c")).toThrow('without: expected one of the tools that are defined, got "c"');
  });
});

test("a handler can find out what it may ask", async () => {
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

test("a client that does not read is spared progress first, and then let go", async () => {
  const errors: unknown[] = [];
  const noisy = createServer(info, { onError: (error) => errors.push(error) }).tool("noise", {
    input: z.object({ n: z.number() }),
    run({ n }, ctx) {
      for (let step = 1; step <= n; step += 1) ctx.progress(step);
      return "done";
    },
  });
  const sent: unknown[] = [];
  let isClosed = false;
  let incoming: Parameters<Channel["open"]>[0] | undefined;
  const unread = new Promise<void>(() => {});
  const channel: Channel = {
    open: (owner) => {
      incoming = owner;
    },
    send: (message) => {
      sent.push(message);
      return unread;
    },
    close: async () => {
      isClosed = true;
      incoming?.closed();
    },
  };
  const serving = serveChannel(noisy, channel);
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    progressToken: 1,
  };
  const call = (id: number) =>
    incoming?.message({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "noise", arguments: { n: 5_000 }, _meta },
    });
  call(0);
  expect(sent.length).toBeLessThan(1_100);
  for (let id = 1; !isClosed && id < 30_000; id += 1) call(id);
  expect(isClosed).toBe(true);
  await serving.closed;
  expect(String(errors[0])).toContain("has not read");
});
