import { at, show } from "../json.ts";
import type { Peer } from "../peer.ts";
import { check, NotApplicable, type Reply } from "../reply.ts";
import { firstStateless, httpOf, lastStateful, type Scenario, type ScenarioContext } from "../scenario.ts";
import type { Headers, Post, PostResult } from "../wire/wire.ts";

const overHttp = { transports: ["http"] } as const;
const statefulHttp = { transports: ["http"], until: lastStateful } as const;
const stranger = "http://portolan-stranger.example";

export const http: readonly Scenario[] = [
  {
    id: "http/origin",
    title: "a request from a foreign origin is refused",
    requirements: ["E20", "D4"],
    strength: "must",
    ...overHttp,
    until: "2025-06-18",
    async run(context) {
      return expectRefusal(await sendFirstRequest(context, { origin: stranger }), `sent Origin: ${stranger}`);
    },
  },
  {
    id: "http/origin-forbidden",
    title: "a request from a foreign origin is refused with 403",
    requirements: ["E20"],
    strength: "must",
    ...overHttp,
    since: "2025-11-25",
    async run(context) {
      return `sent Origin: ${stranger}; ${expectStatus(await sendFirstRequest(context, { origin: stranger }), 403)}`;
    },
  },
  {
    id: "http/host",
    title: "a local server refuses a request for another host",
    requirements: ["E20", "2.10"],
    strength: "should",
    ...overHttp,
    async run(context) {
      const { hostname } = new URL(httpOf(await context.shared()).url);
      if (!["127.0.0.1", "localhost", "[::1]"].includes(hostname)) throw new NotApplicable("the server is not local");
      const host = new URL(stranger).host;
      return expectRefusal(await sendFirstRequest(context, { host }), `sent Host: ${host}`);
    },
  },
  {
    id: "http/accept",
    title: "a request that accepts neither JSON nor an event stream is refused",
    requirements: ["E2", "E5"],
    strength: "should",
    ...overHttp,
    async run(context) {
      return expectRefusal(
        await sendSimplest(context, await context.shared(), { accept: "text/html" }),
        "sent Accept: text/html",
      );
    },
  },
  {
    id: "http/content-type",
    title: "a body with another content type than JSON is refused",
    requirements: ["E3", "2.4"],
    strength: "should",
    ...overHttp,
    async run(context) {
      const reply = await sendSimplest(context, await context.shared(), { "content-type": "text/plain" });
      return expectRefusal(reply, "sent Content-Type: text/plain");
    },
  },
  {
    id: "http/parse-error",
    title: "a body that is not JSON is refused with 400 and -32700",
    requirements: ["A10", "6.4"],
    strength: "should",
    ...overHttp,
    async run(context) {
      const peer = await context.shared();
      const body = '{"jsonrpc":"2.0",';
      const { messages, posted } = await peer.sendInvalid(body);
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
    title: "a notification is accepted with 202 and no body",
    requirements: ["E4"],
    strength: "must",
    ...statefulHttp,
    async run(context) {
      const peer = await context.shared();
      const { posted } = await peer.sendInvalid(
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
    title: "a GET opens an event stream or is refused with 405",
    requirements: ["E11"],
    strength: "must",
    ...statefulHttp,
    async run(context) {
      const peer = await context.shared();
      const { stream } = httpOf(peer);
      check(stream !== undefined, () => "the grader did not listen");
      const { status, headers } = await awaitPost(peer, "the answer to a GET", stream);
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
    title: "other HTTP methods are refused with 405",
    requirements: ["E1"],
    strength: "should",
    ...overHttp,
    async run(context) {
      const peer = await context.shared();
      const post = httpOf(peer).send({ method: "PUT", body: "{}", headers: { "content-type": "application/json" } });
      const { status } = await awaitPost(peer, "the answer to a PUT", post);
      check(status === 405, () => `sent PUT; got HTTP ${status}; expected 405`);
      return "sent PUT; got HTTP 405";
    },
  },
  {
    id: "http/version-header",
    title: "an unknown version in the header is refused with 400",
    requirements: ["E19"],
    strength: "must",
    ...statefulHttp,
    since: "2025-06-18",
    async run(context) {
      return expectStatus(
        await sendSimplest(context, await context.shared(), { "mcp-protocol-version": "1999-01-01" }),
        400,
      );
    },
  },
];

function sessionOf(peer: Peer): string {
  const session = httpOf(peer).sessionHeaders["mcp-session-id"];
  if (session === undefined) throw new NotApplicable("the server gives no session id");
  return session;
}

export const sessions: readonly Scenario[] = [
  {
    id: "http/session-id",
    title: "a session id consists of visible ASCII characters",
    requirements: ["E15"],
    strength: "must",
    ...statefulHttp,
    async run(context) {
      const session = sessionOf(await context.shared());
      check(/^[\x21-\x7e]+$/.test(session), () => `sent initialize; got the session id ${show(session)}`);
      return `sent initialize; got a session id of ${session.length} characters`;
    },
  },
  {
    id: "http/session-missing",
    title: "a request without its session id is refused with 400",
    requirements: ["E16"],
    strength: "should",
    ...statefulHttp,
    async run(context) {
      const peer = await context.shared();
      sessionOf(peer);
      return expectStatus(await sendSimplest(context, peer, { "mcp-session-id": undefined }), 400);
    },
  },
  {
    id: "http/session-unknown",
    title: "an unknown session id is refused with 404",
    requirements: ["E17"],
    strength: "must",
    ...statefulHttp,
    async run(context) {
      const peer = await context.shared();
      sessionOf(peer);
      return expectStatus(await sendSimplest(context, peer, { "mcp-session-id": "portolan-no-such-session" }), 404);
    },
  },
  {
    id: "http/session-ended",
    title: "a session that the client ended is refused with 404",
    requirements: ["E17", "E18"],
    strength: "must",
    ...statefulHttp,
    async run(context) {
      const peer = await context.open();
      sessionOf(peer);
      const { status } = await awaitPost(peer, "the answer to DELETE", httpOf(peer).send({ method: "DELETE" }));
      if (status === 405) throw new NotApplicable("the server lets no client end a session");
      check(
        status !== undefined && status >= 200 && status < 300,
        () => `sent DELETE; got HTTP ${status}; expected 2xx or 405`,
      );
      return expectStatus(await sendSimplest(context, peer, {}), 404);
    },
  },
];

const statelessHttp = { transports: ["http"], since: firstStateless } as const;

export const headers: readonly Scenario[] = [
  {
    id: "headers/version-missing",
    title: "a request without its version in the header is refused with -32020",
    requirements: ["F4", "F11"],
    strength: "should",
    ...statelessHttp,
    async run(context) {
      const reply = await sendSimplest(context, await context.shared(), { "mcp-protocol-version": undefined });
      reply.error(-32020);
      return expectStatus(reply, 400);
    },
  },
  {
    id: "headers/name-encoded",
    title: "a name in the header may be encoded",
    requirements: ["F3"],
    strength: "must",
    ...statelessHttp,
    needs: ["tools"],
    async run(context) {
      const { name, arguments: given = {} } = context.tool("echo");
      const encoded = `=?base64?${Buffer.from(name).toString("base64")}?=`;
      const peer = await context.shared();
      const reply = await peer.request("tools/call", { name, arguments: given }, { headers: { "mcp-name": encoded } });
      reply.result();
      return `sent Mcp-Name: ${encoded}; ${reply.summary}`;
    },
  },
  {
    id: "headers/uri-mismatch",
    title: "a read whose header names another resource is refused with -32020",
    requirements: ["F2", "F4"],
    strength: "must",
    ...statelessHttp,
    needs: ["resources"],
    async run(context) {
      const peer = await context.shared();
      const headers = { "mcp-name": "portolan://another" };
      const reply = await peer.request("resources/read", { uri: "portolan://one" }, { headers });
      reply.error(-32020);
      return expectStatus(reply, 400);
    },
  },
  {
    id: "headers/prompt-mismatch",
    title: "a prompt whose header names another is refused with -32020",
    requirements: ["F2", "F4"],
    strength: "must",
    ...statelessHttp,
    needs: ["prompts"],
    async run(context) {
      const peer = await context.shared();
      const reply = await peer.request("prompts/get", { name: "one" }, { headers: { "mcp-name": "another" } });
      reply.error(-32020);
      return expectStatus(reply, 400);
    },
  },
];

/** Sends a simple request with additional headers. */
export function sendSimplest(context: ScenarioContext, peer: Peer, headers: Headers): Promise<Reply> {
  return peer.request(context.revision.simplest, undefined, { headers });
}

/** Checks that the status is one of these. */
export function expectStatus(reply: Reply, ...statuses: readonly number[]): string {
  check(statuses.includes(reply.status ?? 0), () => reply.evidence(`HTTP ${statuses.join(" or ")}`));
  return reply.summary;
}

/** Waits for the response head of a body. */
export async function awaitPost(peer: Peer, what: string, post: Post): Promise<PostResult> {
  let posted: PostResult | undefined;
  post.begun.then((begun) => {
    posted = begun;
    peer.inbox.wake();
  });
  return peer.inbox.wait(what, () => posted);
}

/** Sends the first request of a client with additional headers. */
export async function sendFirstRequest(context: ScenarioContext, headers: Headers): Promise<Reply> {
  const peer = await context.connect();
  if (context.revision.isStateless) return sendSimplest(context, peer, headers);
  const clientInfo = { name: "portolan-check", version: "0.1.0" };
  return peer.request(
    "initialize",
    { protocolVersion: context.revision.date, capabilities: {}, clientInfo },
    { headers },
  );
}

/** Checks that the status is a client error (4xx). */
export function expectRefusal(reply: Reply, what: string): string {
  const { status = 0 } = reply;
  check(status >= 400 && status < 500, () => `${what}; ${reply.evidence("a refusal")}`);
  return `${what}; ${reply.summary}`;
}
