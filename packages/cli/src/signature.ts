import type { Tool } from "portolan";
import type { Screen } from "./screen.ts";

interface Schema {
  readonly type?: unknown;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
}

/** A tool in one line, as a programmer would write it: `read(path: string, lines?: int) → { text, total }`. */
export function signatureOf({ name, inputSchema, outputSchema }: Tool, screen: Screen): string {
  const { properties = {}, required = [] } = inputSchema as Schema;
  const parameters = Object.entries(properties).map(
    ([parameter, schema]) =>
      `${screen.safe(parameter)}${required.includes(parameter) ? "" : "?"}: ${typeOf(schema, screen)}`,
  );
  const results = Object.keys((outputSchema as Schema | undefined)?.properties ?? {}).map((key) => screen.safe(key));
  const output = results.length === 0 ? "" : ` ${screen.mark("next")} { ${results.join(", ")} }`;
  return `${screen.style("bold", screen.safe(name))}(${parameters.join(", ")})${output}`;
}

function typeOf(schema: Schema, screen: Screen): string {
  if (schema.enum)
    return schema.enum
      .slice(0, 6)
      .map((value) => screen.safe(JSON.stringify(value)))
      .join("|");
  if (schema.type === "integer") return "int";
  if (schema.type === "array") return `${typeOf(schema.items ?? {}, screen)}[]`;
  return typeof schema.type === "string" ? schema.type : "any";
}

/** What a tool says it does to the world, in words. */
export function hintsIn({ annotations = {} }: Tool): string[] {
  if (annotations.readOnlyHint) return ["read-only"];
  return annotations.destructiveHint === false ? [] : annotations.destructiveHint ? ["destructive"] : [];
}
