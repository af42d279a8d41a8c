import type { Tool } from "portolan";
import { type FieldSchema, resolveField, typesOf } from "../arguments/field-schema.ts";
import type { Screen } from "../terminal/screen.ts";

/** Formats a tool in one line: `read(path: string, lines?: int) → { text, total }`. */
export function signatureOf({ name, inputSchema, outputSchema }: Tool, screen: Screen): string {
  const { properties = {}, required = [] } = inputSchema as FieldSchema;
  const parameters = Object.entries(properties).map(
    ([parameter, schema]) =>
      `${screen.safe(parameter)}${required.includes(parameter) ? "" : "?"}: ${typeOf(schema, inputSchema as FieldSchema, screen)}`,
  );
  const results = Object.keys((outputSchema as FieldSchema | undefined)?.properties ?? {}).map((key) =>
    screen.safe(key),
  );
  const output = results.length === 0 ? "" : ` ${screen.mark("next")} { ${results.join(", ")} }`;
  return `${screen.style("bold", screen.safe(name))}(${parameters.join(", ")})${output}`;
}

/** Deeper lists are shown as `any`. */
const deepest = 3;
/** Further values of an enumeration are shown as `…`; the documentation of the tool has all. */
const mostValues = 6;

function typeOf(field: FieldSchema, root: FieldSchema, screen: Screen, depth = 0): string {
  if (depth > deepest) return "any";
  const schema = resolveField(field, root);
  if (schema.enum) {
    const values = schema.enum.map((value) => screen.safe(JSON.stringify(value)));
    return values.length > mostValues
      ? [...values.slice(0, mostValues), screen.mark("more")].join("|")
      : values.join("|");
  }
  // Null is left out: an optional field may be absent anyway, and people rarely pass null.
  const types = typesOf(schema).filter((type) => type !== "null");
  if (types.length === 0 || types.some((type) => typeof type !== "string")) return "any";
  return types
    .map((type) => {
      if (type === "integer") return "int";
      if (type === "object") return membersOf(schema, screen);
      return type === "array" ? `${typeOf(schema.items ?? {}, root, screen, depth + 1)}[]` : screen.safe(String(type));
    })
    .join("|");
}

const mostMembers = 8;

/** Formats the members of an object: `{ lat, lon, label? }`. */
function membersOf({ properties = {}, required = [] }: FieldSchema, screen: Screen): string {
  const names = Object.keys(properties);
  if (names.length === 0) return "object";
  const shown = names.slice(0, mostMembers).map((name) => `${screen.safe(name)}${required.includes(name) ? "" : "?"}`);
  if (names.length > mostMembers) shown.push(screen.mark("more"));
  return `{ ${shown.join(", ")} }`;
}

/** Returns the annotations of a tool in words. */
export function hintsIn({ annotations = {} }: Tool): string[] {
  if (annotations.readOnlyHint) return ["read-only"];
  return annotations.destructiveHint === false ? [] : annotations.destructiveHint ? ["destructive"] : [];
}
