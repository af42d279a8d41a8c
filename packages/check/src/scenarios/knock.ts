import { check } from "../outcome.ts";
import type { Peer } from "../peer.ts";
import type { Reply } from "../reply.ts";
import type { Stage } from "../scenario.ts";
import type { Headers, Post, Posted } from "../wire/wire.ts";

/** A plain request with other headers. */
export function plain(stage: Stage, peer: Peer, headers: Headers): Promise<Reply> {
  return peer.request(stage.revision.simplest, undefined, { headers });
}

/** Expects one of some statuses. */
export function expectStatus(reply: Reply, ...statuses: readonly number[]): string {
  check(statuses.includes(reply.status ?? 0), () => reply.evidence(`HTTP ${statuses.join(" or ")}`));
  return reply.proof;
}

/** Resolves in time to how something was taken. */
export async function finish(peer: Peer, what: string, post: Post): Promise<Posted> {
  let posted: Posted | undefined;
  post.begun.then((begun) => {
    posted = begun;
    peer.inbox.wake();
  });
  return peer.inbox.wait(what, () => posted);
}

/** The first request of a client, with other headers. */
export async function knock(stage: Stage, headers: Headers): Promise<Reply> {
  const peer = await stage.connect();
  if (stage.revision.isStateless) return plain(stage, peer, headers);
  const clientInfo = { name: "portolan-check", version: "0.1.0" };
  return peer.request(
    "initialize",
    { protocolVersion: stage.revision.date, capabilities: {}, clientInfo },
    { headers },
  );
}

/** Expects any refusal that blames the client. */
export function expectRefusal(reply: Reply, what: string): string {
  const { status = 0 } = reply;
  check(status >= 400 && status < 500, () => `${what}; ${reply.evidence("a refusal")}`);
  return `${what}; ${reply.proof}`;
}
