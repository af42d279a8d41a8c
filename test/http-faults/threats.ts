const sections = "test/http/server/sections";
const faults = "test/http-faults";
const pages = `${sections}/hostile-pages.ts`;
const bytes = `${sections}/hostile-bytes.ts`;
const clients = `${sections}/hostile-clients.ts`;
const texts = `${sections}/hostile-texts.ts`;
const limits = `${sections}/limits.ts`;
const sessions = `${sections}/sessions.ts`;
const schemas = "packages/portolan/src/schema";

/** A file, and a part of the title of a test in it. */
export type Tested = readonly [file: string, name: string];

/** The tests for each threat to a server over HTTP, by threat number. */
export const threats: { readonly [threat: string]: readonly Tested[] } = {
  T01: [
    [pages, "a host other than loopback is refused for every method, before the body is read"],
    [pages, "a foreign, invalid or null origin is refused; a missing or own origin is allowed"],
    [`${sections}/http-sse.ts`, "a foreign origin and a foreign host are refused at both addresses"],
  ],
  T02: [
    [pages, "content types that need no preflight request are refused with 415"],
    [pages, "a cross-site request without an origin is refused"],
  ],
  T03: [
    [pages, "answers have no CORS headers for origins that are not listed"],
    [pages, "a preflight request is answered with the allowed headers, without authentication"],
  ],
  T04: [[pages, "an address other than loopback needs verify or dangerouslyAllowUnauthenticated"]],
  T05: [
    [`${faults}/isolation.test.ts`, "200 clients with equal ids and progress tokens receive only their own messages"],
    [
      `${faults}/isolation.test.ts`,
      "200 clients that listen with the same id receive updates of their own resources only",
    ],
    [clients, "100 clients with equal ids and progress tokens each receive their own answer"],
  ],
  T06: [
    [clients, "another principal cannot take over the stream of a session"],
    [sessions, "a session id is long, visible ASCII and unique"],
    [sessions, "a session of one principal does not exist for another, for any request"],
  ],
  T07: [
    [clients, "a foreign session and an unknown one get the same answer"],
    [clients, "a request to one session cannot be answered in another"],
    [`${sections}/resumption.ts`, "events of another session are not replayed"],
  ],
  T08: [
    [clients, "a request state with any changed character is refused"],
    [`${sections}/stateless.ts`, "the request state of one principal is refused from another"],
    [
      "test/requirements/sections/rounds/states.ts",
      "a state with a changed byte, tool, arguments or method, or an expired one",
    ],
  ],
  T09: [
    [bytes, "a repeated header is refused"],
    [`${sections}/headers.ts`, "Mcp-Method must be present and equal the method of the body exactly"],
    [`${sections}/headers.ts`, "annotated arguments must be mirrored in their headers, nested ones too"],
  ],
  T10: [
    [bytes, "text of a verifier cannot inject headers or break the answer"],
    [bytes, "a challenge with a line break is answered 500 and injects no header"],
  ],
  T11: [
    [bytes, "two lengths, a length with chunks, and invalid line ends are refused"],
    [`${faults}/bodies.test.ts`, "that is longer than its length is cut at its length"],
    [`${faults}/bodies.test.ts`, "whose length is %s is refused"],
  ],
  T12: [[bytes, "a body above the limit is refused with 413, with or without a content-length"]],
  T13: [
    [bytes, "a compressed body is refused with 415"],
    ["test/http-client/replies.test.ts", "requests no compression"],
  ],
  T14: [
    [bytes, "deeply nested JSON is answered, and the server continues"],
    [bytes, "ids that are neither strings nor safe integers are refused"],
  ],
  T15: [
    [bytes, "headers and bodies that do not arrive are answered 408"],
    [`${faults}/bodies.test.ts`, "that arrives byte by byte is answered 408 in time"],
    [`${faults}/bodies.test.ts`, "that arrive byte by byte are answered 408 or 431 in time"],
  ],
  T16: [
    [`${faults}/many-streams.test.ts`, "5,000 streams stay open, another is refused, and calls are served"],
    [limits, "a stream above the limit is refused with 503, and open streams continue"],
    [limits, "streams are limited per caller"],
  ],
  T17: [
    [limits, "a client that does not read is disconnected, and other requests are served"],
    [`${faults}/slow-reader.test.ts`, "loses progress and logs, but never the result"],
    [`${faults}/slow-reader.test.ts`, "is disconnected when its backlog of updates is too large"],
  ],
  T18: [
    [limits, "sessions above the limit are refused with 503 until one ends"],
    [limits, "sessions above the rate limit are refused with 503, those of one caller with 429"],
    [`${faults}/abandoned-sessions.test.ts`, "10,000 abandoned sessions are removed from memory after they expire"],
  ],
  T19: [
    [texts, "headers and URIs that provoke slow matching are answered promptly"],
    ["packages/portolan/src/protocol/uri-template.test.ts", "a long URI made for the template is refused"],
  ],
  T20: [
    [bytes, "errors of handlers and verifiers are reported and not revealed to the client"],
    [bytes, "every refusal is JSON, also at unknown paths"],
  ],
  T21: [
    [bytes, "no body crashes the server"],
    ["test/fuzz.test.ts", "no sequence of messages stops a server process"],
  ],
  T22: [[texts, "no text of a client is written to the output of the process"]],
  T23: [[clients, "requests with the same id are each answered on their own connection"]],
  T24: [[bytes, "member names are case-sensitive"]],
  T25: [[bytes, "names of Object.prototype are unknown tools, and such arguments do not pollute objects"]],
  T26: [
    ["test/requirements/client/sections/schemas.ts", "references in input and output schemas are never fetched"],
    ["test/requirements/client/sections/schemas.ts", "a deeply nested value or schema rejects its call"],
    [`${schemas}/json-schema.test.ts`, "does not run a pattern with several repeats on long text"],
  ],
  T27: [[bytes, "a batch of more than 100 members is refused as a whole"]],
  T28: [
    [clients, "a cancel aborts all requests with that id in that session, and no others"],
    [clients, "a cancel with an invalid request id is answered 202 and ignored"],
  ],
};
