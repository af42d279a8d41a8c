import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { stateful, stateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { textOf } from "../../wire.ts";

const clientInfo = { name: "raw-peer", version: "1.0.0" };

/** Metadata of a stateless request, for peers of another revision. */
const statelessMeta: JsonObject = {
  [metaKey("protocolVersion")]: "2026-07-28",
  [metaKey("clientCapabilities")]: {},
  [metaKey("clientInfo")]: { name: "stateless", version: "1.0.0" },
};

/** Stateful and stateless requests on one connection. */
export const eras: readonly Requirement[] = [
  {
    row: "B16",
    says: "stateless requests are served beside a session by their own rules",
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
    says: "a handshake does not affect stateless requests",
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
      const withMetadata = await peer.request("initialize", {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo,
      });
      expect(withMetadata.error?.code).toBe(-32601);
    },
  },
];
