import { createHash } from "node:crypto";
import { ToolError } from "portolan/server";

/**
 * Hides a service's own position in a list, such as a page number, in a cursor. `list` tells lists apart: it has all
 * arguments that decide what is in the list.
 */
export function toCursor(list: unknown, position: string | number): string {
  return Buffer.from(JSON.stringify([digestOf(list), String(position)])).toString("base64url");
}

/** Returns the position in a cursor. Throws a `ToolError` for a cursor of another list. */
export function fromCursor(list: unknown, cursor: string): string {
  try {
    const [of, position] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as readonly unknown[];
    if (of === digestOf(list) && typeof position === "string") return position;
  } catch {
    // The error below says what was expected.
  }
  throw new ToolError("cursor: expected one that the same tool returned for the same arguments");
}

function digestOf(list: unknown): string {
  return createHash("sha256").update(JSON.stringify(list)).digest("base64url").slice(0, 16);
}

/** Returns the page number behind the `next` link of a `Link` header; undefined on the last page. */
export function nextPageOf(link: string | null): string | undefined {
  // Addresses can have commas, which also stand between links.
  const links = link?.matchAll(/<([^>]*)>([^<]*)/g) ?? [];
  const [, address] = [...links].find(([, , parameters = ""]) => /;\s*rel="?next\b/.test(parameters)) ?? [];
  if (address === undefined || !URL.canParse(address)) return undefined;
  return new URL(address).searchParams.get("page") ?? undefined;
}
