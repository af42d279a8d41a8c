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

/** `${NAME}` and `${NAME:-otherwise}`, as shells have it. */
const shell: Form = {
  pattern: /\$\{([A-Za-z_]\w{0,255})(?::-([^{}]{0,4096}))?\}/y,
  read: ([, name = "", fallback]) => env(name, fallback),
  print: (placeholder) => printEnv(placeholder, /^[A-Za-z_]\w*$/, "${", "}"),
  example: "${NAME}",
};

const envColon: Form = {
  pattern: /\$\{env:([^{}:]{1,256})(?::-([^{}]{0,4096}))?\}/y,
  read: ([, name = "", fallback]) => env(name, fallback),
  print: (placeholder) => printWithoutFallback(placeholder, /^[^{}:]+$/, "${env:", "}"),
  example: "${env:NAME}",
};

const envUrl: Form = {
  pattern: /\$\{env:\/\/([A-Za-z_]\w{0,255})(?::-([^{}]{0,4096}))?\}/y,
  read: ([, name = "", fallback]) => env(name, fallback),
  print: (placeholder) => printEnv(placeholder, /^[A-Za-z_]\w*$/, "${env://", "}"),
  example: "${env://NAME}",
};

/** opencode's `{env:NAME}`. */
const envBraces: Form = {
  pattern: /\{env:([^{}:]{1,256})\}/y,
  read: ([, name = ""]) => env(name),
  print: (placeholder) => printWithoutFallback(placeholder, /^[^{}:]+$/, "{env:", "}"),
  example: "{env:NAME}",
};

/** Gemini's `$NAME`. */
const dollar: Form = {
  pattern: /\$([A-Za-z_]\w{0,255})/y,
  read: ([, name = ""]) => env(name),
  print: () => undefined,
  example: "$NAME",
};

/** Continue's `${{ secrets.NAME }}`: its secrets are looked for in the environment. */
const secrets: Form = {
  pattern: /\$\{\{ {0,8}secrets\.([A-Za-z_]\w{0,255}) {0,8}\}\}/y,
  read: ([, name = ""]) => env(name),
  print: (placeholder) => printWithoutFallback(placeholder, /^[A-Za-z_]\w*$/, "${{ secrets.", " }}"),
  example: "${{ secrets.NAME }}",
};

const input: Form = {
  pattern: /\$\{input:([^{}]{1,256})\}/y,
  read: ([, id = ""]) => ({ kind: "input", id }),
  print: (placeholder) => (placeholder.kind === "input" ? `\${input:${placeholder.id}}` : undefined),
  example: "${input:id}",
};

/** LibreChat's `{{NAME}}`, which each of its users fills in. */
const userVariable: Form = {
  pattern: /\{\{ {0,8}([A-Za-z_]\w{0,255}) {0,8}\}\}/y,
  read: ([, id = ""]) => ({ kind: "input", id }),
  print: (placeholder) => (placeholder.kind === "input" ? `{{${placeholder.id}}}` : undefined),
  example: "{{NAME}}",
};

const bundleInput: Form = {
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

/** What some product would run or read to get a value; nothing of that kind is done here. */
const refused: Form = {
  pattern: /\$?\{(command|config|file|cmd|exec):[^{}]{0,1024}\}/y,
  read: ([shown, kind = ""]) =>
    // Without the dollar these are opencode's, and only `{file:…}` is one.
    shown?.startsWith("$") || kind === "file" ? { kind: "refused", reason: reasons[kind] ?? "" } : undefined,
  print: () => undefined,
  example: "",
};

const running = "commands in configuration files are not run";
const reasons: { readonly [kind: string]: string } = {
  command: running,
  cmd: running,
  exec: running,
  config: "the settings of an editor are not read",
  file: "values are not read from other files",
};

type Way =
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

/** Each product's ways to write placeholders; what is not listed is not put in, and is a problem. */
export const syntaxes: Readonly<Record<Way, Syntax>> = {
  none: [],
  // The shell's way comes first: it is what is written, and `${env:-x}` is a variable named env.
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

function places(known: { readonly [written: string]: KnownPlace }): Form {
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
