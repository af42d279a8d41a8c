import { revisions, stateful, stateless, transports } from "../../../kit/revisions.ts";
import { http, type Row } from "../../rows/row.ts";

/** Lifecycle, versions, discovery. */
export const rowsB: { readonly [row: string]: Row } = {
  "C-B1": { about: "the handshake comes first and is told to be over once", on: stateful },
  "C-B2": { about: "the client says who it is, with the members its revision has", on: revisions },
  "C-B3": { about: "instructions reach the user", on: revisions },
  "C-B4": { about: "a version that both speak is found, or the connection is given up", on: revisions },
  "C-B5": { about: "nothing is sent before the handshake is answered, and early traffic is borne", on: stateful },
  "C-B6": { about: "the negotiated version and capabilities bind the client", on: revisions },
  "C-B7": { about: "each request carries its metadata", on: stateless },
  "C-B8": { about: "who the server is, with all it says of itself", on: revisions },
  "C-B9": { about: "what a server calls itself changes nothing", on: revisions },
  "C-B10": { about: "a stateless server is asked what it is", on: stateless },
  "C-B11": { about: "what a server does not offer is not asked of it", on: revisions },
  "C-B12": { about: "extensions and experiments are told and heard", on: revisions },
  "C-B13": { about: "requests have time limits", on: revisions },
  "C-B14": { about: "a server is ended by the end of its input, then by signals", on: revisions, over: ["stdio"] },
  "C-B15": { about: "shutdown over HTTP", later: http },
  "C-B16": { about: "the era of an unknown server is found out", on: revisions },
  "C-B17": { about: "a server without handshakes tells its versions to those who try one", on: stateful },
  "C-B18": {
    about: "features are deprecated before they are removed",
    untestable: "a rule for the people who write the protocol",
  },
  "C-XB1": { about: "a remembered era saves the probe, and a wrong memory costs no connection", on: revisions },
  "C-XB2": { about: "connecting has a time limit and can be given up", on: revisions, over: transports },
  "C-XB3": { about: "closing fails what is pending once, and can be repeated", on: revisions },
};
