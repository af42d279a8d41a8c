import { at, show } from "../json.ts";
import { check, NotApplicable } from "../outcome.ts";
import { httpOf, lastStateful, type Scenario } from "../scenario.ts";
import { expectRefusal, expectStatus, finish, knock, plain } from "./knock.ts";

const overHttp = { transports: ["http"] } as const;
const statefulHttp = { transports: ["http"], until: lastStateful } as const;
const stranger = "http://portolan-stranger.example";

export const http: readonly Scenario[] = [
  {
    id: "http/origin",
    title: "the page of a stranger is refused",
    requirements: ["E20", "D4"],
    strength: "must",
    ...overHttp,
    until: "2025-06-18",
    async run(stage) {
      return expectRefusal(await knock(stage, { origin: stranger }), `sent Origin: ${stranger}`);
    },
  },
  {
    id: "http/origin-forbidden",
    title: "the page of a stranger is refused with 403",
    requirements: ["E20"],
    strength: "must",
    ...overHttp,
    since: "2025-11-25",
    async run(stage) {
      return `sent Origin: ${stranger}; ${expectStatus(await knock(stage, { origin: stranger }), 403)}`;
    },
  },
  {
    id: "http/host",
    title: "a request for another host is refused by a local server",
    requirements: ["E20", "2.10"],
    strength: "should",
    ...overHttp,
    async run(stage) {
      const { hostname } = new URL(httpOf(await stage.shared()).url);
      if (!["127.0.0.1", "localhost", "[::1]"].includes(hostname)) throw new NotApplicable("the server is not local");
      const host = new URL(stranger).host;
      return expectRefusal(await knock(stage, { host }), `sent Host: ${host}`);
    },
  },
  {
    id: "http/accept",
    title: "a client that takes neither form of answer is refused",
    requirements: ["E2", "E5"],
    strength: "should",
    ...overHttp,
    async run(stage) {
      return expectRefusal(await plain(stage, await stage.shared(), { accept: "text/html" }), "sent Accept: text/html");
    },
  },
  {
    id: "http/content-type",
    title: "a body that does not call itself JSON is refused",
    requirements: ["E3", "2.4"],
    strength: "should",
    ...overHttp,
    async run(stage) {
      const reply = await plain(stage, await stage.shared(), { "content-type": "text/plain" });
      return expectRefusal(reply, "sent Content-Type: text/plain");
    },
  },
  {
    id: "http/parse-error",
    title: "a body that is no JSON is refused with 400 and -32700",
    requirements: ["A10", "6.4"],
    strength: "should",
    ...overHttp,
    async run(stage) {
      const peer = await stage.shared();
      const body = '{"jsonrpc":"2.0",';
      const { messages, posted } = await peer.provoke(body);
      const isFine = posted.status === 400 && at(messages[0], "error", "code") === -32700;
      check(
        isFine,
        () => `sent ${body}; got HTTP ${posted.status} ${show(posted.body)}; expected 400 with error -32700`,
      );
      return `sent ${body}; got HTTP 400 ${show(posted.body)}`;
    },
  },
  {
    id: "http/notification",
    title: "a notification is taken with 202 and no body",
    requirements: ["E4"],
    strength: "must",
    ...statefulHttp,
    async run(stage) {
      const peer = await stage.shared();
      const { posted } = await peer.provoke(
        JSON.stringify({ jsonrpc: "2.0", method: "notifications/roots/list_changed" }),
      );
      const isFine = posted.status === 202 && posted.body === "";
      check(
        isFine,
        () => `sent a notification; got HTTP ${posted.status} ${show(posted.body)}; expected 202 and nothing`,
      );
      return "sent a notification; got HTTP 202";
    },
  },
  {
    id: "http/stream",
    title: "a GET opens a stream of events or is refused with 405",
    requirements: ["E11"],
    strength: "must",
    ...statefulHttp,
    async run(stage) {
      const peer = await stage.shared();
      const { stream } = httpOf(peer);
      check(stream !== undefined, () => "the grader did not listen");
      const { status, headers } = await finish(peer, "the answer to a GET", stream);
      const isStream = status === 200 && /^text\/event-stream\b/.test(String(headers["content-type"]));
      check(
        isStream || status === 405,
        () => `sent GET; got HTTP ${status} ${headers["content-type"]}; expected a stream or 405`,
      );
      return `sent GET; got HTTP ${status}`;
    },
  },
  {
    id: "http/other-verbs",
    title: "verbs that mean nothing are refused with 405",
    requirements: ["E1"],
    strength: "should",
    ...overHttp,
    async run(stage) {
      const peer = await stage.shared();
      const post = httpOf(peer).send({ method: "PUT", body: "{}", headers: { "content-type": "application/json" } });
      const { status } = await finish(peer, "the answer to a PUT", post);
      check(status === 405, () => `sent PUT; got HTTP ${status}; expected 405`);
      return "sent PUT; got HTTP 405";
    },
  },
  {
    id: "http/version-header",
    title: "a version that does not exist is refused with 400",
    requirements: ["E19"],
    strength: "must",
    ...statefulHttp,
    since: "2025-06-18",
    async run(stage) {
      return expectStatus(await plain(stage, await stage.shared(), { "mcp-protocol-version": "1999-01-01" }), 400);
    },
  },
];
