import { revisions, stateful } from "../../../../kit/revisions.ts";
import { type Row, server } from "../../../rows/row.ts";

/** HTTP+SSE, the transport of the oldest revision. */
export const rowsD: { readonly [row: string]: Row } = {
  "C-D1": { about: "a stream to listen on and an address to post to", on: stateful },
  "C-D2": { about: "the first event names the address, the others are messages", on: stateful },
  "C-D3": { about: "messages go to the origin of the stream only", on: stateful },
  "C-D4": { about: "the origin is checked", later: server },
  "C-D5": { about: "both transports are served side by side", later: server },
  "C-D6": { about: "how an old server is recognised", on: revisions },
  "C-XD1": { about: "a stream that is lost is opened again, with the handshake", on: stateful },
};
