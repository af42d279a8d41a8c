import type { Rows } from "./row.ts";

export const rowsJ: Rows = {};
