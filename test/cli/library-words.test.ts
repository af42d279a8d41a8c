import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { expect, test } from "vitest";
import { withoutOptionNames } from "../../packages/cli/src/failure.ts";
import { root } from "./kit.ts";

/** Folders whose errors reach a person at the terminal. */
const folders = [
  "packages/portolan/src/client",
  "packages/portolan/src/auth/client",
  "packages/portolan/src/net",
  "packages/host/src",
];

/** Errors in the code of a program that uses the library. The command does not make these mistakes. */
const mistakes = /^(?:invalid-argument|invalid-definition|unserializable)$/;

interface SyntaxNode {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Returns the text of an expression, with {} for values; undefined if it is no text. */
function textOf(value: unknown): string | undefined {
  const node = value as SyntaxNode | undefined;
  if (node?.type === "Literal" && typeof node["value"] === "string") return node["value"];
  if (node?.type === "BinaryExpression") return `${textOf(node["left"]) ?? "{}"}${textOf(node["right"]) ?? "{}"}`;
  if (node?.type !== "TemplateLiteral") return undefined;
  return (node["quasis"] as { value: { cooked: string } }[]).map((quasi) => quasi.value.cooked).join("{}");
}

/** Yields the texts of errors that a person may see, and texts with advice that is added to them. */
function* messagesIn(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const each of value) yield* messagesIn(each);
  if (typeof value !== "object" || value === null || !("type" in value)) return;
  const node = value as SyntaxNode;
  if (node.type === "NewExpression") {
    const name = (node["callee"] as SyntaxNode)["name"];
    const [first, second] = node["arguments"] as SyntaxNode[];
    const text = name === "PortolanError" ? textOf(second) : /Failure$/.test(String(name)) ? textOf(first) : undefined;
    const isMistake = name === "PortolanError" && mistakes.test(textOf(first) ?? "");
    if (text !== undefined && !isMistake) yield text;
  }
  const text = textOf(node);
  if (text !== undefined && /\braises? (?:`|[a-z]+[A-Z])|^Check /i.test(text)) yield `{}; ${text}`;
  for (const member of Object.values(node)) yield* messagesIn(member);
}

test("no error of the library shows the name of an option to a person", () => {
  const shown = folders.flatMap((folder) => {
    const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
    // The command shows what is wrong with the address of a model by its variable: models.test.ts.
    const sources = files.filter((name) => /(?<!\.test|http\/provider)\.ts$/.test(name.replaceAll("\\", "/")));
    return sources.flatMap((name) => {
      const program = parseAst(readFileSync(join(root, folder, name), "utf8"), { lang: "ts" });
      return [...messagesIn(program)].map((text) => `${name}: ${withoutOptionNames(text)}`);
    });
  });
  expect(shown.length).toBeGreaterThan(50);
  // Fields of the protocol and names of the web are no options.
  const known = /requestState|jwks_uri|mcpServers|accept-encoding/g;
  const odd = shown.filter((line) => /`|\b[a-z]+[A-Z]\w*\b/.test(line.slice(line.indexOf(": ")).replace(known, "")));
  expect(odd).toEqual([]);
});
