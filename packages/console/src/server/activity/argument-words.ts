/** Returns the recorded arguments of a call in one short line: `flight: PT521, seats: 2`. */
export function argumentWords(args: unknown, maxChars: number): string {
  if (typeof args !== "object" || args === null) return "";
  const text = Object.entries(args)
    .map(([name, value]) => `${name}: ${valueWords(value)}`)
    .join(", ");
  return cut(text, maxChars);
}

const maxValueChars = 80;

function valueWords(value: unknown): string {
  if (typeof value === "string") return cut(value.replace(/\s+/g, " "), maxValueChars);
  if (Array.isArray(value)) return listWords(value);
  if (typeof value !== "object" || value === null) return String(value);
  // The log has the beginning of a long text.
  if ("head" in value && typeof value.head === "string" && "digest" in value) return valueWords(value.head);
  const names = Object.keys(value);
  return `{ ${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""} }`;
}

function listWords(values: readonly unknown[]): string {
  const isPlain = values.every((value) => typeof value !== "object" || value === null);
  if (isPlain && values.length <= 3) return values.map(valueWords).join(" and ") || "none";
  return values.length === 1 ? "1 item" : `${values.length} items`;
}

function cut(text: string, maxChars: number): string {
  const chars = Array.from(text.slice(0, maxChars * 2));
  return chars.length > maxChars ? `${chars.slice(0, maxChars - 1).join("")}…` : text;
}
