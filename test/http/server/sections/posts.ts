import { expect } from "vitest";
import { isStateless, stateful } from "../../../kit/revisions.ts";
import { createFixture } from "../../fixture.ts";
import { plainHeaders, send, start, toInitialize, toNotification, toRequest } from "../../kit.ts";
import { begin, open, SessionPeer, textOf, toHeaders, toMeta } from "../../peer.ts";
import type { HttpRequirement } from "../requirement.ts";

export const posts: readonly HttpRequirement[] = [
  {
    row: "E1",
    says: "POST answers requests and GET opens a stream, at one endpoint",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      expect(peer.initialized.result).toMatchObject({ protocolVersion: revision });
      expect((await (await peer.request("ping")).json()).result).toEqual({});
      const stream = await peer.get();
      expect([stream.status, stream.isStream]).toEqual([200, true]);
    },
  },
  {
    row: "E1",
    says: "other methods are answered 405, other paths 404",
    on: ["2025-11-25"],
    adapter: "node",
    async test() {
      const { url } = await start(createFixture().server);
      for (const method of ["PUT", "PATCH", "HEAD", "OPTIONS"]) {
        const { status, headers } = await send(url, { method });
        expect([method, status, headers.allow]).toEqual([method, 405, "POST, GET, DELETE"]);
      }
      expect((await send(new URL("/other", url).href, { body: toInitialize("2025-11-25") })).status).toBe(404);
    },
  },
  {
    row: "E2",
    says: "a client that does not accept events gets its answer as JSON, without notifications",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision, { headers: { accept: "application/json" } });
      const answer = await peer.call("progress");
      expect(answer.headers["content-type"]).toBe("application/json");
      expect(textOf(await answer.json())).toBe("done");
    },
  },
  {
    row: "E2",
    says: "a request to a client that does not accept events fails the call",
    on: ["2025-06-18", "2025-11-25"],
    async test(revision) {
      const { url } = await start(createFixture().server);
      const options = { capabilities: { elicitation: {} }, headers: { accept: "application/json" } };
      const peer = await begin(url, revision, options);
      const { result, error } = await (await peer.call("ask")).json();
      expect(error !== undefined || result.isError).toBe(true);
    },
  },
  {
    row: "E2",
    says: "Accept is read regardless of case, order and parameters",
    async test(revision) {
      const { url } = await start(createFixture().server);
      for (const accept of [
        "*/*",
        "text/event-stream;q=0.5, application/json",
        "Application/JSON, Text/Event-Stream",
        "application/*, text/*",
      ]) {
        const peer = await open(url, revision, { headers: { accept } });
        expect([accept, (await peer.call("progress")).headers["content-type"]]).toEqual([accept, "text/event-stream"]);
      }
    },
  },
  {
    row: "E2",
    says: "a type with q=0 is not used",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision, { headers: { accept: "application/json, text/event-stream;q=0" } });
      expect((await peer.call("progress")).headers["content-type"]).toBe("application/json");
    },
  },
  {
    row: "E2",
    says: "a client that accepts neither form is refused with 406",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      const body = isStateless(revision)
        ? toRequest("tools/list", { _meta: toMeta() }, "x")
        : toRequest("tools/list", {}, "x");
      const headers = peer instanceof SessionPeer ? peer.headers : toHeaders("tools/list");
      const answer = await send(url, { headers: { ...headers, accept: "text/html" }, body });
      expect(answer.status).toBe(406);
      expect(await answer.json()).toMatchObject({ jsonrpc: "2.0", id: "x", error: { code: -32600 } });
    },
  },
  {
    row: "E2",
    says: "a GET that does not accept events is refused with 406",
    on: stateful,
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      const answer = await peer.get(undefined, { accept: "application/json" });
      expect(answer.status).toBe(406);
      expect((await answer.json()).error?.code).toBe(-32600);
    },
  },
  {
    row: "E4",
    says: "notifications are answered 202 without a body",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      const headers = peer instanceof SessionPeer ? peer.headers : toHeaders("notifications/unheard");
      const answer = await send(url, { headers, body: toNotification("notifications/unheard") });
      expect([answer.status, await answer.text()]).toEqual([202, ""]);
    },
  },
  {
    row: "E4",
    says: "responses are answered 202 without a body, also unexpected ones",
    on: stateful,
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      for (const id of ["unknown", 4, 0]) {
        const answer = await peer.answer(id, {});
        expect([answer.status, await answer.text()]).toEqual([202, ""]);
      }
    },
  },
  {
    row: "E5",
    says: "an immediate answer is JSON with a content-length",
    adapter: "node",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      const answer = await peer.call("echo", { text: "hi" });
      expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
      const text = await answer.text();
      expect(answer.headers["content-length"]).toBe(String(Buffer.byteLength(text)));
      expect(JSON.parse(text)).toMatchObject({ jsonrpc: "2.0", id: 1 });
    },
  },
  {
    row: "E5",
    says: "ids are returned unchanged",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      for (const id of [0, "", "0", -1, 2 ** 53 - 1, "ü"]) {
        expect((await (await peer.call("echo", { text: "hi" }, id)).json()).id).toBe(id);
      }
    },
  },
  {
    row: "E6",
    says: "progress of a call comes before its response, on its own stream",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      const streams = await Promise.all([peer.call("progress", {}, "a"), peer.call("progress", {}, "b")]);
      for (const [index, id] of ["a", "b"].entries()) {
        const said = await streams[index]!.messages();
        expect(said.map(({ params }) => params?.progress)).toEqual([1, 2, 3, undefined]);
        expect(said.slice(0, 3).every(({ params }) => params.progressToken === `token ${id}`)).toBe(true);
        expect(said[3]).toMatchObject({ id });
      }
    },
  },
  {
    row: "E7",
    says: "the stream ends with the response",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      const answer = await peer.call("progress");
      expect([answer.status, answer.isStream]).toEqual([200, true]);
      const said = await answer.messages();
      expect(textOf(said.at(-1)!)).toBe("done");
      await answer.closed;
    },
  },
  {
    row: "X-lazy",
    says: "an answer without notifications is JSON, even with a progress token",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      expect((await peer.call("echo", { text: "hi" })).isStream).toBe(false);
      expect((await peer.call("progress")).isStream).toBe(true);
    },
  },
  {
    row: "X-lazy",
    says: "a call that runs longer than quietMs becomes a stream, kept alive by comments",
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server, { quietMs: 1, keepAliveMs: 5 });
      const peer = await open(url, revision);
      const answer = await peer.call("hold", { key: "quiet" });
      expect(answer.isStream).toBe(true);
      const response = answer.message();
      await answer.commented();
      fixture.release("quiet");
      expect(textOf(await response)).toBe("released quiet");
    },
  },
  {
    row: "X-lazy",
    says: "a long call stays JSON for a client that does not accept events",
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server, { quietMs: 1 });
      const peer = await open(url, revision, { headers: { ...plainHeaders, accept: "application/json" } });
      const answer = peer.call("hold", { key: "quiet" });
      await fixture.noted("holding quiet");
      await (await peer.call("echo", { text: "later" })).json();
      fixture.release("quiet");
      expect(textOf(await (await answer).json())).toBe("released quiet");
    },
  },
];
