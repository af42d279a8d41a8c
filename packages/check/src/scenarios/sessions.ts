import { show } from "../json.ts";
import { check, NotApplicable } from "../outcome.ts";
import type { Peer } from "../peer.ts";
import { httpOf, lastStateful, type Scenario } from "../scenario.ts";
import { expectStatus, finish, plain } from "./knock.ts";

const statefulHttp = { transports: ["http"], until: lastStateful } as const;

function sessionOf(peer: Peer): string {
  const session = httpOf(peer).standing["mcp-session-id"];
  if (session === undefined) throw new NotApplicable("the server gives no session id");
  return session;
}

export const sessions: readonly Scenario[] = [
  {
    id: "http/session-id",
    title: "a session id is made of visible ASCII",
    requirements: ["E15"],
    strength: "must",
    ...statefulHttp,
    async run(stage) {
      const session = sessionOf(await stage.shared());
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
    async run(stage) {
      const peer = await stage.shared();
      sessionOf(peer);
      return expectStatus(await plain(stage, peer, { "mcp-session-id": undefined }), 400);
    },
  },
  {
    id: "http/session-unknown",
    title: "a session id that the server does not know is refused with 404",
    requirements: ["E17"],
    strength: "must",
    ...statefulHttp,
    async run(stage) {
      const peer = await stage.shared();
      sessionOf(peer);
      return expectStatus(await plain(stage, peer, { "mcp-session-id": "portolan-no-such-session" }), 404);
    },
  },
  {
    id: "http/session-ended",
    title: "a session that the client ended is gone",
    requirements: ["E17", "E18"],
    strength: "must",
    ...statefulHttp,
    async run(stage) {
      const peer = await stage.open();
      sessionOf(peer);
      const { status } = await finish(peer, "the answer to DELETE", httpOf(peer).send({ method: "DELETE" }));
      if (status === 405) throw new NotApplicable("the server lets no client end a session");
      check(
        status !== undefined && status >= 200 && status < 300,
        () => `sent DELETE; got HTTP ${status}; expected 2xx or 405`,
      );
      return expectStatus(await plain(stage, peer, {}), 404);
    },
  },
];
