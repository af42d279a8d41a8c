import type { Rows } from "./row.ts";

export const rowsA: Rows = {};
