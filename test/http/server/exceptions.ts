import { between, type RevisionDate, revisions, stateful, stateless } from "../../kit/revisions.ts";

/** A requirement on channels that does not apply over HTTP, where other rules hold. */
export interface HttpException {
  readonly row: string;
  readonly says: string;
  readonly on: readonly RevisionDate[];
  readonly why: string;
}

const untilJune = between("2024-11-05", "2025-06-18");
const nullIds = "over HTTP every revision omits an id that could not be read";
const sessions = "over HTTP a request without a session is refused by its headers, before its body is parsed";
const handshakes = "over HTTP a second handshake begins another session";
const closing =
  "over HTTP closing the stream cancels the request: it has no reason, and other connections may be faster";

/** The requirements that are not run over HTTP, with the reasons. The HTTP sections test the rules that hold instead. */
export const exceptions: readonly HttpException[] = [
  {
    row: "A2",
    says: "strings and integers come back with their type, other ids are refused",
    on: untilJune,
    why: nullIds,
  },
  { row: "A4", says: "each response has the id and either a result or an error", on: untilJune, why: nullIds },
  { row: "A7", says: "no notification is answered, whatever it says", on: stateless, why: sessions },
  { row: "A8", says: "a batch is answered as a batch, without its notifications", on: ["2025-03-26"], why: nullIds },
  {
    row: "A8",
    says: "a batch is refused as a whole where there are none",
    on: ["2024-11-05", "2025-06-18"],
    why: nullIds,
  },
  { row: "A8", says: "a batch is refused as a whole where there are none", on: stateless, why: sessions },
  { row: "A8", says: "a handshake in a batch is no handshake", on: revisions, why: sessions },
  { row: "A18", says: "capabilities, log level and identity count for one request only", on: stateless, why: sessions },
  { row: "X-T21", says: "after every odd message the next request is served", on: stateless, why: sessions },
  { row: "X-T21", says: "after every odd message the next request is served", on: stateful, why: handshakes },
  {
    row: "X-T23",
    says: "a second request under an id in use is refused, and both eras share the ids",
    on: revisions,
    why: "over HTTP each request has its own answer, so equal ids are allowed",
  },
  { row: "X-T27", says: "a hundred members are served, one more is refused", on: ["2025-03-26"], why: nullIds },
  {
    row: "X-R11",
    says: "what is no message is answered if it asks, and never if it answers",
    on: revisions,
    why: "over HTTP every request has a status",
  },
  {
    row: "X-R18",
    says: "unknown, late, double and mistyped responses are dropped",
    on: revisions,
    why: "over HTTP the ids of the server's requests are strings, and a stateless server refuses responses",
  },
  {
    row: "X-R19",
    says: "an id beyond 2^53 is refused instead of being answered under another",
    on: revisions,
    why: "over HTTP each refusal has its own connection, so they have no order",
  },
  {
    row: "XI4",
    says: "no message beside progress, no subscription ids, no codes of later revisions, no id where it was unreadable",
    on: untilJune,
    why: nullIds,
  },
  {
    row: "B1",
    says: "requests before the handshake are refused, requests after it are served",
    on: stateful,
    why: sessions,
  },
  {
    row: "B2",
    says: "a handshake that says too little is refused and leaves no session behind",
    on: stateful,
    why: sessions,
  },
  {
    row: "B4",
    says: "a supported version is echoed, any other is answered with the newest",
    on: stateful,
    why: handshakes,
  },
  {
    row: "B5",
    says: "pings are answered at any time, and the server says nothing by itself",
    on: stateful,
    why: sessions,
  },
  {
    row: "B7",
    says: "a request without version or capabilities is refused, without identity it is served",
    on: stateless,
    why: sessions,
  },
  {
    row: "B16",
    says: "a handshake beside stateless requests changes nothing for them",
    on: stateless,
    why: handshakes,
  },
  {
    row: "X-rehandshake",
    says: "the newer handshake counts, and what belonged to the older one is let go",
    on: stateful,
    why: handshakes,
  },
  {
    row: "J5",
    says: "cancelling aborts the handler with the reason, and no answer comes",
    on: stateless,
    why: closing,
  },
  {
    row: "J13",
    says: "a list that depends on the caller is private, even if the server's cache scope is public",
    on: stateless,
    why: "that server has a view for the local user, and no caller over HTTP is the local user",
  },
  {
    row: "X-R08",
    says: "0 and the empty string can be cancelled, and only what was asked under that very id",
    on: stateless,
    why: closing,
  },
];
