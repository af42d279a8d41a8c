import { stateful } from "../../../kit/revisions.ts";
import { client, type Row } from "../../../requirements/rows/row.ts";

/** HTTP+SSE, the transport of the oldest revision. */
export const rowsD: { readonly [row: string]: Row } = {
  D1: { about: "one endpoint for the SSE stream and one for POST", on: stateful },
  D2: { about: "the first event is `endpoint` with the address to post to; the others are messages", on: stateful },
  D3: { about: "the endpoint address has the server's own origin", on: ["2024-11-05"] },
  D4: { about: "the origin is checked at both addresses", on: ["2024-11-05"] },
  D5: { about: "both transports are served side by side", on: ["2024-11-05"] },
  D6: { about: "how a client detects an old server", later: client },
};
