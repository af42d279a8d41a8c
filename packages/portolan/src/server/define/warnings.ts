import { PortolanError } from "../../errors.ts";
import { longestText, riskOf } from "../../schema/pattern.ts";
import { isObject } from "../../schema/shape.ts";
import type { ServerOptions } from "./definition.ts";
import type { CompiledTool } from "./tools.ts";

// Loaded with the warnings: alone it would be too small.
export { toLog } from "../print-error.ts";

/** Texts up to this length are short enough for every pattern. */
const shortText = 16;

/** Returns the warning for a server without any feature: its author usually dropped the servers that have them. */
export function nothingOffered(): PortolanError {
  return new PortolanError(
    "invalid-definition",
    "This server offers no tool, resource or prompt. `.tool`, `.resource` and `.prompt` return a new server and do not " +
      "change the old one: chain the calls, or keep and serve the server that they return.",
  );
}

/** Returns a warning for each pattern of a tool's arguments that a crafted text can make very slow. */
export function riskyPatternsOf(
  { key, input, problem }: CompiledTool,
  { leaveOutInvalid }: Pick<ServerOptions<unknown>, "leaveOutInvalid">,
): PortolanError[] {
  // An invalid tool is reported and left out already. A server that offers the features of another one does not run
  // their patterns.
  if (problem || leaveOutInvalid) return [];
  const found: string[] = [];
  collect(input?.jsonSchema, "", found);
  return found.map((why) => new PortolanError("invalid-definition", `Tool "${key}": input: ${why}`));
}

function collect(schema: unknown, path: string, found: string[]): void {
  if (Array.isArray(schema)) for (const [index, item] of schema.entries()) collect(item, `${path}/${index}`, found);
  if (!isObject(schema)) return;
  const { pattern, format, maxLength } = schema;
  // Beside a format, the pattern is the one of a schema library.
  if (typeof pattern === "string" && format === undefined) {
    const longest = typeof maxLength === "number" ? maxLength : Infinity;
    const risk = longest > shortText ? riskOf(pattern) : undefined;
    if (risk !== undefined && !(longest <= longestText(pattern))) {
      found.push(
        `${path.slice(1)}: the pattern ${JSON.stringify(pattern)} ${risk}, so that a crafted text can block the server; ` +
          "write it without nested repeats, or set a maxLength of at most 16",
      );
    }
  }
  for (const [name, member] of Object.entries(schema)) {
    if (typeof member === "object" && member !== null && !isData(name)) collect(member, `${path}/${name}`, found);
  }
}

/** Returns whether a keyword holds values instead of schemas. */
function isData(name: string): boolean {
  return name === "const" || name === "enum" || name === "default" || name === "examples";
}
