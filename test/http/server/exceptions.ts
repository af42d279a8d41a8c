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
    says: "string and integer ids are returned with their type; other ids are refused",
    on: untilJune,
    why: nullIds,
  },
  { row: "A4", says: "each response has the id and either a result or an error", on: untilJune, why: nullIds },
  { row: "A7", says: "no notification is answered, valid or not", on: stateless, why: sessions },
  { row: "A8", says: "a batch is answered as a batch, without its notifications", on: ["2025-03-26"], why: nullIds },
  {
    row: "A8",
    says: "a batch is refused as a whole in revisions without batches",
    on: ["2024-11-05", "2025-06-18"],
    why: nullIds,
  },
  { row: "A8", says: "a batch is refused as a whole in revisions without batches", on: stateless, why: sessions },
  { row: "A8", says: "a handshake in a batch is refused", on: revisions, why: sessions },
  { row: "A18", says: "capabilities, log level and identity apply to one request only", on: stateless, why: sessions },
  { row: "X-T21", says: "after each malformed message the next request is served", on: stateless, why: sessions },
  { row: "X-T21", says: "after each malformed message the next request is served", on: stateful, why: handshakes },
  {
    row: "X-T23",
    says: "a second request with an id in use is refused, and both eras share the ids",
    on: revisions,
    why: "over HTTP each request has its own answer, so equal ids are allowed",
  },
  { row: "X-T27", says: "a batch of 100 members is served, one of 101 is refused", on: ["2025-03-26"], why: nullIds },
  {
    row: "X-R11",
    says: "a malformed request is answered, a malformed response never",
    on: revisions,
    why: "over HTTP every request has a status",
  },
  {
    row: "X-R18",
    says: "unknown, late, repeated and mistyped responses are ignored",
    on: revisions,
    why: "over HTTP the ids of the server's requests are strings, and a stateless server refuses responses",
  },
  {
    row: "X-R19",
    says: "an id beyond 2^53 is refused instead of being answered with another",
    on: revisions,
    why: "over HTTP each refusal has its own connection, so they have no order",
  },
  {
    row: "XI4",
    says: "no progress message, subscription id, error code or missing id of a later revision",
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
    says: "an incomplete handshake is refused and begins no session",
    on: stateful,
    why: sessions,
  },
  {
    row: "B4",
    says: "a supported version is echoed, any other gets the newest",
    on: stateful,
    why: handshakes,
  },
  {
    row: "B5",
    says: "pings are answered at any time, and the server sends nothing by itself",
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
    says: "a handshake does not affect stateless requests",
    on: stateless,
    why: handshakes,
  },
  {
    row: "X-rehandshake",
    says: "a newer handshake replaces the older one and ends its subscriptions",
    on: stateful,
    why: handshakes,
  },
  {
    row: "J5",
    says: "cancelling aborts the handler with the reason, and no response is sent",
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
    says: "requests with the ids 0 and the empty string can be cancelled, and only by exactly that id",
    on: stateless,
    why: closing,
  },
];
