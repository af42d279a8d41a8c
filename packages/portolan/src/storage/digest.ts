import { PortolanError } from "../errors.ts";
import { toBase64url } from "./base64url.ts";

const maxDepth = 1_000;

/** JSON text that is the same for equal values: members sorted, `undefined` ones left out, the rest as JSON.stringify has it. */
export function canonicalJson(value: unknown): string {
  const text = write(value, "", 0);
  if (text !== undefined) return text;
  throw new PortolanError("unserializable", `Canonical JSON: expected a JSON value, got ${typeof value}`);
}

function write(value: unknown, member: string, depth: number): string | undefined {
  if (depth > maxDepth) {
    throw new PortolanError(
      "limit-reached",
      `Canonical JSON: expected at most ${maxDepth} levels, got more or a cycle`,
    );
  }
  if (typeof value === "bigint") {
    throw new PortolanError("unserializable", `Canonical JSON: expected a JSON value, got a bigint at "${member}"`);
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if ("toJSON" in value && typeof value.toJSON === "function") return write(value.toJSON(member), member, depth + 1);
  if (Array.isArray(value)) {
    return `[${value.map((item, index) => write(item, String(index), depth + 1) ?? "null").join(",")}]`;
  }
  const members: string[] = [];
  for (const [name, item] of Object.entries(value).sort(byName)) {
    const text = write(item, name, depth + 1);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** The SHA-256 of bytes, or of a text's UTF-8 bytes, as base64url. */
export async function sha256(content: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return toBase64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
