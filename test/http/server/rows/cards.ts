import { revisions } from "../../../kit/revisions.ts";
import type { Row } from "../../../requirements/rows/row.ts";

/** Server cards, on the server. Those of the command are in `test/cli/cards-rows.ts`. */
export const rowsCards: { readonly [row: string]: Row } = {
  X130: {
    about: "the card is below the endpoint, has its own media type, and agrees with the live server",
    on: revisions,
  },
  X131: {
    about: "anyone may read the card, from any page, with ETag and Cache-Control, and it has no secret",
    on: revisions,
  },
  X132: { about: "the catalog of the domain names the card, or has it", on: revisions },
};
