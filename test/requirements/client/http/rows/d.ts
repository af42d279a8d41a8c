import { revisions, stateful } from "../../../../kit/revisions.ts";
import { type Row, server } from "../../../rows/row.ts";

/** HTTP+SSE, the transport of the oldest revision. */
export const rowsD: { readonly [row: string]: Row } = {
  "C-D1": { about: "one endpoint for the SSE stream and one for POST", on: stateful },
  "C-D2": { about: "the first event is `endpoint` with the address to post to; the others are messages", on: stateful },
  "C-D3": { about: "messages are posted to the origin of the stream only", on: stateful },
  "C-D4": { about: "the origin is checked", later: server },
  "C-D5": { about: "both transports are served side by side", later: server },
  "C-D6": { about: "how a client detects an old server", on: revisions },
  "C-XD1": { about: "a lost stream is reopened, with a new handshake", on: stateful },
};
