import { createMemoryStorage } from "portolan/storage";
import { expect } from "vitest";
import { stateful } from "../../../kit/revisions.ts";
import { createFixture } from "../../fixture.ts";
import { plainHeaders, send, start, toInitialize, toRequest } from "../../kit.ts";
import { begin, StatelessPeer, toHeaders } from "../../peer.ts";
import { byUser } from "../../users.ts";
import type { HttpRequirement } from "../requirement.ts";

const withHeader = ["2025-06-18", "2025-11-25"] as const;

export const sessions: readonly HttpRequirement[] = [
  {
    row: "E15",
    says: "a session id is long, visible ASCII and unique",
    on: stateful,
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peers = await Promise.all(Array.from({ length: 20 }, () => begin(url, revision)));
      for (const { id } of peers) expect(id).toMatch(/^[\x21-\x7e]{22,}$/);
      expect(new Set(peers.map(({ id }) => id)).size).toBe(20);
    },
  },
  {
    row: "E15",
    says: "only the handshake answer has the session id",
    on: stateful,
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      expect((await peer.request("ping")).headers["mcp-session-id"]).toBeUndefined();
    },
  },
  {
    row: "E15",
    says: "no session is created, and a session header is ignored",
    on: ["2026-07-28"],
    async test() {
      const { url } = await start(createFixture().server);
      const answer = await new StatelessPeer(url).call("echo", { text: "hi" }, 1, { "mcp-session-id": "unknown" });
      expect([answer.status, answer.headers["mcp-session-id"]]).toEqual([200, undefined]);
    },
  },
  {
    row: "E15",
    says: "a refused handshake creates no session",
    on: stateful,
    async test(revision) {
      const { url } = await start(createFixture().server);
      const answer = await send(url, { body: toRequest("initialize", { protocolVersion: revision }, "i") });
      expect(answer.headers["mcp-session-id"]).toBeUndefined();
      expect(await answer.json()).toMatchObject({ id: "i", error: { code: -32602 } });
    },
  },
  {
    row: "E15",
    says: "a second handshake in a session is refused, and the session continues",
    on: stateful,
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      const answer = await peer.post(toInitialize(revision, {}, "again"));
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ id: "again", error: { code: -32600 } });
      expect((await peer.request("ping")).status).toBe(200);
    },
  },
  {
    row: "E16",
    says: "a request without a session is refused with 400 and its id",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const version = revision < "2025-06-18" ? {} : { "mcp-protocol-version": revision };
      const answer = await send(url, {
        headers: { ...plainHeaders, ...version },
        body: toRequest("tools/list", {}, "x"),
      });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ jsonrpc: "2.0", id: "x", error: { code: -32600 } });
      for (const method of ["GET", "DELETE"]) expect((await send(url, { method })).status).toBe(400);
    },
  },
  {
    row: "E16",
    says: "notifications and responses without a session are refused with 400",
    async test() {
      const { url } = await start(createFixture().server);
      for (const body of [
        { jsonrpc: "2.0", method: "notifications/initialized" },
        { jsonrpc: "2.0", id: 1, result: {} },
      ]) {
        expect((await send(url, { body })).status).toBe(400);
      }
    },
  },
  {
    row: "E17",
    says: "an unknown session is answered 404 with the id of the request",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = (await begin(url, revision)).at(url, { "mcp-session-id": "A".repeat(32) });
      const answer = await peer.request("ping", {}, "x");
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ jsonrpc: "2.0", id: "x", error: { code: expect.any(Number) } });
      for (const other of [peer.get(), peer.delete(), peer.notify("notifications/x")]) {
        expect((await other).status).toBe(404);
      }
    },
  },
  {
    row: "E17",
    says: "an idle session is answered 404",
    async test(revision) {
      const clock = { now: Date.now() };
      const storage = createMemoryStorage({ now: () => clock.now });
      const first = await start(createFixture().server, { storage, sessions: { idleMs: 1_000 } });
      const second = await start(createFixture().server, { storage, sessions: { idleMs: 1_000 } });
      const peer = await begin(first.url, revision);
      clock.now += 1_001;
      expect((await peer.at(second.url).request("ping")).status).toBe(404);
    },
  },
  {
    row: "E17",
    says: "malformed session ids are answered 400 or 404",
    on: ["2025-11-25"],
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      for (const id of ["", "../../x", "__proto__", "x".repeat(8_000), `${peer.id}, ${peer.id}`, ` ${peer.id}x`]) {
        const { status } = await peer.at(url, { "mcp-session-id": id }).request("ping");
        expect([id, [400, 404].includes(status)]).toEqual([id, true]);
      }
    },
  },
  {
    row: "E19",
    says: "an invalid version header is refused with 400, for every method",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const good = await begin(url, revision);
      for (const version of ["2099-01-01", "1.0", "", "2025-06-18, 2025-06-18", "2026-07-28"]) {
        const peer = good.at(url, { "mcp-protocol-version": version });
        const answer = await peer.request("ping", {}, "x");
        expect([version, answer.status]).toEqual([version, 400]);
        expect(await answer.json()).toMatchObject({ id: "x", error: { code: -32600 } });
        expect((await peer.get()).status).toBe(400);
        expect((await peer.delete()).status).toBe(400);
      }
      expect((await good.request("ping")).status).toBe(200);
    },
  },
  {
    row: "E19",
    says: "without a version header the session uses its own version",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = (await begin(url, revision)).at(url, { "mcp-protocol-version": undefined });
      expect(await peer.textOf("whoami")).toBe(`anonymous ${revision}`);
    },
  },
  {
    row: "E19",
    says: "the header may name another stateful version, and the session keeps its own",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const good = await begin(url, revision);
      for (const version of stateful) {
        expect(await good.at(url, { "mcp-protocol-version": version }).textOf("whoami")).toBe(`anonymous ${revision}`);
      }
    },
  },
  {
    row: "E19",
    says: "a version header on the handshake is accepted",
    on: withHeader,
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision, { headers: { "mcp-protocol-version": revision } });
      expect(peer.initialized.result.protocolVersion).toBe(revision);
    },
  },
  {
    row: "E22",
    says: "a session of one principal does not exist for another, for any request",
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server, { verify: byUser });
      const ada = await begin(url, revision, { headers: { authorization: "ada" } });
      const mallory = ada.at(url, { authorization: "mallory" });
      const anonymous = ada.at(url, { authorization: undefined });
      for (const [peer, status] of [
        [mallory, 404],
        [anonymous, 401],
      ] as const) {
        for (const tried of [peer.request("ping"), peer.get(), peer.delete(), peer.cancel(1), peer.answer(1, {})]) {
          expect((await tried).status).toBe(status);
        }
      }
      expect(await ada.textOf("whoami")).toBe(`ada ${revision}`);
    },
  },
  {
    row: "E22",
    says: "an unauthenticated caller gets 401 and the reason, before the body is read",
    async test() {
      const { url } = await start(createFixture().server, { verify: byUser, limits: { bodyBytes: 10 } });
      const answer = await send(url, { body: toInitialize("2025-11-25") });
      expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
      expect((await answer.json()).error?.message).toBe("Who are you?");
      const stateless = await send(url, { headers: toHeaders("tools/list"), body: "{" });
      expect(stateless.status).toBe(401);
    },
  },
];
