import { expect } from "vitest";
import { stateful } from "../../../kit/revisions.ts";
import { createFixture } from "../../fixture.ts";
import { send, start, toInitialize, toNotification, toRequest } from "../../kit.ts";
import { begin, StatelessPeer, textOf, toHeaders, toMeta } from "../../peer.ts";
import type { HttpRequirement } from "../requirement.ts";

const batching = "2025-03-26";

export const batches: readonly HttpRequirement[] = [
  {
    row: "E3",
    says: "a batch is served on one revision and refused on the others",
    on: stateful,
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      const answer = await peer.post([
        toRequest("ping", {}, 1),
        toNotification("notifications/x"),
        toRequest("ping", {}, "1"),
      ]);
      if (revision !== batching) {
        expect(answer.status).toBe(400);
        expect((await answer.json()).error?.code).toBe(-32600);
        return;
      }
      expect(answer.status).toBe(200);
      const responses = [await answer.json()].flat() as { id: unknown }[];
      expect(responses.map(({ id }) => id)).toEqual([1, "1"]);
    },
  },
  {
    row: "E3",
    says: "the valid responses of a batch are used",
    on: [batching],
    async test(revision) {
      const { server } = createFixture();
      server.update((current) =>
        current.tool("roots", { run: async (_, context) => String((await context.roots()).length) }),
      );
      const { url } = await start(server);
      const peer = await begin(url, revision, { capabilities: { roots: {} } });
      const call = await peer.call("roots");
      const { id } = await call.message();
      const [good, bad] = [
        { jsonrpc: "2.0", id, result: { roots: [] } },
        { jsonrpc: "2.0", id: "other", result: 5 },
      ];
      expect((await peer.post([good, bad])).status).toBe(202);
      expect(textOf(await call.message())).toBe("0");
    },
  },
  {
    row: "E3",
    says: "an empty batch, a handshake in a batch, and responses mixed with requests are refused",
    on: [batching],
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      const response = { jsonrpc: "2.0", id: 5, result: {} };
      for (const batch of [[], [toInitialize(revision)], [toRequest("ping"), response]]) {
        const answer = await peer.post(batch);
        expect(answer.status).toBe(400);
        expect((await answer.json()).error?.code).toBe(-32600);
      }
      const first = await send(url, { body: [toInitialize(revision)] });
      expect([first.status, first.headers["mcp-session-id"]]).toEqual([400, undefined]);
    },
  },
  {
    row: "E3",
    says: "a batch with progress is answered completely on one stream",
    on: [batching],
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      const call = { name: "progress", _meta: { progressToken: 1 } };
      const answer = await peer.post([toRequest("ping", {}, 1), toRequest("tools/call", call, 2)]);
      expect(answer.isStream).toBe(true);
      const said = (await answer.messages()).flat();
      expect(said.filter(({ method }) => method !== undefined)).toHaveLength(3);
      expect(said.flatMap(({ id }) => id ?? []).sort()).toEqual([1, 2]);
    },
  },
  {
    row: "E3",
    says: "a batch and a posted response are refused",
    on: ["2026-07-28"],
    async test() {
      const { url } = await start(createFixture().server);
      const peer = new StatelessPeer(url);
      const request = toRequest("tools/list", { _meta: toMeta() });
      for (const body of [[request], { jsonrpc: "2.0", id: 1, result: {} }]) {
        const answer = await peer.post(body, toHeaders("tools/list"));
        expect(answer.status).toBe(400);
        expect((await answer.json()).error?.code).toBe(-32600);
      }
    },
  },
  {
    row: "E4",
    says: "a batch of notifications or of responses is answered 202 without a body",
    on: [batching],
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      const response = { jsonrpc: "2.0", id: 5, result: {} };
      for (const batch of [[toNotification("notifications/x")], [response, response]]) {
        const answer = await peer.post(batch);
        expect([answer.status, await answer.text()]).toEqual([202, ""]);
      }
    },
  },
];
