import { revisions, stateful, stateless } from "../../../kit/revisions.ts";
import type { Row } from "../../../requirements/rows/row.ts";

const any = ["2025-11-25", "2026-07-28"] as const;

/** Attacks of hostile clients and web pages on a server over HTTP, by threat number. */
export const rowsT: { readonly [row: string]: Row } = {
  T01: { about: "DNS rebinding does not give a page access", on: any },
  T02: { about: "a page cannot post without a preflight request", on: any },
  T03: { about: "only listed origins may read answers", on: any },
  T04: { about: "a server without authentication listens on loopback only", on: ["2026-07-28"] },
  T05: { about: "no client receives messages for another", on: any },
  T06: { about: "a session cannot be guessed or stolen", on: stateful },
  T07: { about: "a session of one principal does not exist for another", on: stateful },
  T08: { about: "the state of a call cannot be changed or used by another caller", on: stateless },
  T09: { about: "headers that disagree with the body are refused", on: stateless },
  T10: { about: "no text of a request or verifier can inject headers into an answer", on: any },
  T11: { about: "an ambiguous request (request smuggling) is refused", on: ["2026-07-28"] },
  T12: { about: "a body that is too large is refused at once", on: any },
  T13: { about: "compressed bodies are refused", on: any },
  T14: { about: "deep and odd JSON does no harm", on: revisions },
  T15: { about: "slow headers and slow bodies end with a timeout", on: ["2026-07-28"] },
  T16: { about: "streams above the limit are refused, and open streams stay open", on: any },
  T17: { about: "a client that does not read is disconnected", on: any },
  T18: { about: "sessions are limited in number and rate, and unused sessions end", on: stateful },
  T19: { about: "no input takes excessive time to parse or match", on: any },
  T20: { about: "errors are JSON and reveal no internal details", on: any },
  T21: { about: "no request crashes the server", on: revisions },
  T22: { about: "text of a peer cannot forge log lines", on: any },
  T23: { about: "requests with equal ids each get their own answer", on: revisions },
  T24: { about: "names are compared exactly", on: any },
  T25: { about: "names of Object.prototype have no effect", on: any },
  T26: { about: "schemas of peers", untestable: "clients send no schemas to a server; the client's tests cover it" },
  T27: { about: "a batch has at most a hundred members", on: ["2025-03-26"] },
  T28: { about: "a client can cancel only its own requests, and never initialize", on: stateful },
};
