/** Places that the host knows. */
export type KnownPlace =
  | "userHome"
  | "workspaceFolder"
  | "workspaceFolderBasename"
  | "pathSeparator"
  | "configFolder"
  | "desktop"
  | "documents"
  | "downloads";

/** What stands for a value in a written string. */
export type Placeholder =
  | { readonly kind: "env"; readonly name: string; readonly fallback?: string }
  | { readonly kind: "input"; readonly id: string }
  | { readonly kind: "place"; readonly place: KnownPlace }
  /** Known to somebody, but not to be put in here; `reason` says why. */
  | { readonly kind: "refused"; readonly reason: string };

/** One way to write placeholders: how it is recognised, and how it is written where it can be. */
export interface Form {
  /** Sticky; each part bounded, so that reading stays linear. */
  readonly pattern: RegExp;
  readonly read: (match: RegExpExecArray) => Placeholder | undefined;
  readonly print: (placeholder: Placeholder) => string | undefined;
  /** How messages name it. */
  readonly example: string;
}

/** The ways of one product, the first that matches counts. */
export type Syntax = readonly Form[];

/** Part of a written string: text, a placeholder, or what looks like one and is none. */
export type Part =
  | { readonly text: string }
  | { readonly shown: string; readonly placeholder: Placeholder }
  | { readonly shown: string; readonly placeholder?: undefined };

/** Takes a written string apart. */
export function readParts(written: string, syntax: Syntax): readonly Part[] {
  const parts: Part[] = [];
  let from = 0;
  const pushText = (end: number) => {
    if (end > from) parts.push({ text: written.slice(from, end) });
  };
  for (let at = nextCandidate(written, 0); at !== -1; at = nextCandidate(written, Math.max(from, at + 1))) {
    const found = matchAt(written, at, syntax) ?? strayAt(written, at);
    if (!found) continue;
    pushText(at);
    parts.push(found.part);
    from = at + found.length;
  }
  pushText(written.length);
  return parts;
}

/** Parts in another product's way; the placeholder that has none there. */
export function printParts(
  parts: readonly Part[],
  syntax: Syntax,
): { readonly text: string } | { readonly no: string } {
  let text = "";
  for (const part of parts) {
    const printed = "text" in part ? part.text : printOne(part.placeholder, syntax);
    if (printed === undefined) return { no: "shown" in part ? part.shown : "" };
    text += printed;
  }
  return { text };
}

function printOne(placeholder: Placeholder | undefined, syntax: Syntax): string | undefined {
  if (!placeholder) return undefined;
  for (const form of syntax) {
    const printed = form.print(placeholder);
    if (printed !== undefined) return printed;
  }
  return undefined;
}

function nextCandidate(written: string, from: number): number {
  for (let at = from; at < written.length; at++) {
    const code = written.charCodeAt(at);
    if (code === 0x24 || code === 0x7b) return at;
  }
  return -1;
}

interface Found {
  readonly part: Part;
  readonly length: number;
}

function matchAt(written: string, at: number, syntax: Syntax): Found | undefined {
  for (const { pattern, read } of syntax) {
    pattern.lastIndex = at;
    const match = pattern.exec(written);
    const placeholder = match && read(match);
    if (placeholder) return { part: { shown: shorten(match[0]), placeholder }, length: match[0].length };
  }
  return undefined;
}

/** `${…` that nobody understands: it must not reach a server as it is. */
function strayAt(written: string, at: number): Found | undefined {
  if (!written.startsWith("${", at)) return undefined;
  const end = written.indexOf("}", at);
  const length = (end === -1 || end - at > maxShown ? Math.min(written.length, at + 2) : end + 1) - at;
  return { part: { shown: end === -1 ? "${" : shorten(written.slice(at, at + length)) }, length };
}

const maxShown = 200;

/** A fallback may be a secret. */
function shorten(shown: string): string {
  const fallback = shown.indexOf(":-");
  return fallback === -1 ? shown.slice(0, maxShown) : `${shown.slice(0, fallback)}}`;
}
