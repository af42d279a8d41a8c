import { createMemoryPair, type JsonObject } from "portolan";
import { createServer, type Principal, type Servable, serveChannel } from "portolan/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { z as zod325 } from "zod-3-25";
import { z as zod40 } from "zod-4-0";
import { z as zod41 } from "zod-4-1";
import { ends, follow } from "../examples/example.ts";
import { metaKey, RawPeer } from "../kit/raw-peer.ts";
import { isStateless, type RevisionDate } from "../kit/revisions.ts";
import { connect, importGuide } from "./guide.ts";

const schemas = await importGuide("schemas");
const tools = await importGuide("tools");
const resources = await importGuide("resources");
const compose = await importGuide("compose");
const liveGuide = await importGuide("live");

const names = (entries: { name: string }[]) => entries.map(({ name }) => name);

/** A client that the transport has found to be somebody. */
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

describe.each(ends)("on %s, as docs/server.md says,", (revision) => {
  const before = <T>(older: T, newest: T): T => (isStateless(revision) ? newest : older);

  test.each(["zod", "arktype", "valibot", "json_schema"])("a schema of %s is listed and checked", async (library) => {
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

  test("a default is filled in, and the client may leave the argument out", async () => {
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
  ])("zod %s needs nothing else", async (_, server) => {
    const peer = await connect(server, { revision });
    expect((await peer.request("tools/list")).result.tools[0].inputSchema).toMatchObject({
      properties: { n: { type: "number" } },
    });
    expect((await peer.callTool("t", { n: 3 })).result.content[0].text).toBe("3");
  });

  test("each kind of return becomes the result that the table says", async () => {
    const peer = await connect(tools.results, { revision });
    const call = async (name: string) => {
      const { content, structuredContent } = (await peer.callTool(name)).result;
      return { content, structuredContent };
    };
    const text = (value: string) => ({ type: "text", text: value });
    expect(await call("typed")).toEqual({
      content: [text('{"celsius":4}')],
      structuredContent: before(undefined, { celsius: 4 }),
    });
    expect(await call("list")).toEqual({ content: [text("[4,6,5]")], structuredContent: before(undefined, [4, 6, 5]) });
    expect(await call("text")).toEqual({ content: [text("4 degrees")] });
    const link = before<JsonObject>(text("Oslo <map://oslo>"), {
      type: "resource_link",
      uri: "map://oslo",
      name: "Oslo",
    });
    expect(await call("blocks")).toEqual({ content: [text("The map:"), link] });
    expect(await call("whole")).toEqual({
      content: [text("Cold: 4 degrees")],
      structuredContent: before(undefined, { celsius: 4 }),
    });
  });

  test("the model reads a ToolError, the client an RpcError, and only the operator the rest", async () => {
    const peer = await connect(tools.failures, { revision });
    expect((await peer.callTool("for_the_model")).result).toMatchObject({
      isError: true,
      content: [{ type: "text", text: "No city named Atlantis; list_cities names them all" }],
    });
    expect((await peer.callTool("for_the_client")).error).toEqual({
      code: 1001,
      message: "The quota of this month is used up",
      data: { resets: "2026-08-01" },
    });
    const { result } = await peer.callTool("for_nobody");
    expect(result.isError).toBe(true);
    const reference = /^The tool failed \(reference (\w{8})\)$/.exec(result.content[0].text)?.[1];
    expect(tools.reports).toContainEqual({ message: "Error: connect ECONNREFUSED 10.0.0.7:5432", reference });
    expect((await peer.callTool("no_such_tool")).error?.code).toBe(-32602);
  });

  test("work tells its progress to who asked, and logs what its client wants", async () => {
    const peer = await connect(tools.worker, { revision });
    const _meta = { progressToken: "p", [metaKey("logLevel")]: "info" };
    const { result } = await peer.callTool("copy", { files: ["a", "b"] }, { _meta });
    expect(result.content[0].text).toBe("2 copied");
    const told = peer.notifications.filter(({ method }) => method === "notifications/progress");
    expect(told.map(({ params }) => params)).toEqual([
      { progressToken: "p", progress: 1, total: 2, ...before({}, { message: "a" }) },
      { progressToken: "p", progress: 2, total: 2, ...before({}, { message: "b" }) },
    ]);
    const logged = peer.notifications.filter(({ method }) => method === "notifications/message");
    expect(logged.map(({ params }) => params?.["data"])).toEqual([{ copied: "a" }, { copied: "b" }]);
    const silent = await connect(tools.worker, { revision });
    await silent.callTool("copy", { files: ["a"] });
    expect(silent.notifications.map(({ method }) => method)).toEqual(before(["notifications/message"], []));
  });

  test("a cancelled call aborts its signal and is not answered", async () => {
    const peer = await connect(tools.worker, { revision });
    const count = tools.stopped.length;
    peer.request("tools/call", { name: "copy", arguments: { files: ["endless"] } }, "long");
    await peer.settled();
    peer.notify("notifications/cancelled", { requestId: "long" });
    await expect.poll(() => tools.stopped.slice(count)).toEqual(["endless"]);
    await peer.settled();
    expect(peer.transcript.filter((line) => line.startsWith('< {"jsonrpc":"2.0","id":"long"'))).toEqual([]);
  });

  test("resources are text or bytes, and what a template does not find does not exist", async () => {
    const peer = await connect(resources.server, { revision });
    const read = (uri: string) => peer.request("resources/read", { uri });
    expect((await read("handbook://motto")).result.contents).toEqual([
      { uri: "handbook://motto", mimeType: "text/plain", text: "Short pages" },
    ]);
    expect((await read("handbook://logo")).result.contents[0].blob).toBe(btoa("GIF89a"));
    const page = (await read("handbook://pages/intro")).result;
    expect(page.contents).toEqual([{ uri: "handbook://pages/intro", mimeType: "text/markdown", text: "# Welcome" }]);
    expect({ ttlMs: page.ttlMs, cacheScope: page.cacheScope }).toEqual(
      before({}, { ttlMs: 60_000, cacheScope: "public" }),
    );
    expect((await read("handbook://pages/none")).error?.code).toBe(before(-32002, -32602));
    const { resources: listed } = (await peer.request("resources/list")).result;
    expect(names(listed)).toEqual(expect.arrayContaining(["Motto", "Logo", "intro", "install"]));
  });

  test("a page is watched while somebody follows it, and a new one changes the list", async () => {
    const peer = await connect(resources.server, { revision });
    const uri = "handbook://pages/intro";
    await follow(peer, [uri]);
    await peer.until(() => resources.watchers(uri) === 1);
    resources.write("intro", "# Welcome");
    expect((await peer.notification("notifications/resources/updated")).params).toMatchObject({ uri });
    resources.write(`new-on-${revision}`, "# New");
    await peer.notification("notifications/resources/list_changed");
    await peer.close();
    expect(resources.watchers(uri)).toBe(0);
  });

  test("a prompt has arguments, and both they and variables of templates are completed", async () => {
    const peer = await connect(resources.server, { revision });
    const { messages } = (await peer.request("prompts/get", { name: "review", arguments: { page: "intro" } })).result;
    expect(messages[0].content.text).toBe("Give this page a friendly review.");
    expect(messages[1].content.type).toBe(before("text", "resource_link"));
    expect((await peer.request("prompts/get", { name: "review" })).error?.code).toBe(-32602);
    const complete = async (ref: JsonObject, value: string) =>
      (await peer.request("completion/complete", { ref, argument: { name: "page", value } })).result.completion.values;
    expect(await complete({ type: "ref/prompt", name: "review" }, "IN")).toEqual(["intro", "install"]);
    expect(await complete({ type: "ref/resource", uri: "handbook://pages/{page}" }, "stall")).toEqual(["install"]);
  });

  test("callers see what their view shows, and handlers find the application", async () => {
    const member = await connectAs(compose.team, { key: "m", subject: "Ada" }, revision);
    const { result } = await member.request("tools/list");
    expect(names(result.tools)).toEqual(["whoami"]);
    expect({ ttlMs: result.ttlMs, cacheScope: result.cacheScope }).toEqual(
      before({}, { ttlMs: 60_000, cacheScope: "private" }),
    );
    expect((await member.callTool("restart")).error?.message).toBe("Unknown tool: restart");
    expect((await member.callTool("whoami")).result.content[0].text).toBe("Ada");
    const admin = await connectAs(compose.team, { key: "a", scopes: ["admin"] }, revision);
    expect((await admin.callTool("restart")).result.content[0].text).toBe("restarted");
  });

  test("middleware sees every request, and may answer instead of the handler", async () => {
    const peer = await connectAs(compose.careful, { key: `k-${revision}` }, revision);
    expect((await peer.callTool("whoami")).error).toMatchObject({ code: 1003 });
    await peer.request("tools/list");
    expect(compose.journal).toContain(`k-${revision}: tools/list ended as complete`);
    expect(compose.journal).not.toContain(`k-${revision}: tools/call ended as complete`);
    const trusted = await connectAs(compose.careful, { key: `t-${revision}`, scopes: ["call"] }, revision);
    expect((await trusted.callTool("whoami")).result.content[0].text).toBe("somebody");
    expect(compose.journal).toContain(`t-${revision}: tools/call ended as complete`);
  });

  test("mounted features are behind their prefix, and keep their application and their URIs", async () => {
    const peer = await connect(compose.everything, { revision });
    expect(names((await peer.request("tools/list")).result.tools)).toEqual(["team_whoami", "weather_forecast"]);
    expect((await peer.callTool("weather_forecast", { city: "Oslo" })).result.content[0].text).toBe("Oslo: rain");
    expect((await peer.callTool("team_whoami")).result.content[0].text).toBe("somebody");
    const warnings = await peer.request("resources/read", { uri: "weather://warnings" });
    expect(warnings.result.contents[0].text).toBe("none");
  });

  test("an extension is there for clients that declare it", async () => {
    const stranger = await connect(compose.counted, { revision });
    expect((await stranger.request("tools/list")).result.tools[0]).not.toHaveProperty("com.example/calls");
    expect((await stranger.request("com.example/popularity/top")).error?.code).toBe(before(-32602, -32021));
    const capabilities = { extensions: { "com.example/popularity": {} } };
    const friend = await connect(compose.counted, { revision, capabilities });
    expect((await friend.request("tools/list")).result.tools[0]["com.example/calls"]).toBe(12);
    expect((await friend.request("com.example/popularity/top")).result.tools).toEqual(["forecast"]);
  });

  test("a live server tells its clients once that a list changed", async () => {
    const peer = await connect(liveGuide.server, { revision });
    if (isStateless(revision)) {
      peer.request("subscriptions/listen", { notifications: { toolsListChanged: true } });
      await peer.notification("notifications/subscriptions/acknowledged");
    }
    liveGuide.offer([revision]);
    liveGuide.offer([revision, "lamp"]);
    await peer.notification("notifications/tools/list_changed");
    await peer.settled();
    const heard = (method: string) => peer.notifications.filter((told) => told.method === method).length;
    expect(heard("notifications/tools/list_changed")).toBe(1);
    expect(heard("notifications/message")).toBe(before(2, 0));
    expect((await peer.callTool("blink_lamp")).result.content[0].text).toBe("blinked");
    liveGuide.offer([]);
    expect((await peer.callTool("blink_lamp")).error?.code).toBe(-32602);
  });
});

test("a plain server refuses to say that a list changed which cannot", () => {
  expect(() => resources.server.publish("tools/list_changed", {})).toThrow("serve live(server) to change it");
});
