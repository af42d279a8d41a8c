import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { metaKey, type RawPeer } from "../../kit/raw-peer.ts";
import { isStateless, type RevisionDate, stateful, stateless } from "../../kit/revisions.ts";
import type { Requirement } from "../requirement.ts";
import { answersTo, hold, mentions, received, textOf, viewsServer, wireServer } from "../wire.ts";

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const lists = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts",
};

/** All pages of a list. */
async function pagesOf(peer: RawPeer, method: string): Promise<JsonObject[]> {
  const pages: JsonObject[] = [];
  for (let cursor: string | undefined; ; ) {
    const { result } = await peer.request(method, cursor === undefined ? {} : { cursor });
    pages.push(result);
    if (result.nextCursor === undefined) return pages;
    if (pages.length > 100) throw new Error(`${method} has no end`);
    cursor = result.nextCursor;
  }
}

function logged(peer: RawPeer): (JsonObject | undefined)[] {
  return peer.notifications.filter(({ method }) => method === "notifications/message").map(({ params }) => params);
}

function progressed(peer: RawPeer, token: string | number): (JsonObject | undefined)[] {
  const told = peer.notifications
    .filter(({ method }) => method === "notifications/progress")
    .map(({ params }) => params);
  return told.filter((params) => params?.["progressToken"] === token);
}

/** Asks for log messages in the way of the revision: once, or with each request. */
async function setLevel(peer: RawPeer, revision: RevisionDate, level: string): Promise<JsonObject> {
  if (isStateless(revision)) return { _meta: { [metaKey("logLevel")]: level } };
  expect((await peer.request("logging/setLevel", { level })).result).toEqual({});
  return {};
}

export const utilities: readonly Requirement[] = [
  {
    row: "J1",
    says: "the pages of a list hold everything once, in one order",
    async test(open) {
      const peer = await open();
      const pages = await pagesOf(peer, "tools/list");
      expect(pages.length).toBeGreaterThan(2);
      const names = pages.flatMap((page) => (page["tools"] as { name: string }[]).map(({ name }) => name));
      expect(new Set(names).size).toBe(names.length);
      expect(names).toEqual([...names].sort());
      expect(names).toContain("echo");
      for (const page of pages.slice(0, -1)) expect(page["nextCursor"]).toBeTypeOf("string");
      expect(pages.at(-1)).not.toHaveProperty("nextCursor");
      const again = await pagesOf(peer, "tools/list");
      expect(again).toEqual(pages);
      for (const [method, member] of Object.entries(lists))
        expect((await pagesOf(peer, method))[0]?.[member], method).toBeInstanceOf(Array);
    },
  },
  {
    row: "J1",
    says: "a cursor that was not given is refused, also an empty one",
    async test(open) {
      const peer = await open();
      const { result } = await peer.request("tools/list");
      for (const cursor of [
        "garbage",
        "",
        "0",
        "10",
        `${result.nextCursor}x`,
        btoa("[]"),
        btoa("{}"),
        btoa('["",5]'),
        "é",
        " ",
      ]) {
        for (const method of Object.keys(lists)) {
          const { error } = await peer.request(method, { cursor });
          expect(error?.code, `${method} ${cursor}`).toBe(-32602);
          expect(error?.message).toContain("cursor");
        }
      }
      for (const cursor of [0, null, {}, ["x"], true])
        expect((await peer.request("tools/list", { cursor })).error?.code).toBe(-32602);
    },
  },
  {
    row: "J2",
    says: "a cursor goes on where it was given, on another connection too",
    async test(open) {
      const [one, other] = [await open(), await open()];
      const { result } = await one.request("tools/list");
      const cursor = result.nextCursor;
      expect((await other.request("tools/list", { cursor })).result.tools).toEqual(
        (await one.request("tools/list", { cursor })).result.tools,
      );
    },
  },
  {
    row: "J3",
    says: "tokens come back with their type, each with its own call, and without one nothing is told",
    async test(open) {
      const peer = await open();
      const tokens = ["text", "7", 7, 0, ""];
      await Promise.all(
        tokens.map((progressToken, index) =>
          peer.callTool("progress", { steps: index + 1 }, { _meta: { progressToken, "example.com/kept": 1 } }),
        ),
      );
      for (const [index, token] of tokens.entries())
        expect(progressed(peer, token), String(token)).toHaveLength(index + 1);
      const before = peer.notifications.length;
      await peer.callTool("progress", { steps: 3 });
      await peer.callTool("progress", { steps: 3 }, { _meta: { progressToken: { no: "token" } } });
      await peer.callTool("progress", { steps: 3 }, { _meta: { progressToken: null } });
      await peer.settled();
      expect(peer.notifications).toHaveLength(before);
    },
  },
  {
    row: "J4",
    says: "values grow, fractions pass, and all is told before the result and nothing after",
    async test(open, { revision }) {
      const peer = await open();
      await peer.request(
        "tools/call",
        { name: "progress", arguments: { steps: 3 }, _meta: { progressToken: "p" } },
        "call",
      );
      await peer.callTool("wait", { ms: 10 });
      const told = [0.5, 1, 1.5].map((progress, index) => ({
        progressToken: "p",
        progress,
        total: 1.5,
        ...(revision !== "2024-11-05" && { message: `step ${index + 1}` }),
      }));
      expect(progressed(peer, "p")).toEqual(told);
      const messages = received(peer);
      const result = messages.findIndex(({ id, method }) => id === "call" && method === undefined);
      const last = messages.findLastIndex(({ method }) => method === "notifications/progress");
      expect(last).toBeLessThan(result);
    },
  },
  {
    row: "J5",
    says: "cancelling aborts the handler with the reason, and no answer comes",
    async test(open) {
      const peer = await open();
      await peer.callTool("aborted");
      peer.request("tools/call", { name: "wait", arguments: { ms: 60_000 } }, "long");
      await peer.settled();
      peer.notify("notifications/cancelled", { requestId: "long", reason: "the user left" });
      expect(JSON.parse(textOf(await peer.callTool("aborted")))).toEqual(["the user left"]);
      expect(answersTo(peer, "long")).toBe(0);
      expect(
        (await peer.request("tools/call", { name: "echo", arguments: { message: "free" } }, "long")).result.content[0]
          .text,
      ).toBe("free");
    },
  },
  {
    row: "J5",
    says: "a question of a cancelled call is taken back",
    on: stateful,
    async test(open) {
      const peer = await open({ capabilities: { roots: {} } });
      peer.request("tools/call", { name: "ask_roots" }, "asking");
      const question = await peer.until(({ questions }) => questions[0]);
      peer.notify("notifications/cancelled", { requestId: "asking" });
      const { params } = await peer.notification("notifications/cancelled");
      expect(params).toMatchObject({ requestId: question.id });
      peer.send({ jsonrpc: "2.0", id: question.id, result: { roots: [] } });
      await peer.settled();
      expect(answersTo(peer, "asking")).toBe(0);
    },
  },
  {
    row: "J6",
    says: "a ping is answered with an empty result, also while calls run",
    on: stateful,
    async test(open) {
      const peer = await open({ server: wireServer });
      await hold(peer, "k", "held");
      expect(await peer.request("ping", {}, "p")).toEqual({ jsonrpc: "2.0", id: "p", result: {} });
      expect((await peer.requestExactly({ jsonrpc: "2.0", id: "q", method: "ping" })).result).toEqual({});
      expect((await peer.request("ping", { _meta: { "example.com/x": 1 } })).result).toEqual({});
      await peer.callTool("release", { keys: ["k"] });
    },
  },
  {
    row: "J6",
    says: "there are no pings",
    on: stateless,
    async test(open) {
      const peer = await open();
      expect((await peer.request("ping")).error?.code).toBe(-32601);
    },
  },
  {
    row: "J7",
    says: "all eight levels pass, with their data and logger",
    async test(open, { revision }) {
      const peer = await open();
      const more = await setLevel(peer, revision, "debug");
      await peer.callTool("logs", {}, more);
      expect(logged(peer)).toEqual(levels.map((level) => ({ level, logger: "full", data: { level } })));
    },
  },
  {
    row: "J8",
    says: "messages below the level are left out, and a level that does not exist is refused",
    async test(open, { revision }) {
      const peer = await open();
      for (const [index, level] of levels.entries()) {
        peer.notifications.length = 0;
        await peer.callTool("logs", {}, await setLevel(peer, revision, level));
        expect(
          logged(peer).map((params) => params?.["level"]),
          level,
        ).toEqual(levels.slice(index));
      }
      peer.notifications.length = 0;
      for (const level of ["bogus", "", "DEBUG", 3, null]) {
        const { error } = isStateless(revision)
          ? await peer.callTool("logs", {}, { _meta: { [metaKey("logLevel")]: level } })
          : await peer.request("logging/setLevel", { level });
        expect(error?.code, String(level)).toBe(-32602);
        expect(error?.message).not.toContain("\n");
      }
      expect(logged(peer)).toEqual([]);
    },
  },
  {
    row: "J8",
    says: "a session that set no level hears everything, and a refused level changes nothing",
    on: stateful,
    async test(open) {
      const peer = await open();
      await peer.callTool("logs");
      expect(logged(peer)).toHaveLength(8);
      await peer.request("logging/setLevel", { level: "alert" });
      await peer.request("logging/setLevel", { level: "bogus" });
      peer.notifications.length = 0;
      await peer.callTool("logs");
      expect(logged(peer)).toHaveLength(2);
      const other = await open();
      await other.callTool("logs");
      expect(logged(other)).toHaveLength(8);
    },
  },
  {
    row: "J8",
    says: "a request that names no level hears nothing",
    on: stateless,
    async test(open) {
      const peer = await open();
      await peer.callTool("logs");
      await peer.settled();
      expect(logged(peer)).toEqual([]);
    },
  },
  {
    row: "J9",
    says: "what is logged outside a request reaches the connection, by its level",
    on: stateful,
    async test(open) {
      const peer = await open();
      await peer.callTool("change");
      await peer.settled();
      expect(logged(peer)).toEqual([{ level: "error", data: "outside" }]);
      await peer.request("logging/setLevel", { level: "critical" });
      await peer.callTool("change");
      await peer.settled();
      expect(logged(peer)).toHaveLength(1);
    },
  },
  {
    row: "J9",
    says: "log messages belong to the request that wants them, never to a stream of changes",
    on: stateless,
    async test(open) {
      const peer = await open({ meta: { [metaKey("logLevel")]: "debug" } });
      peer.request("subscriptions/listen", { notifications: { toolsListChanged: true } }, "listen");
      await peer.notification("notifications/subscriptions/acknowledged");
      await peer.callTool("change");
      await peer.notification("notifications/tools/list_changed");
      await peer.settled();
      expect(logged(peer)).toEqual([]);
      await peer.callTool("logs");
      expect(logged(peer)).toHaveLength(8);
      for (const params of logged(peer)) expect(mentions(params, metaKey("subscriptionId"))).toBe(false);
    },
  },
  {
    row: "J10",
    says: "what is thrown inside is told to nobody but the operator",
    async test(open, { revision }) {
      const peer = await open({
        server: wireServer,
        ...(isStateless(revision) && { meta: { [metaKey("logLevel")]: "debug" } }),
      });
      const { error } = await peer.request("resources/read", { uri: "secret://a" });
      expect(error).toEqual({
        code: -32603,
        message: expect.stringMatching(/^Internal error \(reference [0-9a-f]+\)$/),
      });
      const full = await open();
      const { result } = await full.callTool("throws");
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^The tool failed \(reference [0-9a-f]+\)$/) }],
      });
      for (const line of [...peer.transcript, ...full.transcript]) expect(line).not.toContain("hunter2");
    },
  },
  {
    row: "J11",
    says: "six results say how long they hold, all others and older revisions do not",
    async test(open, { revision }) {
      const peer = await open();
      const cacheable: [string, JsonObject][] = [
        ...Object.keys(lists).map((method): [string, JsonObject] => [method, {}]),
        ["resources/read", { uri: "note://a" }],
        ["resources/read", { uri: "note://b" }],
        ...(isStateless(revision) ? [["server/discover", {}] as [string, JsonObject]] : []),
      ];
      for (const [method, params] of cacheable) {
        const { result } = await peer.request(method, params);
        if (!isStateless(revision)) {
          expect(mentions(result, "ttlMs") || mentions(result, "cacheScope"), method).toBe(false);
          continue;
        }
        expect(Number.isInteger(result.ttlMs) && result.ttlMs >= 0, method).toBe(true);
        expect(["public", "private"], method).toContain(result.cacheScope);
      }
      if (isStateless(revision)) {
        expect((await peer.request("resources/read", { uri: "note://a" })).result).toMatchObject({
          ttlMs: 5_000,
          cacheScope: "public",
        });
        expect((await peer.request("resources/read", { uri: "note://b" })).result).toMatchObject({
          ttlMs: 0,
          cacheScope: "private",
        });
      }
      for (const [method, params] of [
        ["tools/call", { name: "echo", arguments: { message: "x" } }],
        ["prompts/get", { name: "greet", arguments: { who: "Ada" } }],
        ["completion/complete", { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "who", value: "" } }],
      ] as const) {
        const { result } = await peer.request(method, params);
        expect(result).toBeDefined();
        expect(mentions(result, "ttlMs"), method).toBe(false);
      }
    },
  },
  {
    row: "J12",
    says: "a result that took an answer is not to be kept, whatever the resource allows",
    async test(open) {
      const peer = await open({ server: wireServer, capabilities: { elicitation: {} } });
      const first = await peer.request("resources/read", { uri: "asks://a" });
      expect(first.result.resultType).toBe("input_required");
      expect(first.result).not.toHaveProperty("ttlMs");
      const { requestState } = first.result;
      const second = await peer.request("resources/read", {
        uri: "asks://a",
        inputResponses: { read: { action: "accept" } },
        requestState,
      });
      expect(second.result).toMatchObject({
        resultType: "complete",
        contents: [{ text: "true" }],
        ttlMs: 0,
        cacheScope: "private",
      });
    },
  },
  {
    row: "J13",
    says: "a list that depends on the caller is private, although the server allows sharing",
    async test(open) {
      const peer = await open({ server: viewsServer });
      const { result } = await peer.request("tools/list");
      expect(result.tools.map(({ name }: { name: string }) => name)).toEqual(["mine"]);
      expect(result).toMatchObject({ ttlMs: 60_000, cacheScope: "private" });
    },
  },
  {
    row: "J15",
    says: "every page has the scope of the first",
    async test(open) {
      const peer = await open({ server: wireServer });
      const pages = await pagesOf(peer, "tools/list");
      expect(pages.length).toBeGreaterThan(3);
      for (const page of pages) expect(page).toMatchObject({ ttlMs: 1_000, cacheScope: "public" });
    },
  },
  {
    row: "X-R08",
    says: "0 and the empty string can be cancelled, and only what was asked under that very id",
    async test(open) {
      const peer = await open({ server: wireServer });
      for (const [id, other] of [
        [0, "0"],
        ["", 0],
        ["7", 7],
      ] as const) {
        await hold(peer, `k${typeof id}${id}`, id);
        peer.notify("notifications/cancelled", { requestId: other });
        await peer.settled();
        expect(JSON.parse(textOf(await peer.callTool("aborts")))).not.toHaveProperty(`k${typeof id}${id}`);
        peer.notify("notifications/cancelled", { requestId: id });
        peer.notify("notifications/cancelled", { requestId: id });
        expect(JSON.parse(textOf(await peer.callTool("aborts")))).toHaveProperty(`k${typeof id}${id}`, 1);
        expect(answersTo(peer, id)).toBe(0);
      }
    },
  },
  {
    row: "X-R08",
    says: "cancelling what is answered or unknown is ignored",
    async test(open) {
      const peer = await open({ server: wireServer });
      await peer.request("tools/call", { name: "any" }, "done");
      const before = received(peer).length;
      for (const params of [
        { requestId: "done" },
        { requestId: "done", reason: 5 },
        { requestId: "nobody" },
        { requestId: null },
        {},
      ]) {
        peer.notify("notifications/cancelled", params);
      }
      await peer.settled();
      expect(received(peer)).toHaveLength(before + 1);
      expect(JSON.parse(textOf(await peer.callTool("aborts")))).toEqual({});
    },
  },
  {
    row: "X-T28",
    says: "a handshake is answered although its sender cancels it",
    async test(open, { revision }) {
      const peer = await open({ handshake: false });
      const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: "x", version: "1" } };
      const response = peer.request("initialize", params, "init");
      peer.notify("notifications/cancelled", { requestId: "init" });
      expect((await response).result.protocolVersion).toBe(revision);
      expect((await peer.request("tools/list")).result.tools).toBeDefined();
    },
  },
];
