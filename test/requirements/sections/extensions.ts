import type { JsonObject } from "portolan";
import { createServer } from "portolan/server";
import { expect } from "vitest";
import type { RawPeer } from "../../kit/raw-peer.ts";
import { isStateless } from "../../kit/revisions.ts";
import type { Open, Requirement } from "../requirement.ts";

const server = new URL("../servers/extensions.mjs", import.meta.url);
const plainServer = new URL("../servers/minimal.mjs", import.meta.url);
const gated = "com.example/gated";
const open = "com.example/open";
const declaring = (settings: JsonObject = {}) => ({ extensions: { [gated]: settings } });
const openDeclared = (connect: Open, settings?: JsonObject) => connect({ server, capabilities: declaring(settings) });

/** What the server announces. */
async function announced(peer: RawPeer): Promise<{ [capability: string]: unknown; extensions?: JsonObject }> {
  const { result } = isStateless(peer.revision) ? await peer.request("server/discover") : peer.initialized!;
  return result.capabilities;
}

/** The extensions that mark the tool of the server. */
async function marksOf(peer: RawPeer): Promise<string[]> {
  const { tools } = (await peer.request("tools/list")).result;
  return Object.keys(tools[0]._meta ?? {});
}

const called = async (peer: RawPeer) => (await peer.request("tools/call", { name: "locked" })).result.content[0].text;
/** The code for a capability that the client lacks exists since 2026-07-28. */
const missingCode = ({ revision }: RawPeer) => (isStateless(revision) ? -32_021 : -32_602);
/** `_meta` of tools exists since 2025-06-18. */
const hasMeta = ({ revision }: RawPeer) => revision >= "2025-06-18";

/** Requirements on the frame of all extensions. */
export const extensions: readonly Requirement[] = [
  {
    row: "X1",
    says: "announced ids have a prefix and a name, and others are refused where they are defined",
    async test(connect) {
      const { extensions: ids = {} } = await announced(await openDeclared(connect));
      expect(Object.keys(ids)).toEqual([gated, open]);
      const define = (id: string) => () =>
        createServer({ name: "a", version: "1" }).extend({ id, on: () => undefined });
      for (const id of ["a/b", "com.example/quota", "io.example-1/a_b.c-d", "X/1"]) expect(define(id)).not.toThrow();
      const wrong = [
        "quota",
        "/quota",
        "com.example/",
        "com..example/a",
        "1a/b",
        "a-/b",
        "a b/c",
        "a/b/c",
        "a/-b",
        "a/b-",
      ];
      for (const id of wrong) expect(define(id), id).toThrow("with an id such as com.example/id");
    },
  },
  {
    row: "X2",
    says: "settings stand directly under the id, and {} says that nothing is set",
    async test(connect) {
      const { extensions: ids } = await announced(await openDeclared(connect));
      expect(ids).toEqual({ [gated]: { level: 3 }, [open]: {} });
    },
  },
  {
    row: "X3",
    says: "a client is told by server/discover, and each of its requests declares anew",
    async test(connect) {
      const peer = await openDeclared(connect);
      expect((await announced(peer)).extensions).toHaveProperty([gated]);
      expect(await called(peer)).toBe("unlocked");
      const meta = (capabilities: JsonObject) => ({
        _meta: { "io.modelcontextprotocol/clientCapabilities": capabilities },
      });
      const undeclared = await peer.request("tools/call", { name: "locked", ...meta({}) });
      expect(undeclared.result.content[0].text).toBe("plain");
      expect((await peer.request("com.example/gated/read", meta({}))).error?.code).toBe(-32_021);
      expect((await peer.request("com.example/gated/read", meta(declaring()))).result.value).toBe("gated");
    },
  },
  {
    row: "X4",
    says: "both sides name their extensions in the handshake, and the client's count for all its requests",
    async test(connect) {
      const peer = await openDeclared(connect);
      expect(peer.initialized?.result.capabilities.extensions).toHaveProperty([gated]);
      expect(await called(peer)).toBe("unlocked");
      expect((await peer.request("com.example/gated/read")).result.value).toBe("gated");
      const other = await connect({ server });
      expect(await called(other)).toBe("plain");
    },
  },
  {
    row: "X5",
    says: "without the declaration tools are plain, and a method of the extension is refused with its id",
    async test(connect) {
      const peer = await connect({ server });
      expect(await called(peer)).toBe("plain");
      expect(await marksOf(peer)).not.toContain(gated);
      const { error } = await peer.request("com.example/gated/read");
      expect(error?.code).toBe(missingCode(peer));
      expect(error?.data.requiredCapabilities).toEqual({ extensions: { [gated]: {} } });
    },
  },
  {
    row: "X6",
    says: "without an extension nothing is announced, whatever the client declares",
    async test(connect) {
      const official = ["tasks", "skills", "ui"].map((name) => [`io.modelcontextprotocol/${name}`, {}]);
      const peer = await connect({ server: plainServer, capabilities: { extensions: Object.fromEntries(official) } });
      const capabilities = await announced(peer);
      expect(capabilities).not.toHaveProperty("extensions");
      expect(capabilities).not.toHaveProperty("tasks");
      for (const method of ["tasks/get", "tasks/result", "tasks/update", "skills/list", "resources/directory/read"]) {
        expect((await peer.request(method, { taskId: "t", uri: "skill://a" })).error?.code, method).toBe(-32_601);
      }
    },
  },
  {
    row: "X7",
    says: "a client that declares settings of a later version is served like any other",
    async test(connect) {
      const peer = await openDeclared(connect, { later: { deep: [1, "two"] }, level: "not a number" });
      expect(await called(peer)).toBe("unlocked");
      expect((await peer.request("com.example/gated/read")).result.value).toBe("gated");
    },
  },
  {
    row: "X8",
    says: "a client that declares nothing may use open parts alone",
    async test(connect) {
      const peer = await connect({ server });
      expect((await peer.request("com.example/open/read")).result.value).toBe("open");
      expect((await peer.request("com.example/gated/read")).error?.code).toBe(missingCode(peer));
      if (hasMeta(peer)) expect(await marksOf(peer)).toEqual([open]);
      const declared = await openDeclared(connect);
      if (hasMeta(declared)) expect(await marksOf(declared)).toEqual([gated, open]);
    },
  },
];
