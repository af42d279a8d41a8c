import { createServer } from "portolan/server";
import { describe, expect, expectTypeOf, test } from "vitest";
import { call, connect, connectAs, countNotifications, eras, info, listen, names, stateful } from "./peers.ts";

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

  test.each(eras)("features outside the view are unknown to the caller ($revision)", async (era) => {
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

  test("a caller cannot subscribe to a resource outside its view", async () => {
    const user = await connectAs(server, "ada", stateful);
    expect((await user.request("resources/subscribe", { uri: "x:secret" })).error?.code).toBe(-32002);
    const modern = await connectAs(server, "ada");
    expect(await listen(modern, { resourceSubscriptions: ["x:open", "x:secret"] })).toEqual({
      resourceSubscriptions: ["x:open"],
    });
    server.publish("resources/updated", { uri: "x:secret" });
    server.publish("resources/updated", { uri: "x:open" });
    await modern.settled();
    expect(countNotifications(modern, "resources/updated")).toBe(1);
  });

  test("lists that depend on the caller are private, and their cursors are valid only in the same view", async () => {
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

  test("without a view the server's cache hint is used", async () => {
    const open = createServer(info, { cache: { ttlMs: 5, cacheScope: "public" } }).tool("a", { run: () => "" });
    const peer = await connectAs(open, "anybody");
    expect((await peer.request("tools/list")).result).toMatchObject({ ttlMs: 5, cacheScope: "public" });
  });
});

describe("application context", () => {
  test("is created once per request, on first use, and is typed", async () => {
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

  test("that throws is hidden from the client and reported", async () => {
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
