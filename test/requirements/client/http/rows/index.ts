import type { Row } from "../../../rows/row.ts";
import { rowsD } from "./d.ts";
import { rowsE } from "./e.ts";
import { rowsF } from "./f.ts";

/** Every requirement on a client that exists only over HTTP, by the row numbers of the requirements matrix. */
export const manifest: { readonly [row: string]: Row } = { ...rowsD, ...rowsE, ...rowsF };
