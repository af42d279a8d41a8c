import type { Rows } from "./row.ts";

export const rowsC: Rows = {};
