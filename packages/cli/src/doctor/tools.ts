import type { JsonObject, Tool } from "portolan";
import type { FindingDetails } from "./finding.ts";

const maxTools = 128;
const maxName = 64;
const maxDepth = 10;
const maxNamed = 5;

/** Finds tool definitions that model APIs reject or models misuse. */
export function examineTools(tools: readonly Tool[]): FindingDetails[] {
  const findings: FindingDetails[] = [];
  const add = (id: string, affected: readonly string[], what: string, why: string, next: string) => {
    if (affected.length > 0) findings.push({ id, level: "warning", what: `${what}: ${some(affected)}`, why, next });
  };
  const combined = tools.filter(({ inputSchema }) => combinators(inputSchema).length > 0);
  add(
    "rejected-schema",
    combined.map(({ name, inputSchema }) => `${name} (${combinators(inputSchema).join(", ")})`),
    "schemas that models reject",
    "the APIs of models take no anyOf, oneOf, allOf, enum or not at the top of a tool's schema",
    "describe the tool by an object with properties, or divide it into several",
  );
  add(
    "deep-schema",
    tools.filter(({ inputSchema }) => depthOf(inputSchema) > maxDepth).map(({ name }) => name),
    `schemas with more than ${maxDepth} levels`,
    "the APIs of models refuse deeper ones, and models get lost in them",
    "make the arguments flatter",
  );
  add(
    "long-name",
    tools.filter(({ name }) => name.length > maxName).map(({ name }) => `${name.slice(0, 30)}… (${name.length})`),
    `names of more than ${maxName} characters`,
    "the APIs of models refuse longer ones; hosts that shorten them show other names than yours",
    "choose shorter names",
  );
  add(
    "odd-name",
    tools.filter(({ name }) => !/^[\w-]+$/.test(name)).map(({ name }) => JSON.stringify(name)),
    "names with other characters than letters, digits, _ and -",
    "the APIs of models refuse them; hosts that replace them show other names than yours",
    "choose plainer names",
  );
  if (tools.length > maxTools) {
    findings.push({
      id: "too-many-tools",
      level: "warning",
      what: `it has ${tools.length} tools`,
      why: `some APIs of models take ${maxTools} at most, and models choose badly among many`,
      next: "show fewer: name them in `only` or `except` of its entry, or divide the server",
    });
  }
  return findings;
}

function some(names: readonly string[]): string {
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : "";
  return names.slice(0, maxNamed).join(", ") + more;
}

function combinators(schema: JsonObject): string[] {
  return ["anyOf", "oneOf", "allOf", "enum", "not"].filter((word) => Object.hasOwn(schema, word));
}

/** Returns the number of nested objects and lists in a schema. */
function depthOf(schema: unknown, depth = 0): number {
  if (typeof schema !== "object" || schema === null || depth > maxDepth + 1) return depth;
  const { properties = {}, items, additionalProperties } = schema as { [member: string]: unknown };
  const inside = [...Object.values(properties as object), items, additionalProperties].filter(
    (part) => typeof part === "object" && part !== null,
  );
  return inside.reduce<number>((deepest, part) => Math.max(deepest, depthOf(part, depth + 1)), depth);
}
