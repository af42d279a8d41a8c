const sections = "test/http/server/sections";
const faults = "test/http-faults";
const pages = `${sections}/hostile-pages.ts`;
const bytes = `${sections}/hostile-bytes.ts`;
const clients = `${sections}/hostile-clients.ts`;
const texts = `${sections}/hostile-texts.ts`;
const limits = `${sections}/limits.ts`;
const sessions = `${sections}/sessions.ts`;
const schemas = "packages/portolan/src/schema";

/** A file, and words from the name of a test in it. */
export type Tested = readonly [file: string, name: string];

/** Which tests hold against each threat to a server over HTTP, by its number. */
export const threats: { readonly [threat: string]: readonly Tested[] } = {
  T01: [
    [pages, "another host than loopback is refused on every verb, before the body is read"],
    [pages, "a foreign origin is refused, an unreadable one and null too, and none is fine"],
    [`${sections}/http-sse.ts`, "a foreign origin and a foreign host are refused at both addresses"],
  ],
  T02: [
    [pages, "a body that a page may send without asking is refused with 415"],
    [pages, "a request across sites is refused although it shows no origin"],
  ],
  T03: [
    [pages, "no page may read an answer unless its origin is listed"],
    [pages, "a page that asks first hears which headers it may send, without being authenticated"],
  ],
  T04: [[pages, "another address than loopback needs authentication or a word"]],
  T05: [
    [`${faults}/isolation.test.ts`, "of 200 clients with equal ids and tokens none hears what is for another"],
    [`${faults}/isolation.test.ts`, "of 200 clients that listen under one id each hears of its own resources only"],
    [clients, "a hundred clients with equal ids and tokens each hear their own answer"],
  ],
  T06: [
    [clients, "the stream of a session cannot be taken by another principal"],
    [sessions, "a session id is long, of visible ASCII, and never the same"],
    [sessions, "a session of one principal does not exist for another, whatever is asked"],
  ],
  T07: [
    [clients, "a foreign session and an unknown one are answered alike"],
    [clients, "a question of one session cannot be answered in another"],
    [`${sections}/resumption.ts`, "events of another session are not there"],
  ],
  T08: [
    [clients, "a state in which any character was changed is refused"],
    [`${sections}/stateless.ts`, "the state of one principal is nothing to another"],
    ["test/requirements/sections/rounds/states.ts", "a flipped byte, another tool, other arguments, another method"],
  ],
  T09: [
    [bytes, "a header that came twice is never taken for one of them"],
    [`${sections}/headers.ts`, "Mcp-Method must be there and say what the body says, to the letter"],
    [`${sections}/headers.ts`, "marked arguments must be repeated in their headers, nested ones too"],
  ],
  T10: [
    [bytes, "what a verifier says cannot add headers or break the answer"],
    [bytes, "a challenge with a line end in it is an error of ours, not two headers"],
  ],
  T11: [
    [bytes, "two lengths, a length beside chunks, and odd line ends are refused"],
    [`${faults}/bodies.test.ts`, "that is longer than its length says is read as far as that"],
    [`${faults}/bodies.test.ts`, "whose length is %s is refused"],
  ],
  T12: [[bytes, "a body over the limit is refused with 413, whatever it says about its length"]],
  T13: [
    [bytes, "a compressed body is refused with 415"],
    ["test/http-client/replies.test.ts", "compressed answers are not asked for"],
  ],
  T14: [
    [bytes, "JSON of any depth is answered, and the server goes on"],
    [bytes, "ids that are no strings or safe integers are refused"],
  ],
  T15: [
    [bytes, "headers and bodies that do not come are given up with 408"],
    [`${faults}/bodies.test.ts`, "that drips is given up although something always comes"],
    [`${faults}/bodies.test.ts`, "that drip are given up although something always comes"],
  ],
  T16: [
    [`${faults}/many-streams.test.ts`, "5,000 streams are held, one more is refused, none is cut, and calls go on"],
    [limits, "one stream more than allowed is refused with 503, and those that are there go on"],
    [limits, "one principal cannot take all streams"],
  ],
  T17: [
    [limits, "a client that does not read is cut, and others are served"],
    [`${faults}/slow-reader.test.ts`, "loses progress and logs, and never the result"],
    [`${faults}/slow-reader.test.ts`, "is cut when it leaves too much unread that may not be lost"],
  ],
  T18: [
    [limits, "no more sessions than allowed, until one ends"],
    [limits, "no more sessions in a minute than allowed"],
    [`${faults}/abandoned-sessions.test.ts`, "10,000 sessions that nobody comes back to leave the heap as it was"],
  ],
  T19: [
    [texts, "headers and addresses made to take long are answered like others"],
    ["packages/portolan/src/protocol/uri-template.test.ts", "a long URI made for the template is refused"],
  ],
  T20: [
    [bytes, "what a handler threw stays inside, and so does what a verifier threw"],
    [bytes, "every refusal is JSON, also where nothing is served"],
  ],
  T21: [
    [bytes, "nothing that a body can be ends the server"],
    ["test/fuzz.test.ts", "no sequence of messages stops a server process"],
  ],
  T22: [[texts, "nothing that a client says gets into the output of the process"]],
  T23: [[clients, "requests of one id are each answered, on their own connections"]],
  T24: [[bytes, "members with other capitals are other members"]],
  T25: [[bytes, "names that every object has are unknown tools, and arguments of that name harm nobody"]],
  T26: [
    ["test/requirements/client/sections/schemas.ts", "neither of inputs nor of outputs"],
    ["test/requirements/client/sections/schemas.ts", "schemas and values alike"],
    [`${schemas}/json-schema.test.ts`, "a pattern with several repeats is not run on long text"],
  ],
  T27: [[bytes, "a batch of more than a hundred members is refused whole"]],
  T28: [
    [clients, "a cancel hits all requests of that id and session, and of no other"],
    [clients, "a cancel that names nothing sensible does no harm"],
  ],
};
