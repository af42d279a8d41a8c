import { Agent, request as openRequest } from "node:http";
import { createServer } from "portolan/server";
import { expect } from "vitest";
import createFullServer from "../../../kit/full-server.mjs";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import { createFixture } from "../../fixture.ts";
import { Answer, plainHeaders, send, start, toInitialize, toNotification, toRequest } from "../../kit.ts";
import { begin, open, SessionPeer, StatelessPeer, toHeaders, toMeta } from "../../peer.ts";
import { byUser } from "../../users.ts";
import type { HttpRequirement } from "../requirement.ts";

const elicitation = { elicitation: {} };

export const base: readonly HttpRequirement[] = [
  {
    row: "A9",
    says: "additional members do not change the kind of a message",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      const request = {
        ...toRequest("tools/list", isStateless(revision) ? { _meta: toMeta() } : {}, 3),
        code: -32700,
        why: "x",
      };
      const answer = await send(url, {
        headers: peer instanceof SessionPeer ? peer.headers : toHeaders("tools/list"),
        body: request,
      });
      expect([answer.status, (await answer.json()).id]).toEqual([200, 3]);
    },
  },
  {
    row: "A2",
    says: "string and integer ids are returned unchanged; other ids are refused and not echoed",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      for (const id of [0, -1, Number.MAX_SAFE_INTEGER, "", "0", "grüße €"]) {
        const answer = await peer.call("echo", { text: "hi" }, id);
        expect((await answer.json()).id).toBe(id);
      }
      const headers = peer instanceof SessionPeer ? peer.headers : toHeaders("tools/list");
      for (const id of [null, 1.5, true, {}, [1]]) {
        const answer = await send(url, { headers, body: { ...toRequest("tools/list", { _meta: toMeta() }), id } });
        const { error, ...rest } = await answer.json();
        expect([id, answer.status, error?.code, "id" in rest]).toEqual([id, 400, -32600, false]);
      }
    },
  },
  {
    row: "A4",
    says: "each response has jsonrpc, the id, and either a result or an error",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      const bodies = [
        await (await peer.call("echo", { text: "hi" }, "x")).json(),
        await (await peer.call("fail", {}, "x")).json(),
        await (await peer.call("nonesuch", {}, "x")).json(),
        await (await peer.request("no/such/method", {}, "x")).json(),
        (await (await peer.call("progress", {}, "x")).messages()).at(-1) ?? {},
      ];
      for (const body of bodies) {
        expect(body).toMatchObject({ jsonrpc: "2.0", id: "x" });
        expect(Object.keys(body).sort()).toEqual(["id", "jsonrpc", "result" in body ? "result" : "error"].sort());
      }
      expect(bodies.map((body) => "error" in body)).toEqual([false, false, true, true, false]);
    },
  },
  {
    row: "A9",
    says: "Unicode text is returned unchanged, as JSON and as events",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      const text = "héllo ✓ 漢字 😀 \u2028";
      expect(await peer.textOf("echo", { text })).toBe(text);
      const echo = await (await peer.call("echo", { text }, text)).json();
      const events = await (await peer.call("progress", {}, text)).messages();
      expect([echo.id, events.at(-1)?.id]).toEqual([text, text]);
    },
  },
  {
    row: "A9",
    says: "invalid UTF-8 is refused, not replaced",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      const headers = peer instanceof SessionPeer ? peer.headers : toHeaders("tools/call", "echo");
      const body = JSON.stringify(toRequest("tools/call", { name: "echo", arguments: { text: "?" }, _meta: toMeta() }));
      for (const bytes of ["ff", "c328", "eda080", "f08080"]) {
        const [before, after] = body.split("?").map((half) => Buffer.from(half));
        const answer = await send(url, { headers, body: Buffer.concat([before!, Buffer.from(bytes, "hex"), after!]) });
        expect([bytes, answer.status]).toEqual([bytes, 400]);
        expect((await answer.json()).error?.message).toContain("UTF-8");
      }
    },
  },
  {
    row: "A18",
    says: "capabilities, log level and identity apply to one request only, also on a shared connection",
    adapter: "node",
    async test() {
      const { url } = await start(createFullServer());
      const post = posterOn(new Agent({ keepAlive: true, maxSockets: 1 }), url);
      const full = toMeta({ [metaKey("logLevel")]: "debug" }, elicitation);
      const { [metaKey("clientInfo")]: _, ...minimal } = toMeta();
      const asked = await (await post("ask_name", full)).response();
      expect(asked.result).toMatchObject({ resultType: "input_required" });
      const refused = await post("ask_name", minimal);
      expect([refused.status, (await refused.json()).error?.code]).toEqual([400, -32021]);
      expect((await (await post("logs", full)).messages()).length).toBeGreaterThan(1);
      const silent = await post("logs", minimal);
      expect(silent.isStream).toBe(false);
      await silent.text();
      const whoIs = async (meta: object) =>
        JSON.parse((await (await post("who", meta)).response()).result.content[0].text);
      expect(await whoIs(full)).toMatchObject({ client: { name: "raw-http" }, capabilities: elicitation });
      const unidentified = await whoIs(minimal);
      expect(unidentified).toMatchObject({ capabilities: {} });
      expect(unidentified).not.toHaveProperty("client");
    },
  },
  {
    row: "B4",
    says: "a supported version is echoed, any other gets the newest, and the session uses that version",
    async test(revision) {
      const { url } = await start(createFixture().server);
      for (const [asked, agreed] of [
        [revision, revision],
        ["1999-01-01", "2025-11-25"],
      ] as const) {
        const answer = await send(url, { body: toInitialize(asked) });
        expect((await answer.json()).result).toMatchObject({ protocolVersion: agreed });
        const headers = { ...plainHeaders, "mcp-session-id": String(answer.headers["mcp-session-id"]) };
        const call = toRequest("tools/call", { name: "whoami", arguments: {} });
        const said = await (await send(url, { headers, body: call })).json();
        expect(said.result.content).toMatchObject([{ text: `anonymous ${agreed}` }]);
      }
    },
  },
  {
    row: "B5",
    says: "a ping is answered before the handshake is over, and the server sends nothing by itself",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const begun = await send(url, { body: toInitialize(revision) });
      await begun.text();
      const headers = { ...plainHeaders, "mcp-session-id": String(begun.headers["mcp-session-id"]) };
      const stream = await send(url, { method: "GET", headers });
      const pinged = await send(url, { headers, body: toRequest("ping") });
      expect(await pinged.json()).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
      const initialized = await send(url, { headers, body: toNotification("notifications/initialized") });
      expect(initialized.status).toBe(202);
      await send(url, { method: "DELETE", headers });
      expect(await stream.messages()).toEqual([]);
    },
  },
  {
    row: "B15",
    says: "closing the server ends its streams and refuses connections",
    adapter: "node",
    async test(revision) {
      const { url, close } = await start(createFixture().server);
      const peer = await open(url, revision);
      const filter = { notifications: { toolsListChanged: true } };
      const stream =
        peer instanceof SessionPeer ? await peer.get() : await peer.request("subscriptions/listen", filter);
      await close();
      await stream.messages();
      await expect(peer.call("echo", { text: "hi" })).rejects.toThrow("ECONNREFUSED");
    },
  },
  {
    row: "B16",
    says: "a session at the same endpoint does not affect stateless requests",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = new StatelessPeer(url);
      expect(isStateless(revision)).toBe(true);
      const before = await (await peer.request("tools/list")).json();
      const session = await begin(url, "2025-06-18", { capabilities: elicitation });
      expect(await session.textOf("whoami")).toBe("anonymous 2025-06-18");
      const answer = await peer.request("tools/list", {}, 1, { "mcp-session-id": session.id });
      expect(answer.headers["mcp-session-id"]).toBeUndefined();
      expect(await answer.json()).toEqual(before);
      expect((await peer.call("ask")).status).toBe(400);
      await session.delete();
      expect(await peer.textOf("whoami")).toBe(`anonymous ${revision}`);
    },
  },
  {
    row: "J13",
    says: "a list that depends on the caller is private, even if the server's cache scope is public",
    async test() {
      const options = {
        view: ({ key }: { key: string }) => key,
        cache: { ttlMs: 60_000, cacheScope: "public" as const },
      };
      const server = createServer({ name: "views", version: "1.0.0" }, options)
        .tool("mine", { visibleTo: (view) => view === "ada", run: () => "mine" })
        .tool("theirs", { visibleTo: (view) => view === "alan", run: () => "theirs" });
      const { url } = await start(server, { verify: byUser });
      for (const [user, tool, other] of [
        ["ada", "mine", "theirs"],
        ["alan", "theirs", "mine"],
      ] as const) {
        const peer = new StatelessPeer(url, { headers: { authorization: user } });
        const { result } = await (await peer.request("tools/list")).json();
        expect(result).toMatchObject({ cacheScope: "private", tools: [{ name: tool }] });
        expect(result.tools).toHaveLength(1);
        expect((await (await peer.call(other)).json()).error).toMatchObject({ code: -32602 });
      }
    },
  },
  {
    row: "XI4",
    says: "no progress message, subscription id or error code of a later revision",
    async test(revision) {
      const { url } = await start(createFullServer());
      const peer = await begin(url, revision);
      const stream = await peer.get();
      await (await peer.request("resources/subscribe", { uri: "note://a" })).text();
      const [progress] = await (await peer.call("progress", { steps: 1 })).messages();
      expect(Object.hasOwn(progress?.params ?? {}, "message")).toBe(revision >= "2025-03-26");
      await (await peer.call("change")).text();
      const updated = await stream.message();
      expect(updated).toEqual({
        jsonrpc: "2.0",
        method: "notifications/resources/updated",
        params: { uri: "note://a" },
      });
      const missing = await (await peer.request("resources/read", { uri: "note://missing" })).json();
      expect(missing.error?.code).toBe(-32002);
      const refused = await (await peer.call("ask_visit")).json();
      expect(refused.error?.code ?? -32602).toBe(-32602);
      expect(JSON.stringify([progress, updated, missing, refused])).not.toContain("io.modelcontextprotocol/");
    },
  },
];

/** Calls tools over one connection, one after the other. */
function posterOn(agent: Agent, url: string) {
  return (name: string, _meta: object) =>
    new Promise<Answer>((resolve, reject) => {
      const request = openRequest(url, { method: "POST", agent });
      for (const [header, value] of Object.entries(toHeaders("tools/call", name))) {
        if (value !== undefined) request.setHeader(header, value as string);
      }
      request.on("response", (response) => resolve(new Answer(response)));
      request.on("error", reject);
      request.end(JSON.stringify(toRequest("tools/call", { name, arguments: {}, _meta: { ..._meta } })));
    });
}
