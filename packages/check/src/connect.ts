import { acceptEverything } from "./answers.ts";
import { Inbox } from "./inbox.ts";
import { isObject, type JsonObject } from "./json.ts";
import { type Answer, Peer } from "./peer.ts";
import { check, ExpectationFailed, type Reply } from "./reply.ts";
import type { Revision, Transport } from "./revisions.ts";
import type { Trace } from "./trace.ts";
import { HttpWire } from "./wire/http.ts";
import { HttpSseWire } from "./wire/http-sse.ts";
import { type CommandTarget, StdioWire } from "./wire/stdio.ts";
import type { Wire } from "./wire/wire.ts";

/** A server at a URL. */
export interface UrlTarget {
  readonly url: string;
  /** Sent with every request, for example `authorization`. */
  readonly headers?: { readonly [name: string]: string };
}

/** The server to grade. */
export type Target = CommandTarget | UrlTarget;

export interface OpenOptions {
  readonly capabilities?: JsonObject;
  readonly answer?: Answer;
}

/** The server, revision and transport under test, and the timeouts. */
export interface GradeContext {
  readonly target: Target;
  readonly transport: Transport;
  readonly revision: Revision;
  readonly timeoutMs: number;
  readonly startMs: number;
  readonly trace: Trace;
  readonly signal?: AbortSignal | undefined;
  /** The inboxes of all open connections. */
  readonly inboxes: Set<Inbox>;
}

/** Returns the transports that a target may have. */
export function transportsOf(target: Target): readonly Transport[] {
  return "url" in target ? ["http", "http-sse"] : ["stdio"];
}

/** Opens a connection without a handshake. */
export async function connect(context: GradeContext, options: OpenOptions = {}): Promise<Peer> {
  const { target, transport, revision, timeoutMs, startMs, trace, signal, inboxes } = context;
  const { capabilities = revision.everything, answer = acceptEverything } = options;
  const tap = trace.tap(revision.date, transport);
  const inbox = new Inbox(timeoutMs, transport === "stdio" ? startMs : timeoutMs, tap);
  const wire = openWire(target, transport, inbox);
  const peer = new Peer(revision, capabilities, answer, inbox, wire);
  for (const other of inboxes) if (other.closedReason !== undefined) inboxes.delete(other);
  inboxes.add(inbox);
  if (signal?.aborted) closeInboxes(inboxes);
  if (wire instanceof HttpSseWire) await endpointOf(wire, inbox).catch((error) => closeAndThrow(peer, error));
  return peer;
}

/** Rejects everything that waits on these inboxes. */
export function closeInboxes(inboxes: Iterable<Inbox>): void {
  for (const inbox of inboxes) inbox.closed("the grading was aborted");
}

function openWire(target: Target, transport: Transport, inbox: Inbox): Wire {
  if (!("url" in target)) return new StdioWire(target, inbox);
  const { url, headers = {} } = target;
  return transport === "http" ? new HttpWire(url, inbox, headers) : new HttpSseWire(url, inbox, headers);
}

async function endpointOf(wire: HttpSseWire, inbox: Inbox): Promise<void> {
  let first: { readonly type: string; readonly data: string } | undefined;
  wire.first.then((event) => {
    first = event;
    inbox.wake();
  });
  await inbox.wait("the endpoint event", () => first);
  check(
    wire.endpoint !== "",
    () => `sent GET; got ${JSON.stringify(first)}; expected an endpoint of the same origin first`,
  );
}

async function closeAndThrow(peer: Peer, error: unknown): Promise<never> {
  await peer.close();
  throw error;
}

/** Sends `initialize` and returns the reply; stateless revisions do not need it. */
export async function sendInitialize(peer: Peer, version: string = peer.revision.date): Promise<Reply> {
  const reply = await peer.request("initialize", {
    protocolVersion: version,
    capabilities: peer.capabilities,
    clientInfo: { name: "portolan-check", version: "0.1.0" },
  });
  const { wire } = peer;
  const session = reply.posted.headers["mcp-session-id"];
  if (wire instanceof HttpWire && isObject(reply.message?.["result"])) {
    wire.sessionHeaders = {
      ...(typeof session === "string" && { "mcp-session-id": session }),
      ...(peer.revision.namesVersion && { "mcp-protocol-version": peer.revision.date }),
    };
  }
  return reply;
}

/** Completes the handshake, and opens the stream of the session where there is one. */
export async function finishHandshake(peer: Peer): Promise<void> {
  const { status } = await peer.notify("notifications/initialized").finished;
  if (status !== undefined && (status < 200 || status > 299)) {
    throw new ExpectationFailed(`sent notifications/initialized; got HTTP ${status}; expected 202`);
  }
  if (!(peer.wire instanceof HttpWire)) return;
  let isOpen: true | undefined;
  const { begun } = peer.wire.listen();
  begun.then(() => {
    isOpen = true;
    peer.inbox.wake();
  });
  // Some servers send no response headers before the first event.
  await peer.inbox.wait("the stream of the session", () => isOpen).catch(() => {});
}

/** Opens a connection that is ready for requests. */
export async function open(context: GradeContext, options: OpenOptions = {}): Promise<Peer> {
  const peer = await connect(context, options);
  if (context.revision.isStateless) return peer;
  try {
    (await sendInitialize(peer)).result();
    await finishHandshake(peer);
    return peer;
  } catch (error) {
    return closeAndThrow(peer, error);
  }
}
