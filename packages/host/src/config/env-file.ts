import { limits } from "./limits.ts";

const maxChars = 1024 * 1024;

/** The variables of an environment file, `NAME=value` on each line; nothing in a value is put in or run. */
export function parseEnvFile(text: string): ReadonlyMap<string, string> | undefined {
  const variables = new Map<string, string>();
  if (text.length > maxChars) return undefined;
  for (const line of text.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=(.*)$/.exec(line);
    if (match) variables.set(match[1] ?? "", readValue((match[2] ?? "").trim()));
    if (variables.size > limits.items) return undefined;
  }
  return variables;
}

const escapes: { readonly [written: string]: string } = {
  "\\n": "\n",
  "\\r": "\r",
  "\\t": "\t",
  '\\"': '"',
  "\\\\": "\\",
};

function readValue(written: string): string {
  const single = /^'([^']*)'/.exec(written);
  if (single) return single[1] ?? "";
  const double = /^"((?:[^"\\]|\\.)*)"/.exec(written);
  if (double) return (double[1] ?? "").replace(/\\[nrt"\\]/g, (pair) => escapes[pair] ?? pair);
  const comment = /(?:^|\s)#/.exec(written);
  return (comment ? written.slice(0, comment.index) : written).trimEnd();
}
