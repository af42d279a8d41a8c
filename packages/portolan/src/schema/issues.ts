/** One wrong place in a value; `path` reads like `rows[3].id` and is empty for the value itself. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** Joins the keys that lead to a place: `["rows", 3, "id"]` becomes `rows[3].id`. */
export function toPath(keys: readonly PropertyKey[]): string {
  let path = "";
  for (const key of keys) {
    if (typeof key === "number") path += `[${key}]`;
    else if (typeof key === "symbol" || /^[\p{ID_Start}$_][\p{ID_Continue}$-]*$/u.test(key)) {
      path += path === "" ? String(key) : `.${String(key)}`;
    } else path += `[${JSON.stringify(key)}]`;
  }
  return path;
}
