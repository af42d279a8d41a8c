import { revisions, stateful, stateless } from "../../../kit/revisions.ts";
import type { Row } from "../../../requirements/rows/row.ts";

const any = ["2025-11-25", "2026-07-28"] as const;

/** What hostile clients and pages do to a server over HTTP, by the numbers of the threats. */
export const rowsT: { readonly [row: string]: Row } = {
  T01: { about: "a page that rebinds its name reaches nothing", on: any },
  T02: { about: "a page cannot post without asking first", on: any },
  T03: { about: "only listed origins may read answers", on: any },
  T04: { about: "no address but loopback without authentication", on: ["2026-07-28"] },
  T05: { about: "no client hears what is for another", on: any },
  T06: { about: "a session cannot be guessed or stolen", on: stateful },
  T07: { about: "what was made for one principal does not exist for another", on: stateful },
  T08: { about: "the state of a call cannot be changed or passed on", on: stateless },
  T09: { about: "headers that disagree with the body are refused", on: stateless },
  T10: { about: "nothing of a request gets into the headers of an answer", on: any },
  T11: { about: "a request that could be read in two ways is refused", on: ["2026-07-28"] },
  T12: { about: "a body that is too large is refused at once", on: any },
  T13: { about: "compressed bodies are refused", on: any },
  T14: { about: "deep and odd JSON does no harm", on: revisions },
  T15: { about: "slow headers and slow bodies are given up", on: ["2026-07-28"] },
  T16: { about: "more streams than allowed are refused, and none is cut", on: any },
  T17: { about: "a client that does not read is cut", on: any },
  T18: { about: "sessions are limited, and end when nobody uses them", on: stateful },
  T19: { about: "no text takes long to read, whatever it was made for", on: any },
  T20: { about: "errors are JSON and say nothing about the inside", on: any },
  T21: { about: "no request ends the server", on: revisions },
  T22: { about: "what a peer says cannot forge log lines", on: any },
  T23: { about: "requests of equal ids are answered each on its own", on: revisions },
  T24: { about: "names are compared exactly", on: any },
  T25: { about: "names that every object has mean nothing", on: any },
  T26: { about: "schemas of peers", untestable: "clients give a server no schemas; the tests of the client hold" },
  T27: { about: "a batch has at most a hundred members", on: ["2025-03-26"] },
  T28: { about: "only one's own requests can be cancelled, initialize never", on: stateful },
};
