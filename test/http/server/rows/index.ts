import type { Row } from "../../../requirements/rows/row.ts";
import { rowsBase } from "./base.ts";
import { rowsCards } from "./cards.ts";
import { rowsD } from "./d.ts";
import { rowsE } from "./e.ts";
import { rowsF } from "./f.ts";
import { rowsT } from "./t.ts";
import { rowsTasks } from "./tasks.ts";
import { rowsX } from "./x.ts";

/** Every requirement on a server over HTTP, by the row numbers of the requirements matrix and of the threats. */
export const manifest: { readonly [row: string]: Row } = {
  ...rowsBase,
  ...rowsD,
  ...rowsE,
  ...rowsF,
  ...rowsT,
  ...rowsX,
  ...rowsCards,
  ...rowsTasks,
};
