import { decodeHeaderValue, encodeHeaderValue } from "./header-value.ts";

/** Why a header does not carry a value of the body; undefined when it does. */
export function problemOfValue(name: string, header: string | undefined, value: string): string | undefined {
  if (header === undefined) return mismatch(name, value, header);
  const came = decodeHeaderValue(header);
  if (came === value) return undefined;
  if (came === undefined) {
    return `${mismatch(name, value, header)}, which is neither visible ASCII nor base64 of UTF-8`;
  }
  // UTF-8 has no lone surrogates: they travel as replacement characters.
  return came === decodeHeaderValue(encodeHeaderValue(value)) ? undefined : mismatch(name, value, came);
}

/** One line about a header that is not what the body asks for. */
export function mismatch(name: string, expected: string, came: string | undefined): string {
  const got = came === undefined ? "no such header" : quote(came);
  const line = `${name}: expected ${quote(expected)} as in the body, got ${got}`;
  return came?.includes(",") && !expected.includes(",") ? `${line} (was it sent twice?)` : line;
}

/** Text of the peer for an error message, on one line and not all of it. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
