import type { Rows } from "./row.ts";

export const rowsB: Rows = {};
