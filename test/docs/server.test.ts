import { createMemoryPair, type JsonObject } from "portolan";
import { createServer, type Principal, type Servable, serveChannel } from "portolan/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { z as zod325 } from "zod-3-25";
import { z as zod40 } from "zod-4-0";
import { z as zod41 } from "zod-4-1";
import { oldestAndNewest, subscribe } from "../examples/example.ts";
import { metaKey, RawPeer } from "../kit/raw-peer.ts";
import { isStateless, type RevisionDate } from "../kit/revisions.ts";
import { connect, importGuide } from "./guide.ts";

const schemas = await importGuide("schemas");
const tools = await importGuide("tools");
const resources = await importGuide("resources");
const compose = await importGuide("compose");
const liveGuide = await importGuide("live");

const names = (entries: { name: string }[]) => entries.map(({ name }) => name);

/** Connects a client that the transport has authenticated as the principal. */
async function connectAs(
  server: Servable,
  principal: Principal,
  revision: RevisionDate,
  capabilities: JsonObject = {},
) {
  const [near, far] = createMemoryPair({ serialize: true });
  serveChannel(server, far, { principal });
  const peer = await new RawPeer(near, { revision, capabilities }).start();
  onTestFinished(() => peer.close());
  return peer;
}

describe.each(oldestAndNewest)("docs/server.md on %s", (revision) => {
  const oldOrNew = <T>(older: T, newest: T): T => (isStateless(revision) ? newest : older);

  test.each(["zod", "arktype", "valibot", "json_schema"])("lists and checks a schema of %s", async (library) => {
    const peer = await connect(schemas.server, { revision });
    const name = `with_${library}`;
    const { tools: listed } = (await peer.request("tools/list")).result;
    const { inputSchema } = listed.find((tool: JsonObject) => tool["name"] === name);
    expect(inputSchema).toMatchObject({ type: "object", properties: { celsius: { type: "number" } } });
    expect((await peer.callTool(name, { celsius: 100 })).result.content[0].text).toBe("212 °F");
    const { result } = await peer.callTool(name, { celsius: "warm" });
    expect(result.isError).toBe(true);
    expect(result.content[0].text).toMatch(new RegExp(`^Invalid arguments for tool "${name}": celsius: `));
  });

  test("fills in the default of an argument that the client leaves out", async () => {
    const peer = await connect(schemas.server, { revision });
    expect((await peer.callTool("with_zod", {})).result.content[0].text).toBe("68 °F");
  });

  test.each([
    [
      "3.25",
      createServer({ name: "old", version: "1" }).tool("t", {
        input: zod325.object({ n: zod325.number() }),
        run: ({ n }) => `${n}`,
      }),
    ],
    [
      "4.0",
      createServer({ name: "old", version: "1" }).tool("t", {
        input: zod40.object({ n: zod40.number() }),
        run: ({ n }) => `${n}`,
      }),
    ],
    [
      "4.1",
      createServer({ name: "old", version: "1" }).tool("t", {
        input: zod41.object({ n: zod41.number() }),
        run: ({ n }) => `${n}`,
      }),
    ],
  ])("lists and checks a schema of zod %s without a converter", async (_, server) => {
    const peer = await connect(server, { revision });
    expect((await peer.request("tools/list")).result.tools[0].inputSchema).toMatchObject({
      properties: { n: { type: "number" } },
    });
    expect((await peer.callTool("t", { n: 3 })).result.content[0].text).toBe("3");
  });

  test("turns each kind of return value into the result that the table shows", async () => {
    const peer = await connect(tools.results, { revision });
    const call = async (name: string) => {
      const { content, structuredContent } = (await peer.callTool(name)).result;
      return { content, structuredContent };
    };
    const text = (value: string) => ({ type: "text", text: value });
    expect(await call("typed")).toEqual({
      content: [text('{"celsius":4}')],
      structuredContent: oldOrNew(undefined, { celsius: 4 }),
    });
    expect(await call("list")).toEqual({
      content: [text("[4,6,5]")],
      structuredContent: oldOrNew(undefined, [4, 6, 5]),
    });
    expect(await call("text")).toEqual({ content: [text("4 degrees")] });
    const link = oldOrNew<JsonObject>(text("Oslo <map://oslo>"), {
      type: "resource_link",
      uri: "map://oslo",
      name: "Oslo",
    });
    expect(await call("blocks")).toEqual({ content: [text("The map:"), link] });
    expect(await call("whole")).toEqual({
      content: [text("Cold: 4 degrees")],
      structuredContent: oldOrNew(undefined, { celsius: 4 }),
    });
  });

  test("shows a ToolError to the model, an RpcError to the client, and any other error only to the operator", async () => {
    const peer = await connect(tools.failures, { revision });
    expect((await peer.callTool("for_the_model")).result).toMatchObject({
      isError: true,
      content: [{ type: "text", text: "There is no city named Atlantis; list_cities returns all cities" }],
    });
    expect((await peer.callTool("for_the_client")).error).toEqual({
      code: 1001,
      message: "This month's quota is used up",
      data: { resets: "2026-08-01" },
    });
    const { result } = await peer.callTool("for_the_operator");
    expect(result.isError).toBe(true);
    const reference = /^The tool failed \(reference (\w{8})\)$/.exec(result.content[0].text)?.[1];
    expect(tools.reports).toContainEqual({ message: "Error: connect ECONNREFUSED 10.0.0.7:5432", reference });
    expect((await peer.callTool("no_such_tool")).error?.code).toBe(-32602);
  });

  test("sends progress only to a client with a progress token, and logs at the level that the client chose", async () => {
    const peer = await connect(tools.worker, { revision });
    const _meta = { progressToken: "p", [metaKey("logLevel")]: "info" };
    const { result } = await peer.callTool("copy", { files: ["a", "b"] }, { _meta });
    expect(result.content[0].text).toBe("2 copied");
    const progress = peer.notifications.filter(({ method }) => method === "notifications/progress");
    expect(progress.map(({ params }) => params)).toEqual([
      { progressToken: "p", progress: 1, total: 2, ...oldOrNew({}, { message: "a" }) },
      { progressToken: "p", progress: 2, total: 2, ...oldOrNew({}, { message: "b" }) },
    ]);
    const logged = peer.notifications.filter(({ method }) => method === "notifications/message");
    expect(logged.map(({ params }) => params?.["data"])).toEqual([{ copied: "a" }, { copied: "b" }]);
    const withoutToken = await connect(tools.worker, { revision });
    await withoutToken.callTool("copy", { files: ["a"] });
    expect(withoutToken.notifications.map(({ method }) => method)).toEqual(oldOrNew(["notifications/message"], []));
  });

  test("aborts the signal of a cancelled call and sends no response", async () => {
    const peer = await connect(tools.worker, { revision });
    const count = tools.stopped.length;
    peer.request("tools/call", { name: "copy", arguments: { files: ["endless"] } }, "long");
    await peer.settled();
    peer.notify("notifications/cancelled", { requestId: "long" });
    await expect.poll(() => tools.stopped.slice(count)).toEqual(["endless"]);
    await peer.settled();
    expect(peer.transcript.filter((line) => line.startsWith('< {"jsonrpc":"2.0","id":"long"'))).toEqual([]);
  });

  test("reads resources as text or bytes, and returns not found for an unknown page of a template", async () => {
    const peer = await connect(resources.server, { revision });
    const read = (uri: string) => peer.request("resources/read", { uri });
    expect((await read("handbook://motto")).result.contents).toEqual([
      { uri: "handbook://motto", mimeType: "text/plain", text: "Short pages" },
    ]);
    expect((await read("handbook://logo")).result.contents[0].blob).toBe(btoa("GIF89a"));
    const page = (await read("handbook://pages/intro")).result;
    expect(page.contents).toEqual([{ uri: "handbook://pages/intro", mimeType: "text/markdown", text: "# Welcome" }]);
    expect({ ttlMs: page.ttlMs, cacheScope: page.cacheScope }).toEqual(
      oldOrNew({}, { ttlMs: 60_000, cacheScope: "public" }),
    );
    expect((await read("handbook://pages/none")).error?.code).toBe(oldOrNew(-32002, -32602));
    const { resources: listed } = (await peer.request("resources/list")).result;
    expect(names(listed)).toEqual(expect.arrayContaining(["Motto", "Logo", "intro", "install"]));
  });

  test("watches a page while a client is subscribed, and announces a new page as a list change", async () => {
    const peer = await connect(resources.server, { revision });
    const uri = "handbook://pages/intro";
    await subscribe(peer, [uri]);
    await peer.until(() => resources.watchers(uri) === 1);
    resources.write("intro", "# Welcome");
    expect((await peer.notification("notifications/resources/updated")).params).toMatchObject({ uri });
    resources.write(`new-on-${revision}`, "# New");
    await peer.notification("notifications/resources/list_changed");
    await peer.close();
    expect(resources.watchers(uri)).toBe(0);
  });

  test("checks the arguments of a prompt, and completes them and template variables", async () => {
    const peer = await connect(resources.server, { revision });
    const { messages } = (await peer.request("prompts/get", { name: "review", arguments: { page: "intro" } })).result;
    expect(messages[0].content.text).toBe("Give this page a friendly review.");
    expect(messages[1].content.type).toBe(oldOrNew("text", "resource_link"));
    expect((await peer.request("prompts/get", { name: "review" })).error?.code).toBe(-32602);
    const complete = async (ref: JsonObject, value: string) =>
      (await peer.request("completion/complete", { ref, argument: { name: "page", value } })).result.completion.values;
    expect(await complete({ type: "ref/prompt", name: "review" }, "IN")).toEqual(["intro", "install"]);
    expect(await complete({ type: "ref/resource", uri: "handbook://pages/{page}" }, "stall")).toEqual(["install"]);
  });

  test("shows each caller the tools of its view, and gives handlers the application", async () => {
    const member = await connectAs(compose.team, { key: "m", subject: "Ada" }, revision);
    const { result } = await member.request("tools/list");
    expect(names(result.tools)).toEqual(["whoami"]);
    expect({ ttlMs: result.ttlMs, cacheScope: result.cacheScope }).toEqual(
      oldOrNew({}, { ttlMs: 60_000, cacheScope: "private" }),
    );
    expect((await member.callTool("restart")).error?.message).toBe("Unknown tool: restart");
    expect((await member.callTool("whoami")).result.content[0].text).toBe("Ada");
    const admin = await connectAs(compose.team, { key: "a", scopes: ["admin"] }, revision);
    expect((await admin.callTool("restart")).result.content[0].text).toBe("restarted");
  });

  test("runs middleware for every request, and lets it refuse a call", async () => {
    const peer = await connectAs(compose.guarded, { key: `k-${revision}` }, revision);
    expect((await peer.callTool("whoami")).error).toMatchObject({ code: 1003 });
    await peer.request("tools/list");
    expect(compose.log).toContain(`k-${revision}: tools/list ended as complete`);
    expect(compose.log).not.toContain(`k-${revision}: tools/call ended as complete`);
    const trusted = await connectAs(compose.guarded, { key: `t-${revision}`, scopes: ["call"] }, revision);
    expect((await trusted.callTool("whoami")).result.content[0].text).toBe("anonymous");
    expect(compose.log).toContain(`t-${revision}: tools/call ended as complete`);
  });

  test("prefixes the tools of mounted servers, and keeps their application and URIs", async () => {
    const peer = await connect(compose.everything, { revision });
    expect(names((await peer.request("tools/list")).result.tools)).toEqual(["team_whoami", "weather_forecast"]);
    expect((await peer.callTool("weather_forecast", { city: "Oslo" })).result.content[0].text).toBe("Oslo: rain");
    expect((await peer.callTool("team_whoami")).result.content[0].text).toBe("anonymous");
    const warnings = await peer.request("resources/read", { uri: "weather://warnings" });
    expect(warnings.result.contents[0].text).toBe("none");
  });

  test("serves the tools of several files under their own names", async () => {
    const peer = await connect(compose.inFiles, { revision });
    expect(names((await peer.request("tools/list")).result.tools)).toEqual(["forecast", "whoami"]);
    expect((await peer.callTool("whoami")).result.content[0].text).toBe("anonymous");
  });

  test("serves an extension only to clients that declare it", async () => {
    const without = await connect(compose.counted, { revision });
    expect((await without.request("tools/list")).result.tools[0]).not.toHaveProperty("com.example/calls");
    expect((await without.request("com.example/popularity/top")).error?.code).toBe(oldOrNew(-32602, -32021));
    const capabilities = { extensions: { "com.example/popularity": {} } };
    const declaring = await connect(compose.counted, { revision, capabilities });
    expect((await declaring.request("tools/list")).result.tools[0]["com.example/calls"]).toBe(12);
    expect((await declaring.request("com.example/popularity/top")).result.tools).toEqual(["forecast"]);
  });

  test("announces two quick updates of a live server as one list change", async () => {
    const peer = await connect(liveGuide.server, { revision });
    if (isStateless(revision)) {
      peer.request("subscriptions/listen", { notifications: { toolsListChanged: true } });
      await peer.notification("notifications/subscriptions/acknowledged");
    }
    liveGuide.setDevices([revision]);
    liveGuide.setDevices([revision, "lamp"]);
    await peer.notification("notifications/tools/list_changed");
    await peer.settled();
    const count = (method: string) => peer.notifications.filter((message) => message.method === method).length;
    expect(count("notifications/tools/list_changed")).toBe(1);
    expect(count("notifications/message")).toBe(oldOrNew(2, 0));
    expect((await peer.callTool("blink_lamp")).result.content[0].text).toBe("blinked");
    liveGuide.setDevices([]);
    expect((await peer.callTool("blink_lamp")).error?.code).toBe(-32602);
  });
});

test("refuses to announce a list change of a server that is not live", () => {
  expect(() => resources.server.publish("tools/list_changed", {})).toThrow("serve live(server) to change it");
});
