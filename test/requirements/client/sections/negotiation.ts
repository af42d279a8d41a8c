import type { JsonObject } from "portolan";
import { createMemoryStorage } from "portolan/storage";
import { createClock } from "portolan/testing";
import { expect } from "vitest";
import { isStateless, stateful, stateless } from "../../../kit/revisions.ts";
import { gate } from "../kit/calls.ts";
import { type Handler, refusal } from "../kit/scripted-server.ts";
import { channels } from "../kit/transports.ts";
import type { Requirement } from "../requirement.ts";

const silent = () => undefined;
const refuses = (code: number, data?: unknown) => () => {
  throw refusal(code, "No", data);
};
const handshake = (protocolVersion: string): JsonObject => ({
  protocolVersion,
  capabilities: {},
  serverInfo: { name: "s", version: "1" },
});

export const negotiation: Requirement[] = [
  {
    row: "C-B4",
    says: "an unknown version rejects, and nothing more is sent",
    async test({ stage, revision, transport }) {
      const unknown = { protocolVersion: "1999-12-31", supportedVersions: ["1999-12-31"] };
      const { server, connect } = await stage({ says: unknown });
      const message = expect.stringMatching(/1999-12-31.*2025-11-25|1999-12-31.*20/);
      const era = isStateless(revision) ? "stateless" : "stateful";
      await expect(connect({ era })).rejects.toMatchObject({ code: "version-mismatch", message });
      // Without a session there is no connection to close.
      if (transport === "http" && isStateless(revision)) expect(server.sent).toHaveLength(1);
      else await expect(server.until(() => server.sent[1])).rejects.toThrow("the client disconnected");
    },
  },
  {
    row: "C-B4",
    says: "a version other than the requested one rejects",
    async test({ stage, revision }) {
      const other = revision === "2025-11-25" ? "2025-06-18" : "2025-11-25";
      const { connect } = await stage({ says: { protocolVersion: other, supportedVersions: [other] } });
      await expect(connect()).rejects.toMatchObject({ code: "version-mismatch" });
    },
  },
  {
    row: "C-B4",
    says: "a refused version without a known alternative rejects without a handshake",
    on: stateless,
    async test({ stage }) {
      const { server, connect } = await stage({
        on: { "server/discover": refuses(-32022, { supported: ["2099-01-01"] }) },
      });
      await expect(connect({ era: "auto" })).rejects.toMatchObject({ code: "version-mismatch" });
      expect(server.methods).toEqual(["server/discover"]);
    },
  },
  {
    row: "C-B16",
    says: "the era is probed with server/discover, then with a handshake if necessary",
    async test({ open, revision }) {
      const { client, server } = await open({ era: "auto" });
      expect(client.server).toMatchObject({ version: revision, era: isStateless(revision) ? "stateless" : "stateful" });
      await client.callTool("a");
      const handshakeMethods = isStateless(revision) ? [] : ["initialize", "notifications/initialized"];
      expect(server.methods).toEqual(["server/discover", ...handshakeMethods, "tools/call"]);
    },
  },
  {
    row: "C-B16",
    says: "any error code that is not stateless leads to a handshake",
    on: stateful,
    async test({ open, revision }) {
      for (const code of [-32600, -32601, -32602, -32603, -32000, -32002, 1, -1]) {
        const { client } = await open({ era: "auto", on: { "server/discover": refuses(code) } });
        expect(client.server.version).toBe(revision);
      }
      const { client } = await open({ era: "auto", on: { "server/discover": () => ({}) } });
      expect(client.server.version).toBe(revision);
    },
  },
  {
    row: "C-B16",
    says: "silence leads to a handshake, and a late answer to the probe is ignored",
    on: stateful,
    over: channels,
    async test({ stage, revision }) {
      const late: Handler[] = [refuses(-32601), () => ({ supportedVersions: ["2026-07-28"], capabilities: {} })];
      for (const answer of late) {
        const clock = createClock();
        const asked = gate();
        const { server, connect, errors } = await stage({
          on: {
            "server/discover": async (request, scripted) => {
              await asked.promise;
              return (await answer(request, scripted)) ?? {};
            },
          },
        });
        const connecting = connect({ era: "auto", clock, probeMs: 500 });
        await server.arrival("server/discover");
        await clock.advance(500);
        await server.arrival("initialize");
        const client = await connecting;
        asked.open();
        await client.ping();
        expect(client.server).toMatchObject({ version: revision, era: "stateful" });
        expect(errors).toEqual([]);
      }
    },
  },
  {
    row: "C-B16",
    says: "a slow server that refuses the handshake can still answer the probe",
    on: stateless,
    over: channels,
    async test({ stage, revision }) {
      const clock = createClock();
      const booted = gate();
      const { server, connect } = await stage({
        on: {
          "server/discover": async () => {
            await booted.promise;
            return { supportedVersions: [revision], capabilities: {} };
          },
          initialize: async () => {
            booted.open();
            throw refusal(-32022, "Unsupported protocol version", { supported: [revision] });
          },
        },
      });
      const connecting = connect({ era: "auto", clock });
      await server.arrival("server/discover");
      await clock.advance(4_000);
      expect((await connecting).server).toMatchObject({ version: revision, era: "stateless" });
    },
  },
  {
    row: "C-B16",
    says: "a list of older versions leads to a handshake with the newest of them",
    on: stateful,
    async test({ open, revision }) {
      const offered = ["2026-01-01", "2024-11-05", revision];
      const handlers = [
        refuses(-32022, { supported: offered, requested: "2026-07-28" }),
        () => ({ supportedVersions: offered, capabilities: {}, ttlMs: 0, cacheScope: "public" }),
      ];
      for (const handler of handlers) {
        const { client, server } = await open({ era: "auto", on: { "server/discover": handler } });
        expect(client.server.version).toBe(revision);
        expect(server.of("initialize").map(({ params }) => params.protocolVersion)).toEqual([revision]);
      }
    },
  },
  {
    row: "C-B16",
    says: "a stateless error code rejects without a handshake",
    on: stateless,
    async test({ stage }) {
      for (const code of [-32020, -32021]) {
        const { server, connect } = await stage({ on: { "server/discover": refuses(code, { x: 1 }) } });
        await expect(connect({ era: "auto" })).rejects.toMatchObject({ code, data: { x: 1 } });
        expect(server.methods).toEqual(["server/discover"]);
      }
    },
  },
  {
    row: "C-C10",
    says: "the probe has only metadata, and is not sent if the era is set",
    async test({ open, revision }) {
      const { server } = await open({ era: "auto" });
      const [probe] = server.sent;
      expect(probe).toMatchObject({ method: "server/discover", params: { _meta: {} } });
      expect(Object.keys(probe!.params)).toEqual(["_meta"]);
      if (isStateless(revision)) return;
      const pinned = await open({ era: "stateful" });
      expect(pinned.server.of("server/discover")).toEqual([]);
    },
  },
  {
    row: "C-C10",
    says: "a server that exits on the probe is restarted and gets a handshake",
    on: stateful,
    async test({ open, revision }) {
      const { client, server } = await open({
        era: "auto",
        on: {
          "server/discover": (_, scripted) => {
            scripted.end.leave(1);
            return undefined;
          },
        },
      });
      expect(client.server).toMatchObject({ version: revision, era: "stateful" });
      expect(server.starts).toBe(2);
      expect(server.methods).toEqual(["server/discover", "initialize", "notifications/initialized"]);
    },
  },
  {
    row: "C-XB1",
    says: "a cached era saves the probe, and an era found by silence is not cached",
    over: channels,
    async test({ open, stage, revision }) {
      const eraCache = createMemoryStorage().kv;
      const caching = { era: "auto", eraCache, eraCacheKey: "it" };
      await open(caching);
      const { client, server } = await open(caching);
      await client.callTool("a");
      expect(client.server.version).toBe(revision);
      expect(server.of("server/discover")).toEqual([]);
      expect(server.of("initialize")).toHaveLength(isStateless(revision) ? 0 : 1);
      if (isStateless(revision)) return;
      const clock = createClock();
      const quiet = await stage({ on: { "server/discover": silent }, clock });
      const connecting = quiet.connect({ ...caching, eraCacheKey: "quiet" });
      await quiet.server.arrival("server/discover");
      await clock.advance(4_000);
      await connecting;
      const again = await open({ ...caching, eraCacheKey: "quiet" });
      expect(again.server.of("server/discover")).toHaveLength(1);
    },
  },
  {
    row: "C-XB1",
    says: "an invalid cached era is ignored",
    async test({ open, revision }) {
      for (const garbage of ["{", "null", '{"era":"stateless","version":"1999-12-31","capabilities":{}}']) {
        const kv = createMemoryStorage().kv;
        const eraCache = {
          ...kv,
          get: async () => garbage,
          set: kv.set.bind(kv),
          delete: kv.delete.bind(kv),
          list: kv.list.bind(kv),
        };
        const { client, server } = await open({ era: "auto", eraCache, eraCacheKey: "it" });
        expect(client.server.version).toBe(revision);
        expect(server.of("server/discover")).toHaveLength(1);
      }
    },
  },
  {
    row: "C-XB1",
    says: "a changed era is detected at the latest at the next connect",
    async test({ open, revision }) {
      const eraCache = createMemoryStorage().kv;
      const caching = { era: "auto", eraCache, eraCacheKey: "it" };
      const before = isStateless(revision)
        ? { "server/discover": refuses(-32601), initialize: () => handshake("2025-11-25") }
        : { "server/discover": () => ({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }) };
      await open({ ...caching, on: before, expected: /InitializedNotification/ });
      if (!isStateless(revision)) {
        // A stateless server has no handshake, so a changed era shows in the first call.
        const { client } = await open({ ...caching, on: { "tools/call": refuses(-32600) } });
        await expect(client.callTool("a")).rejects.toMatchObject({ code: -32600 });
      }
      const { client } = await open(caching);
      expect(client.server.version).toBe(revision);
    },
  },
  {
    row: "C-XB2",
    says: "a connect that times out or is aborted disconnects without notifications/cancelled",
    async test({ stage }) {
      const on = { initialize: silent, "server/discover": silent };
      const clock = createClock();
      const slow = await stage({ on, clock });
      const connecting = slow.connect({ connectMs: 9_000 });
      const failed = expect(connecting).rejects.toMatchObject({ code: "timeout", name: "TimeoutError" });
      await slow.server.until(({ sent }) => sent[0]);
      await clock.advance(9_000);
      await failed;
      const controller = new AbortController();
      const abandoned = await stage({ on });
      const giving = abandoned.connect({ signal: controller.signal });
      const aborted = expect(giving).rejects.toMatchObject({ code: "cancelled", name: "AbortError" });
      await abandoned.server.until(({ sent }) => sent[0]);
      controller.abort();
      await aborted;
      for (const { server } of [slow, abandoned]) {
        await expect(server.until(({ sent }) => sent[1])).rejects.toThrow("the client disconnected");
      }
      const never = await stage();
      await expect(never.connect({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
      expect(never.server.sent).toEqual([]);
    },
  },
];
