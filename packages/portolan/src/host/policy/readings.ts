/** More items than this are looked at by nobody. */
const maxItems = 1_000;

/**
 * What a server may take an argument for: a number in quotes for a number, one item for a list of it, a path for where it
 * leads. The value itself is not among them.
 */
export function readingsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value.slice(0, maxItems).flatMap((item) => [item, ...readingsOfOne(item)]);
  return readingsOfOne(value);
}

function readingsOfOne(value: unknown): readonly unknown[] {
  if (typeof value === "number" || typeof value === "boolean") return [String(value)];
  if (typeof value !== "string") return [];
  const text = value.trim();
  const readings: unknown[] = [text, toPath(text)];
  if (text !== "" && Number.isFinite(Number(text))) readings.push(Number(text));
  if (/^(?:true|false)$/i.test(text)) readings.push(text.toLowerCase() === "true");
  return readings;
}

/** A text as a path or an address that was followed to its end. */
function toPath(text: string): string {
  const plain = decode(text.normalize("NFKC")).replaceAll("\\", "/");
  const [, scheme = "", rest = ""] = /^([a-z][a-z\d+.-]*:\/\/)?([\s\S]*)$/i.exec(plain) ?? [];
  const steps: string[] = [];
  for (const step of rest.split("/")) {
    if (step === "..") steps.pop();
    else if (step !== "." && step !== "") steps.push(step);
  }
  return `${scheme}${rest.startsWith("/") ? "/" : ""}${steps.join("/")}`;
}

function decode(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return bytes;
    }
  });
}
