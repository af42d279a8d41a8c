import { maxPlaceholderChars } from "./limits.ts";

/** The paths that the host knows. */
export type KnownPlace =
  | "userHome"
  | "workspaceFolder"
  | "workspaceFolderBasename"
  | "pathSeparator"
  | "configFolder"
  | "desktop"
  | "documents"
  | "downloads";

/** A placeholder in a string. */
export type Placeholder =
  | { readonly kind: "env"; readonly name: string; readonly fallback?: string }
  | { readonly kind: "input"; readonly id: string }
  | { readonly kind: "place"; readonly place: KnownPlace }
  /** A placeholder that another product supports and this host does not; `reason` says why. */
  | { readonly kind: "refused"; readonly reason: string };

/** One notation for placeholders. */
export interface PlaceholderForm {
  /** Sticky. Each repetition is bounded, so that matching takes linear time. */
  readonly pattern: RegExp;
  readonly read: (match: RegExpExecArray) => Placeholder | undefined;
  readonly print: (placeholder: Placeholder) => string | undefined;
  /** The example in messages. */
  readonly example: string;
}

/** The notations of one product. The first that matches wins. */
export type Syntax = readonly PlaceholderForm[];

/** One part of a string: text, a placeholder, or an unknown placeholder. */
export type Part =
  | { readonly text: string }
  | { readonly shown: string; readonly placeholder: Placeholder }
  | { readonly shown: string; readonly placeholder?: undefined };

/** Splits a string into text and placeholders. */
export function readParts(text: string, syntax: Syntax): readonly Part[] {
  const parts: Part[] = [];
  let from = 0;
  const pushText = (end: number) => {
    if (end > from) parts.push({ text: text.slice(from, end) });
  };
  for (let at = nextCandidate(text, 0); at !== -1; at = nextCandidate(text, Math.max(from, at + 1))) {
    const found = matchAt(text, at, syntax) ?? unknownAt(text, at);
    if (!found) continue;
    pushText(at);
    parts.push(found.part);
    from = at + found.length;
  }
  pushText(text.length);
  return parts;
}

/** Prints parts in the notation of another product, or returns the placeholder that it does not support. */
export function printParts(
  parts: readonly Part[],
  syntax: Syntax,
): { readonly text: string } | { readonly unsupported: string } {
  let text = "";
  for (const part of parts) {
    const printed = "text" in part ? part.text : printOne(part.placeholder, syntax);
    if (printed === undefined) return { unsupported: "shown" in part ? part.shown : "" };
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

function nextCandidate(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x24 || code === 0x7b) return at;
  }
  return -1;
}

interface Found {
  readonly part: Part;
  readonly length: number;
}

function matchAt(text: string, at: number, syntax: Syntax): Found | undefined {
  for (const { pattern, read } of syntax) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    const placeholder = match && read(match);
    if (placeholder) return { part: { shown: shorten(match[0]), placeholder }, length: match[0].length };
  }
  return undefined;
}

/** Returns an unknown `${…`. It is a problem of the entry, so that it never reaches a server. */
function unknownAt(text: string, at: number): Found | undefined {
  if (!text.startsWith("${", at)) return undefined;
  const end = text.indexOf("}", at);
  const length = (end === -1 || end - at > maxPlaceholderChars ? Math.min(text.length, at + 2) : end + 1) - at;
  return { part: { shown: end === -1 ? "${" : shorten(text.slice(at, at + length)) }, length };
}

/** Shortens a placeholder for messages, without its fallback, which can be secret. */
function shorten(shown: string): string {
  const fallback = shown.indexOf(":-");
  return fallback === -1 ? shown.slice(0, maxPlaceholderChars) : `${shown.slice(0, fallback)}}`;
}

/** The notation of shells: `${NAME}` and `${NAME:-fallback}`. */
const shell: PlaceholderForm = {
  pattern: /\$\{([A-Za-z_]\w{0,255})(?::-([^{}]{0,4096}))?\}/y,
  read: ([, name = "", fallback]) => env(name, fallback),
  print: (placeholder) => printEnv(placeholder, /^[A-Za-z_]\w*$/, "${", "}"),
  example: "${NAME}",
};

const envColon: PlaceholderForm = {
  pattern: /\$\{env:([^{}:]{1,256})(?::-([^{}]{0,4096}))?\}/y,
  read: ([, name = "", fallback]) => env(name, fallback),
  print: (placeholder) => printWithoutFallback(placeholder, /^[^{}:]+$/, "${env:", "}"),
  example: "${env:NAME}",
};

const envUrl: PlaceholderForm = {
  pattern: /\$\{env:\/\/([A-Za-z_]\w{0,255})(?::-([^{}]{0,4096}))?\}/y,
  read: ([, name = "", fallback]) => env(name, fallback),
  print: (placeholder) => printEnv(placeholder, /^[A-Za-z_]\w*$/, "${env://", "}"),
  example: "${env://NAME}",
};

/** opencode's `{env:NAME}`. */
const envBraces: PlaceholderForm = {
  pattern: /\{env:([^{}:]{1,256})\}/y,
  read: ([, name = ""]) => env(name),
  print: (placeholder) => printWithoutFallback(placeholder, /^[^{}:]+$/, "{env:", "}"),
  example: "{env:NAME}",
};

/** Gemini's `$NAME`. */
const dollar: PlaceholderForm = {
  pattern: /\$([A-Za-z_]\w{0,255})/y,
  read: ([, name = ""]) => env(name),
  print: () => undefined,
  example: "$NAME",
};

/** Continue's `${{ secrets.NAME }}`. The value comes from the environment. */
const secrets: PlaceholderForm = {
  pattern: /\$\{\{ {0,8}secrets\.([A-Za-z_]\w{0,255}) {0,8}\}\}/y,
  read: ([, name = ""]) => env(name),
  print: (placeholder) => printWithoutFallback(placeholder, /^[A-Za-z_]\w*$/, "${{ secrets.", " }}"),
  example: "${{ secrets.NAME }}",
};

const input: PlaceholderForm = {
  pattern: /\$\{input:([^{}]{1,256})\}/y,
  read: ([, id = ""]) => ({ kind: "input", id }),
  print: (placeholder) => (placeholder.kind === "input" ? `\${input:${placeholder.id}}` : undefined),
  example: "${input:id}",
};

/** LibreChat's `{{NAME}}`, which each user enters. */
const userVariable: PlaceholderForm = {
  pattern: /\{\{ {0,8}([A-Za-z_]\w{0,255}) {0,8}\}\}/y,
  read: ([, id = ""]) => ({ kind: "input", id }),
  print: (placeholder) => (placeholder.kind === "input" ? `{{${placeholder.id}}}` : undefined),
  example: "{{NAME}}",
};

const bundleInput: PlaceholderForm = {
  pattern: /\$\{user_config\.([^{}]{1,256})\}/y,
  read: ([, id = ""]) => ({ kind: "input", id }),
  print: () => undefined,
  example: "${user_config.key}",
};

const editorPlaces = places({
  userHome: "userHome",
  workspaceFolder: "workspaceFolder",
  workspaceFolderBasename: "workspaceFolderBasename",
  pathSeparator: "pathSeparator",
  "/": "pathSeparator",
});

const bundlePlaces = places({
  __dirname: "configFolder",
  HOME: "userHome",
  DESKTOP: "desktop",
  DOCUMENTS: "documents",
  DOWNLOADS: "downloads",
  pathSeparator: "pathSeparator",
  "/": "pathSeparator",
});

/** Placeholders that run a command or read another file in some products. They are refused here. */
const refused: PlaceholderForm = {
  pattern: /\$?\{(command|config|file|cmd|exec):[^{}]{0,1024}\}/y,
  read: ([shown, kind = ""]) =>
    // Without the dollar sign it is opencode's notation, which has only `{file:…}`.
    shown?.startsWith("$") || kind === "file" ? { kind: "refused", reason: reasons[kind] ?? "" } : undefined,
  print: () => undefined,
  example: "",
};

const notRun = "commands in configuration files are not run; write the value instead";
const reasons: { readonly [kind: string]: string } = {
  command: notRun,
  cmd: notRun,
  exec: notRun,
  config: "the settings of an editor are not read; write the value instead",
  file: "values are not read from other files; write the value instead",
};

type SyntaxName =
  | "none"
  | "portable"
  | "editor"
  | "shell"
  | "both"
  | "envColon"
  | "gemini"
  | "opencode"
  | "librechat"
  | "continue"
  | "mcphost"
  | "bundle"
  | "registry";

/** The notations of each product or group of products. Any other `${…}` is a problem of the entry. */
export const syntaxes: Readonly<Record<SyntaxName, Syntax>> = {
  none: [],
  // The notation of shells comes first, because it is used for writing and `${env:-x}` is a variable named env.
  portable: [editorPlaces, shell, input, envUrl, envColon, refused],
  editor: [editorPlaces, input, envColon, refused],
  shell: [refused, shell],
  both: [shell, envColon, refused],
  envColon: [refused, envColon],
  gemini: [refused, shell, dollar],
  opencode: [refused, envBraces],
  librechat: [refused, userVariable, shell],
  continue: [secrets, refused, shell],
  mcphost: [refused, envUrl],
  bundle: [bundlePlaces, bundleInput],
  registry: [input],
};

function places(known: { readonly [name: string]: KnownPlace }): PlaceholderForm {
  const byName = new Map(Object.entries(known));
  return {
    pattern: /\$\{(\w{1,32}|\/)\}/y,
    read: ([, name = ""]) => {
      const place = byName.get(name);
      return place && { kind: "place", place };
    },
    print: (placeholder) => {
      if (placeholder.kind !== "place") return undefined;
      for (const [name, place] of byName) if (place === placeholder.place) return `\${${name}}`;
      return undefined;
    },
    example: `\${${[...byName.keys()][1]}}`,
  };
}

function env(name: string, fallback?: string): Placeholder {
  return fallback === undefined ? { kind: "env", name } : { kind: "env", name, fallback };
}

function printEnv(placeholder: Placeholder, names: RegExp, open: string, close: string): string | undefined {
  if (placeholder.kind !== "env" || !names.test(placeholder.name)) return undefined;
  const { name, fallback } = placeholder;
  return fallback === undefined ? `${open}${name}${close}` : `${open}${name}:-${fallback}${close}`;
}

function printWithoutFallback(
  placeholder: Placeholder,
  names: RegExp,
  open: string,
  close: string,
): string | undefined {
  const hasFallback = placeholder.kind === "env" && placeholder.fallback !== undefined;
  return hasFallback ? undefined : printEnv(placeholder, names, open, close);
}
