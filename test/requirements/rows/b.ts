import { revisions, stateful, stateless } from "../../kit/revisions.ts";
import { client, http, type Row } from "./row.ts";

export const rowsB: { readonly [row: string]: Row } = {
  B1: { about: "a handshake comes first", on: stateful },
  B2: { about: "clients say who they are, and handlers see it", on: revisions },
  B3: { about: "instructions reach the client", on: revisions },
  B4: { about: "the version is the one asked for, or one that is offered instead", on: revisions },
  B5: { about: "before the handshake is over only pings are answered and nothing is asked", on: stateful },
  B6: { about: "the negotiated version and capabilities bind the server", on: revisions },
  B7: { about: "each stateless request carries its metadata", on: stateless },
  B8: { about: "the server says who it is, with the members its revision has", on: revisions },
  B9: { about: "what a client calls itself changes nothing", on: revisions },
  B10: { about: "a stateless server describes itself on request", on: stateless },
  B11: { about: "what a server does not offer it does not know", on: revisions },
  B12: { about: "extensions and experiments are negotiated", on: revisions },
  B13: { about: "requests have time limits", later: client },
  B14: { about: "the server ends with its input", on: revisions, over: ["stdio"] },
  B15: { about: "shutdown over HTTP", later: http },
  B16: { about: "both eras live on one channel", on: revisions },
  B17: {
    about: "a server without handshakes names its versions when it is sent one",
    untestable: "every server of this library also serves handshakes",
  },
  B18: {
    about: "features are deprecated before they are removed",
    untestable: "a rule for the people who write the protocol",
  },
  "X-R16": { about: "a signal lets running calls end, then the process", on: revisions, over: ["stdio"] },
  "X-T35": { about: "nothing keeps the process once its client is gone", on: revisions, over: ["stdio"] },
  "X-rehandshake": { about: "a second handshake replaces the first", on: stateful },
};
