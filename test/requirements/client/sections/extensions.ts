import type { ClientExtension } from "portolan/client";
import { RpcError } from "portolan/client";
import { createServer } from "portolan/server";
import { connectInMemory } from "portolan/testing";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import { everyCall, text, textOf } from "../kit/calls.ts";
import { refusal, type Sent } from "../kit/scripted-server.ts";
import type { Requirement } from "../requirement.ts";

const id = "com.example/parcels";
const parcels: ClientExtension = { id, settings: { color: "red" }, on: () => ({}) };
const empty: ClientExtension = { id: "com.example/empty", on: () => ({}) };
const both = { [id]: { color: "red" }, "com.example/empty": {} };

/** What a message declares, undefined if it cannot. */
function declaredIn({ method, params }: Sent): unknown {
  return method === "initialize"
    ? params.capabilities.extensions
    : params?._meta?.[metaKey("clientCapabilities")]?.extensions;
}

/** Requirements on the frame of all extensions. */
export const extensions: readonly Requirement[] = [
  {
    row: "C-X1",
    says: "an extension whose id has no prefix, no name or other characters is refused",
    async test({ open }) {
      await open({ extensions: [parcels] });
      const server = createServer({ name: "a", version: "1.0.0" }).tool("any", { run: () => "fine" });
      for (const wrong of ["parcels", "/a", "a/", "a..b/c", "a/b/c", "a b/c", "a/-b"]) {
        const extensions = [{ ...parcels, id: wrong }];
        await expect(connectInMemory(server, { extensions }), wrong).rejects.toThrow(
          'an `id` such as "com.example/id"',
        );
      }
    },
  },
  {
    row: "C-X2",
    says: "settings stand directly under the id, and {} says that nothing is set",
    async test({ open, revision }) {
      const { client, server } = await open({ extensions: [parcels, empty] });
      await everyCall(client, revision);
      const declared = server.sent.map(declaredIn).filter((one) => one !== undefined);
      expect(declared.length).toBeGreaterThan(0);
      for (const one of declared) expect(one).toEqual(both);
    },
  },
  {
    row: "C-X4",
    says: "initialize declares the extensions, and no later message does",
    async test({ open, revision }) {
      const { client, server } = await open({ extensions: [parcels, empty] });
      await everyCall(client, revision);
      expect(server.of("initialize").map(declaredIn)).toEqual([both]);
      expect(server.sent.filter((one) => declaredIn(one) !== undefined)).toHaveLength(1);
    },
  },
  {
    row: "C-X5",
    says: "tools of a server without the extension work, and what it refuses rejects with the requirement",
    async test({ open, revision }) {
      const required = { requiredCapabilities: { extensions: { [id]: {} } } };
      const { client } = await open({
        extensions: [parcels],
        on: {
          "tools/call": ({ params }) => {
            if (params.name === "plain") return text("plain");
            throw refusal(-32_021, "needs parcels", isStateless(revision) ? required : undefined);
          },
        },
      });
      expect(client.server.capabilities).not.toHaveProperty("extensions");
      expect(textOf(await client.callTool("plain"))).toBe("plain");
      const error = await client.callTool("locked").catch((cause: unknown) => cause);
      expect(error).toBeInstanceOf(RpcError);
      expect(error).toMatchObject({ code: -32_021, ...(isStateless(revision) && { data: required }) });
    },
  },
  {
    row: "C-X7",
    says: "a server that announces settings of a later version is spoken to like any other",
    async test({ open }) {
      const extensions = { [id]: { later: { deep: [1, "two"] } }, "com.example/unknown": { any: true } };
      const { client } = await open({
        extensions: [parcels],
        offers: { tools: {}, extensions },
        on: { "tools/call": () => text("fine") },
      });
      expect(client.server.capabilities.extensions).toEqual(extensions);
      expect(textOf(await client.callTool("any"))).toBe("fine");
    },
  },
];
