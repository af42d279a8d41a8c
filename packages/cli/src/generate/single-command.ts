import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Failure } from "../failure.ts";
import type { System } from "../system.ts";
import { toVisibleJson } from "../terminal/escape.ts";
import { type GenerateInput, generatedMark, oneLine } from "./typescript.ts";

/** The last line of the file of the command. */
const start = 'await load("./main.cjs").main(self);\n';

/** Writes a command for one server: a copy of this program, which has no other files, with the server in it. */
export function singleCommand({ name, version, tools, target, again }: GenerateInput, { self }: System): string {
  const program = readFileSync(self, "utf8");
  const [first = "", ...rest] = program.split("\n");
  if (!program.endsWith(start) || !first.startsWith("#!"))
    throw new Failure("failed", `${self} is not the published command, so it cannot be copied`);
  const about = tools.map((tool) => ({ name: tool.name, about: sentenceOf(tool.description ?? tool.title ?? "") }));
  const server = [
    `name: ${JSON.stringify(name)}`,
    `version: ${JSON.stringify(version)}`,
    `target: ${target.expression}`,
    `tools: ${JSON.stringify(about)}`,
    `variables: ${JSON.stringify(target.variables)}`,
  ];
  const notice = licensesBeside(self);
  return [
    first,
    `// ${generatedMark} cli. Run it again after the server has changed: ${toVisibleJson(oneLine(again))}`,
    // A function: in a replacement text, $' and the like of a description would be replaced.
    `${rest.join("\n").slice(0, -start.length)}${start.replace("(self)", () => `(self, ${toVisibleJson(`{ ${server.join(", ")} }`)})`)}`,
    ...(notice === "" ? [] : [`/*\n${notice.replaceAll("*/", "*\\/")}\n*/\n`]),
  ].join("\n");
}

function sentenceOf(text: string): string {
  const [first = ""] = text.trim().split(/(?<=[.!?])\s|\n/);
  return first;
}

/** Returns the licences of the libraries in the program, which must be passed on with every copy. */
function licensesBeside(self: string): string {
  const file = join(dirname(self), "licenses.txt");
  return existsSync(file) ? readFileSync(file, "utf8").trim() : "";
}
