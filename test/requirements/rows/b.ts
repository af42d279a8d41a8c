import { revisions, stateful, stateless } from "../../kit/revisions.ts";
import { client, http, type Row } from "./row.ts";

export const rowsB: { readonly [row: string]: Row } = {
  B1: { about: "a handshake comes first", on: stateful },
  B2: { about: "clients identify themselves, and handlers see it", on: revisions },
  B3: { about: "instructions reach the client", on: revisions },
  B4: { about: "the version is the requested one, or another that the server supports", on: revisions },
  B5: { about: "before the handshake is over only pings are answered, and the server sends no requests", on: stateful },
  B6: { about: "the negotiated version and capabilities bind the server", on: revisions },
  B7: { about: "each stateless request carries its metadata", on: stateless },
  B8: { about: "the server identifies itself with the members of its revision", on: revisions },
  B9: { about: "the name of a client changes nothing", on: revisions },
  B10: { about: "a stateless server describes itself on request", on: stateless },
  B11: { about: "methods of a capability that is not offered are unknown", on: revisions },
  B12: { about: "extensions and experiments are negotiated", on: revisions },
  B13: { about: "requests have time limits", later: client },
  B14: { about: "the server ends with its input", on: revisions, over: ["stdio"] },
  B15: { about: "shutdown over HTTP", later: http },
  B16: { about: "one channel serves both eras", on: revisions },
  B17: {
    about: "a server without handshakes answers one with its versions",
    untestable: "every server of this library also serves handshakes",
  },
  B18: {
    about: "features are deprecated before they are removed",
    untestable: "a rule for the authors of the protocol",
  },
  "X-R16": { about: "on a signal running calls complete, then the process ends", on: revisions, over: ["stdio"] },
  "X-T35": { about: "the process ends when its client has gone", on: revisions, over: ["stdio"] },
  "X-rehandshake": { about: "a second handshake replaces the first", on: stateful },
};
