/** A JSON object of unknown content. */
export type JsonObject = { readonly [name: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value at a path of members; `undefined` if a part is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);
}

export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** Returns whether a value is nested deeper than this many levels. Does not recurse: peers nest deeper than the stack. */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  let inner = [value];
  for (let level = 0; level <= levels; level++) {
    inner = inner.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
    if (inner.length === 0) return false;
  }
  return true;
}

/** Formats a value as one short line. */
export function show(value: unknown, limit = 200): string {
  const text = (typeof value === "string" ? value : (JSON.stringify(value) ?? String(value))).replace(/\s+/g, " ");
  return text.length <= limit ? text : `${text.slice(0, limit)}…`;
}

/** True if two JSON values are equal, in any order of members. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, index) => isSame(value, other[index]));
  }
  if (!isObject(one) || !isObject(other)) return one === other;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => isSame(one[name], other[name]));
}
