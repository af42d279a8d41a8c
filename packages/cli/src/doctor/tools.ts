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
    "model APIs accept no anyOf, oneOf, allOf, enum or not at the top level of a tool's schema",
    "use an object with properties, or split the tool",
  );
  add(
    "deep-schema",
    tools.filter(({ inputSchema }) => depthOf(inputSchema) > maxDepth).map(({ name }) => name),
    `schemas with more than ${maxDepth} levels`,
    "model APIs reject deeper schemas, and models handle them badly",
    "make the arguments flatter",
  );
  add(
    "long-name",
    tools.filter(({ name }) => name.length > maxName).map(({ name }) => `${name.slice(0, 30)}… (${name.length})`),
    `names of more than ${maxName} characters`,
    "model APIs reject longer names; hosts that shorten them show different ones",
    "choose shorter names",
  );
  add(
    "odd-name",
    tools.filter(({ name }) => !/^[\w-]+$/.test(name)).map(({ name }) => JSON.stringify(name)),
    "names with characters other than letters, digits, _ and -",
    "model APIs reject them; hosts that replace them show different names",
    "choose plainer names",
  );
  if (tools.length > maxTools) {
    findings.push({
      id: "too-many-tools",
      level: "warning",
      what: `it has ${tools.length} tools`,
      why: `some model APIs accept at most ${maxTools}, and models choose badly among many`,
      next: "expose fewer with `only` or `except` in its entry, or split the server",
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
