import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { metaKey } from "../../kit/raw-peer.ts";
import { between, isStateless, type RevisionDate, stateful, stateless } from "../../kit/revisions.ts";
import type { Requirement } from "../requirement.ts";
import { answersTo, busyServer, childOf, mentions, minimalServer, received, textOf, wireServer } from "../wire.ts";

const newestHandshake = "2025-11-25";
const clientInfo = { name: "raw-peer", version: "1.0.0" };

/** Metadata of a stateless request, written out for peers that speak another revision. */
const statelessMeta: JsonObject = {
  [metaKey("protocolVersion")]: "2026-07-28",
  [metaKey("clientCapabilities")]: {},
  [metaKey("clientInfo")]: { name: "stateless", version: "1.0.0" },
};

function since(revision: RevisionDate, first: RevisionDate): boolean {
  return between(first, "2026-07-28").includes(revision);
}

export const lifecycle: readonly Requirement[] = [
  {
    row: "B1",
    says: "requests before the handshake are refused, requests after it are served",
    async test(open, { revision }) {
      const peer = await open({ handshake: false });
      const early = await peer.request("tools/list");
      expect(early.error).toMatchObject({ code: -32602, data: { supported: ["2026-07-28"] } });
      expect(early.error?.message).toContain("initialize");
      const { result } = await peer.request("initialize", { protocolVersion: revision, capabilities: {}, clientInfo });
      expect(result.protocolVersion).toBe(revision);
      expect(Object.keys(result).sort()).toEqual(["capabilities", "instructions", "protocolVersion", "serverInfo"]);
      peer.notify("notifications/initialized");
      expect((await peer.request("tools/list")).result.tools.length).toBeGreaterThan(0);
    },
  },
  {
    row: "B2",
    says: "handlers see the client as it described itself",
    async test(open, { revision }) {
      const info = {
        ...clientInfo,
        title: "Raw",
        description: "A peer",
        websiteUrl: "https://example.com",
        icons: [{ src: "https://example.com/i.png" }],
      };
      const capabilities = { roots: {}, experimental: { "example.com/x": { deep: [1] } } };
      const peer = await open({ clientInfo: info, capabilities });
      const seen = JSON.parse(textOf(await peer.callTool("who")));
      expect(seen).toMatchObject({ client: info, capabilities, version: revision });
    },
  },
  {
    row: "B2",
    says: "a handshake that says too little is refused and leaves no session behind",
    on: stateful,
    async test(open, { revision }) {
      const peer = await open({ handshake: false });
      const whole = { protocolVersion: revision, capabilities: {}, clientInfo };
      for (const wrong of [
        {},
        { ...whole, protocolVersion: undefined },
        { ...whole, protocolVersion: 5 },
        { ...whole, capabilities: undefined },
        { ...whole, capabilities: [] },
        { ...whole, clientInfo: undefined },
        { ...whole, clientInfo: { name: "x" } },
        { ...whole, clientInfo: { name: "x", version: 1 } },
      ]) {
        const { error } = await peer.request("initialize", JSON.parse(JSON.stringify(wrong)));
        expect(error?.code, JSON.stringify(wrong)).toBe(-32602);
      }
      expect((await peer.request("tools/list")).error?.code).toBe(-32602);
      expect((await peer.request("initialize", whole)).result.protocolVersion).toBe(revision);
    },
  },
  {
    row: "B3",
    says: "the instructions are in the first answer",
    async test(open, { revision }) {
      const peer = await open();
      const response = isStateless(revision) ? await peer.request("server/discover") : peer.initialized;
      expect(response?.result.instructions).toBe("Use with care.");
    },
  },
  {
    row: "B4",
    says: "a supported version is echoed, any other is answered with the newest",
    on: stateful,
    async test(open, { revision }) {
      const peer = await open();
      expect(peer.initialized?.result.protocolVersion).toBe(revision);
      for (const protocolVersion of ["1999-01-01", "2099-01-01", "", "latest", "2026-07-28"]) {
        const { result } = await peer.request("initialize", { protocolVersion, capabilities: {}, clientInfo });
        expect(result.protocolVersion, protocolVersion).toBe(newestHandshake);
      }
    },
  },
  {
    row: "B4",
    says: "an unsupported version is refused with those that are supported",
    on: stateless,
    async test(open) {
      const peer = await open();
      for (const requested of ["2099-01-01", "2025-11-25", "2024-11-05", ""]) {
        const { error } = await peer.request("tools/list", { _meta: { [metaKey("protocolVersion")]: requested } });
        expect(error).toMatchObject({ code: -32022, data: { requested, supported: ["2026-07-28"] } });
      }
      const unknown = await peer.request("no/such/method", {
        _meta: { [metaKey("protocolVersion")]: "2099-01-01", [metaKey("clientCapabilities")]: 5 },
      });
      expect(unknown.error?.code).toBe(-32022);
      expect((await peer.request("tools/list")).result.tools).toBeDefined();
    },
  },
  {
    row: "B5",
    says: "pings are answered at any time, and the server says nothing by itself",
    async test(open, { revision }) {
      const peer = await open({ handshake: false, capabilities: { roots: {}, sampling: {} } });
      expect((await peer.request("ping")).result).toEqual({});
      await peer.request("initialize", {
        protocolVersion: revision,
        capabilities: { roots: {}, sampling: {} },
        clientInfo,
      });
      expect((await peer.request("ping")).result).toEqual({});
      await peer.settled();
      expect(peer.questions).toEqual([]);
      expect(peer.notifications).toEqual([]);
    },
  },
  {
    row: "B6",
    says: "methods of other revisions do not exist, and undeclared capabilities are not used",
    async test(open, { revision }) {
      const peer = await open();
      const strangers = isStateless(revision)
        ? ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list"]
        : ["server/discover", "subscriptions/listen", "tasks/list", "roots/list", "sampling/createMessage"];
      for (const method of strangers) {
        const params = {
          level: "info",
          uri: "note://a",
          notifications: {},
          protocolVersion: revision,
          capabilities: {},
          clientInfo,
        };
        expect((await peer.request(method, params)).error?.code, method).toBe(-32601);
      }
      for (const tool of ["ask_roots", "ask_name", "ask_model", "ask_visit"]) {
        const { error } = await peer.callTool(tool);
        expect(error?.code, tool).toBe(isStateless(revision) ? -32021 : -32602);
      }
      expect(peer.questions).toEqual([]);
    },
  },
  {
    row: "B7",
    says: "a request without version or capabilities is refused, without identity it is served",
    async test(open) {
      const peer = await open();
      const whole = peer.meta();
      const send = (_meta: unknown, id: string) =>
        peer.requestExactly({
          jsonrpc: "2.0",
          id,
          method: "tools/list",
          params: JSON.parse(JSON.stringify({ _meta })),
        });
      const without = (name: string, value?: unknown) => ({ ...whole, [metaKey(name)]: value });
      expect((await send(undefined, "a")).error?.code).toBe(-32602);
      expect((await send({}, "b")).error?.code).toBe(-32602);
      expect((await send(without("protocolVersion"), "c")).error?.code).toBe(-32602);
      expect((await send(without("clientCapabilities"), "d")).error?.code).toBe(-32602);
      expect((await send(without("clientCapabilities", []), "e")).error?.code).toBe(-32602);
      expect((await send(without("clientCapabilities", "x"), "f")).error?.code).toBe(-32602);
      expect((await peer.requestExactly({ jsonrpc: "2.0", id: "g", method: "no/such/method" })).error?.code).toBe(
        -32602,
      );
      expect((await send(without("clientInfo"), "h")).result.tools).toBeDefined();
      expect((await send(without("clientInfo", {}), "i")).result.tools).toBeDefined();
    },
  },
  {
    row: "B8",
    says: "the server names itself with the members of the revision, where the revision has the place",
    async test(open, { revision }) {
      const peer = await open();
      const expected = {
        name: "full",
        version: "1.2.3",
        ...(since(revision, "2025-06-18") && { title: "Full" }),
        ...(since(revision, "2025-11-25") && {
          description: "One of everything",
          websiteUrl: "https://example.com",
          icons: [{ src: "https://example.com/icon.png", mimeType: "image/png", sizes: ["48x48"] }],
        }),
      };
      if (!isStateless(revision)) {
        expect(peer.initialized?.result.serverInfo).toEqual(expected);
        const { result } = await peer.request("tools/list");
        expect(mentions(result, metaKey("serverInfo"))).toBe(false);
        return;
      }
      const discovered = await peer.request("server/discover");
      expect(discovered.result._meta[metaKey("serverInfo")]).toEqual(expected);
      expect(discovered.result).not.toHaveProperty("serverInfo");
      for (const [method, params] of [
        ["tools/list", {}],
        ["tools/call", { name: "mixed" }],
        ["resources/read", { uri: "note://a" }],
      ] as const) {
        const { result } = await peer.request(method, params);
        expect(result._meta[metaKey("serverInfo")]).toMatchObject({ name: "full", version: "1.2.3" });
      }
    },
  },
  {
    row: "B9",
    says: "clients of any name get the same",
    async test(open) {
      const one = await open();
      const other = await open({ clientInfo: { name: "admin", version: "99.0.0-root" } });
      for (const method of ["tools/list", "resources/list", "prompts/list"]) {
        expect((await other.request(method)).result).toEqual((await one.request(method)).result);
      }
    },
  },
  {
    row: "B10",
    says: "discovery tells versions, capabilities and how long that holds",
    async test(open) {
      const peer = await open();
      const { result } = await peer.request("server/discover");
      expect(result).toEqual({
        resultType: "complete",
        supportedVersions: ["2026-07-28"],
        capabilities: {
          tools: { listChanged: true },
          prompts: { listChanged: true },
          resources: { subscribe: true, listChanged: true },
          completions: {},
          logging: {},
        },
        instructions: "Use with care.",
        ttlMs: expect.any(Number),
        cacheScope: expect.stringMatching(/^(public|private)$/),
        _meta: expect.any(Object),
      });
      expect(result.ttlMs).toBeGreaterThanOrEqual(0);
    },
  },
  {
    row: "B11",
    says: "a server that offers nothing declares nothing and knows no method",
    async test(open, { revision }) {
      const peer = await open({ server: minimalServer });
      const declared = isStateless(revision) ? await peer.request("server/discover") : peer.initialized;
      expect(declared?.result.capabilities).toEqual({});
      expect(declared?.result).not.toHaveProperty("instructions");
      for (const method of [
        ...[
          "tools/list",
          "tools/call",
          "resources/list",
          "resources/templates/list",
          "resources/read",
          "resources/subscribe",
        ],
        ...["prompts/list", "prompts/get", "completion/complete", "logging/setLevel"],
      ]) {
        expect((await peer.request(method)).error?.code, method).toBe(-32601);
        expect(
          (await peer.request(method, { name: "x", uri: "note://a", level: "bogus", cursor: 5 })).error?.code,
          method,
        ).toBe(-32601);
      }
    },
  },
  {
    row: "B11",
    says: "capabilities are those of the revision and of what was defined",
    async test(open, { revision }) {
      const peer = await open();
      const declared = isStateless(revision) ? await peer.request("server/discover") : peer.initialized;
      expect(declared?.result.capabilities).toEqual({
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        ...(since(revision, "2025-03-26") && { completions: {} }),
        logging: {},
      });
    },
  },
  {
    row: "B12",
    says: "an extension is announced, and its methods are for those who declare it",
    async test(open, { revision }) {
      const id = "com.example/extra";
      const stranger = await open({ server: wireServer });
      const declared = isStateless(revision) ? await stranger.request("server/discover") : stranger.initialized;
      expect(declared?.result.capabilities.extensions).toEqual({ [id]: { depth: 3 } });
      const refused = await stranger.request(id);
      expect(refused.error?.code).toBe(isStateless(revision) ? -32021 : -32602);
      expect(refused.error?.data).toEqual({ requiredCapabilities: { extensions: { [id]: {} } } });
      const friend = await open({ server: wireServer, capabilities: { extensions: { [id]: {} } } });
      expect((await friend.request(id)).result).toMatchObject({ extra: true });
      for (const name of ["toString", "__defineGetter__", "constructor"]) friend.notify(name, { x: 1 });
      friend.notify(id, { n: 1 });
      expect(JSON.parse(textOf(await friend.callTool("reported")))).toEqual([]);
      expect(JSON.parse(textOf(await friend.callTool("heard")))).toEqual(isStateless(revision) ? [] : [{ n: 1 }]);
    },
  },
  {
    row: "B14",
    says: "when its input ends the server answers what runs and exits with 0",
    async test(open) {
      const peer = await open();
      const running = peer.request("tools/call", { name: "wait", arguments: { ms: 50 } });
      childOf(peer).child.stdin.end();
      expect(textOf(await running)).toBe("done");
      expect(await childOf(peer).exited).toBe(0);
      expect(childOf(peer).stderr).toBe("");
    },
  },
  {
    row: "B16",
    says: "stateless requests are served beside a session, with their own rules",
    on: stateful,
    async test(open, { revision }) {
      const peer = await open({ capabilities: { roots: {} }, answer: () => ({ roots: [] }) });
      const call = (id: string, name: string) =>
        peer.requestExactly({ jsonrpc: "2.0", id, method: "tools/call", params: { name, _meta: statelessMeta } });
      const [mine, theirs] = await Promise.all([peer.callTool("who"), call("s1", "who")]);
      expect(mine.result).not.toHaveProperty("resultType");
      expect(theirs.result.resultType).toBe("complete");
      expect(JSON.parse(textOf(mine))).toMatchObject({
        client: clientInfo,
        capabilities: { roots: {} },
        version: revision,
      });
      expect(JSON.parse(textOf(theirs))).toMatchObject({
        client: { name: "stateless" },
        capabilities: {},
        version: "2026-07-28",
      });
      expect((await call("s2", "ask_roots")).error?.code).toBe(-32021);
      expect(textOf(await peer.callTool("ask_roots"))).toBe("[]");
      const setLevel = await peer.requestExactly({
        jsonrpc: "2.0",
        id: "s3",
        method: "logging/setLevel",
        params: { level: "debug", _meta: statelessMeta },
      });
      expect(setLevel.error?.code).toBe(-32601);
    },
  },
  {
    row: "B16",
    says: "a handshake beside stateless requests changes nothing for them",
    on: stateless,
    async test(open) {
      const peer = await open();
      for (const protocolVersion of stateful) {
        const params = { protocolVersion, capabilities: {}, clientInfo };
        const { result } = await peer.requestExactly({
          jsonrpc: "2.0",
          id: `i ${protocolVersion}`,
          method: "initialize",
          params,
        });
        expect(result.protocolVersion).toBe(protocolVersion);
        expect(result).not.toHaveProperty("resultType");
        expect((await peer.request("tools/call", { name: "who" })).result.resultType).toBe("complete");
        const old = await peer.requestExactly({
          jsonrpc: "2.0",
          id: `w ${protocolVersion}`,
          method: "tools/call",
          params: { name: "who" },
        });
        expect(JSON.parse(textOf(old)).version).toBe(protocolVersion);
      }
      const dressed = await peer.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
      expect(dressed.error?.code).toBe(-32601);
    },
  },
  {
    row: "X-R16",
    says: "a signal to end lets running calls end and exits with 0",
    async test(open, { revision }) {
      const peer = await open();
      const listening = isStateless(revision)
        ? peer.request("subscriptions/listen", { notifications: { toolsListChanged: true } }, "listen")
        : undefined;
      const running = peer.request("tools/call", { name: "wait", arguments: { ms: 100 } });
      await peer.settled();
      childOf(peer).child.kill("SIGTERM");
      expect(textOf(await running)).toBe("done");
      if (listening) expect((await listening).result.resultType).toBe("complete");
      expect(await childOf(peer).exited).toBe(0);
      expect(childOf(peer).stderr).toBe("");
    },
  },
  {
    row: "X-T35",
    says: "the process goes with its client, although a timer would keep it",
    async test(open) {
      const peer = await open({ server: busyServer });
      const running = peer.request("tools/call", { name: "wait", arguments: { ms: 20 } });
      childOf(peer).child.stdin.end();
      expect(textOf(await running)).toBe("waited");
      expect(await childOf(peer).exited).toBe(0);
    },
  },
  {
    row: "X-rehandshake",
    says: "the newer handshake counts, and what belonged to the older one is let go",
    async test(open, { revision }) {
      const peer = await open();
      await peer.request("resources/subscribe", { uri: "note://a" });
      const other = revision === "2025-11-25" ? "2024-11-05" : "2025-11-25";
      const again = await peer.request("initialize", {
        protocolVersion: other,
        capabilities: {},
        clientInfo: { name: "second", version: "2" },
      });
      expect(again.result.protocolVersion).toBe(other);
      expect(JSON.parse(textOf(await peer.callTool("who")))).toMatchObject({
        client: { name: "second" },
        version: other,
      });
      await peer.callTool("change");
      await peer.settled();
      const methods = peer.notifications.map(({ method }) => method);
      expect(methods).not.toContain("notifications/resources/updated");
      expect(methods.filter((method) => method === "notifications/tools/list_changed")).toHaveLength(1);
      expect(answersTo(peer, 1)).toBe(1);
      expect(received(peer).every(({ jsonrpc }) => jsonrpc === "2.0")).toBe(true);
    },
  },
];
