import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { isFrom } from "../../results.ts";
import { mentions, minimalServer, textOf, wireServer } from "../../wire.ts";

const clientInfo = { name: "raw-peer", version: "1.0.0" };

/** Server information and capabilities. */
export const capabilities: readonly Requirement[] = [
  {
    row: "B6",
    says: "methods of other revisions do not exist, and undeclared capabilities are not used",
    async test(open, { revision }) {
      const peer = await open();
      const unknownMethods = isStateless(revision)
        ? ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list"]
        : ["server/discover", "subscriptions/listen", "tasks/list", "roots/list", "sampling/createMessage"];
      for (const method of unknownMethods) {
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
    row: "B8",
    says: "the server info has the members of the revision and is sent where the revision defines it",
    async test(open, { revision }) {
      const peer = await open();
      const expected = {
        name: "full",
        version: "1.2.3",
        ...(isFrom(revision, "2025-06-18") && { title: "Full" }),
        ...(isFrom(revision, "2025-11-25") && {
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
    says: "clients of any name get the same lists",
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
    says: "discovery returns versions, capabilities and cache hints",
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
    says: "a server without features declares no capability and knows no method",
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
    says: "capabilities are those of the revision and of the defined features",
    async test(open, { revision }) {
      const peer = await open();
      const declared = isStateless(revision) ? await peer.request("server/discover") : peer.initialized;
      expect(declared?.result.capabilities).toEqual({
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        ...(isFrom(revision, "2025-03-26") && { completions: {} }),
        logging: {},
      });
    },
  },
  {
    row: "B12",
    says: "an extension is announced, and its methods need its declaration",
    async test(open, { revision }) {
      const id = "com.example/extra";
      const undeclared = await open({ server: wireServer });
      const declared = isStateless(revision) ? await undeclared.request("server/discover") : undeclared.initialized;
      expect(declared?.result.capabilities.extensions).toEqual({ [id]: { depth: 3 } });
      const refused = await undeclared.request(id);
      expect(refused.error?.code).toBe(isStateless(revision) ? -32021 : -32602);
      expect(refused.error?.data).toEqual({ requiredCapabilities: { extensions: { [id]: {} } } });
      const declaring = await open({ server: wireServer, capabilities: { extensions: { [id]: {} } } });
      expect((await declaring.request(id)).result).toMatchObject({ extra: true });
      for (const name of ["toString", "__defineGetter__", "constructor"]) declaring.notify(name, { x: 1 });
      declaring.notify(id, { n: 1 });
      expect(JSON.parse(textOf(await declaring.callTool("reported")))).toEqual([]);
      expect(JSON.parse(textOf(await declaring.callTool("heard")))).toEqual(isStateless(revision) ? [] : [{ n: 1 }]);
    },
  },
];
