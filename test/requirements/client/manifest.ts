import type { Row } from "../rows/row.ts";
import { rowsA } from "./rows/a.ts";
import { rowsB } from "./rows/b.ts";
import { rowsC } from "./rows/c.ts";
import { rowsExtensions } from "./rows/extensions.ts";
import { rowsG } from "./rows/g.ts";
import { rowsH } from "./rows/h.ts";
import { rowsI } from "./rows/i.ts";
import { rowsJ } from "./rows/j.ts";
import { rowsK } from "./rows/k.ts";
import { rowsM } from "./rows/m.ts";
import { rowsSkills } from "./rows/skills.ts";
import { rowsU } from "./rows/u.ts";
import { rowsX } from "./rows/x.ts";

/** Every requirement on a client over any transport, and those of stdio, by the row numbers of the requirements matrix. */
export const manifest: { readonly [row: string]: Row } = {
  ...rowsA,
  ...rowsB,
  ...rowsC,
  ...rowsG,
  ...rowsH,
  ...rowsI,
  ...rowsJ,
  ...rowsK,
  ...rowsM,
  ...rowsU,
  ...rowsExtensions,
  ...rowsX,
  ...rowsSkills,
};
