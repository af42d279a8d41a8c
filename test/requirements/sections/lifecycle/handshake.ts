import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless, stateful, stateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { answersTo, received, textOf } from "../../wire.ts";

const newestHandshake = "2025-11-25";
const clientInfo = { name: "raw-peer", version: "1.0.0" };

/** The negotiation of a revision. */
export const handshake: readonly Requirement[] = [
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
    says: "handlers see the client's own description",
    async test(open, { revision }) {
      const kept = { ...clientInfo, title: "Raw" };
      const info = {
        ...kept,
        description: "A peer",
        websiteUrl: "https://example.com",
        icons: [{ src: "https://example.com/i.png" }],
      };
      const capabilities = { roots: {}, experimental: { "example.com/x": { deep: [1] } } };
      const peer = await open({ clientInfo: info, capabilities });
      const seen = JSON.parse(textOf(await peer.callTool("who")));
      expect(seen).toMatchObject({ capabilities, version: revision });
      // A session keeps no more than this; a stateless request describes its client each time.
      expect(seen.client).toEqual(isStateless(revision) ? info : kept);
    },
  },
  {
    row: "B2",
    says: "an incomplete handshake is refused and begins no session",
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
    says: "a supported version is echoed, any other gets the newest",
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
    says: "an unsupported version is refused with the list of supported ones",
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
    says: "pings are answered at any time, and the server sends nothing by itself",
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
    row: "X-rehandshake",
    says: "a newer handshake replaces the older one and ends its subscriptions",
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
