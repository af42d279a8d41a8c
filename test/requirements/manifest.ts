import { rowsA } from "./rows/a.ts";
import { rowsApps } from "./rows/apps.ts";
import { rowsB } from "./rows/b.ts";
import { rowsC } from "./rows/c.ts";
import { rowsExtensions } from "./rows/extensions.ts";
import { rowsG } from "./rows/g.ts";
import { rowsH } from "./rows/h.ts";
import { rowsI } from "./rows/i.ts";
import { rowsJ } from "./rows/j.ts";
import { rowsK } from "./rows/k.ts";
import { rowsM } from "./rows/m.ts";
import type { Row } from "./rows/row.ts";
import { rowsSkills } from "./rows/skills.ts";
import { rowsTasks } from "./rows/tasks.ts";
import { rowsU } from "./rows/u.ts";

export type { Row } from "./rows/row.ts";

/** Every requirement on a server over stdio or memory, by the row numbers of the requirements matrix. */
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
  ...rowsApps,
  ...rowsSkills,
  ...rowsTasks,
};
