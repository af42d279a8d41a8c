import { revisions } from "../kit/revisions.ts";
import type { Row } from "../requirements/rows/row.ts";

/** Cards, registries and bundles, in the command. `sources-rows.test.ts` finds the tests of each. */
export const sourceRows: { readonly [row: string]: Row } = {
  X133: { about: "a card is a proposal: it is shown, must be trusted, and the live server decides", on: revisions },
  X134: { about: "an entry of a registry becomes a command or an address that must be trusted", on: revisions },
  X135: { about: "a bundle is unpacked safely, and its secrets stay references", on: revisions },
};
