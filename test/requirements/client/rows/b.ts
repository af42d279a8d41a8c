import { revisions, stateful, stateless, transports } from "../../../kit/revisions.ts";
import { http, type Row } from "../../rows/row.ts";

/** Lifecycle, versions, discovery. */
export const rowsB: { readonly [row: string]: Row } = {
  "C-B1": { about: "the handshake comes first, and initialized is sent once", on: stateful },
  "C-B2": { about: "the client identifies itself with the members of its revision", on: revisions },
  "C-B3": { about: "instructions reach the user", on: revisions },
  "C-B4": { about: "a version that both support is negotiated, or the client disconnects", on: revisions },
  "C-B5": { about: "nothing is sent before the handshake is answered, and early messages are accepted", on: stateful },
  "C-B6": { about: "the negotiated version and capabilities bind the client", on: revisions },
  "C-B7": { about: "each request has its metadata", on: stateless },
  "C-B8": { about: "the client shows the server info with all its members", on: revisions },
  "C-B9": { about: "the name of a server changes nothing", on: revisions },
  "C-B10": { about: "a stateless server is discovered with server/discover", on: stateless },
  "C-B11": { about: "methods of a capability that is not offered are not called", on: revisions },
  "C-B12": { about: "extensions and experimental capabilities are sent and received", on: revisions },
  "C-B13": { about: "requests have time limits", on: revisions },
  "C-B14": { about: "a server is ended by closing its input, then by signals", on: revisions, over: ["stdio"] },
  "C-B15": { about: "shutdown over HTTP", later: http },
  "C-B16": { about: "the era of an unknown server is detected", on: revisions },
  "C-B17": { about: "a server without handshakes answers one with its versions", on: stateful },
  "C-B18": {
    about: "features are deprecated before they are removed",
    untestable: "a rule for the authors of the protocol",
  },
  "C-XB1": { about: "a cached era saves the probe, and a wrong one does not prevent the connection", on: revisions },
  "C-XB2": { about: "connecting has a time limit and can be aborted", on: revisions, over: transports },
  "C-XB3": { about: "close rejects pending calls once, and can be called again", on: revisions },
};
