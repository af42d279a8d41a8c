import { redact } from "portolan-host";

type Schema = { readonly [keyword: string]: unknown };

/** Have names of members, which may be called `password`, and a schema for each. */
const named = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
/** Are schemas themselves, or lists of them. */
const nested = new Set([
  ...["items", "prefixItems", "additionalProperties", "contains", "propertyNames", "unevaluatedProperties"],
  ...["allOf", "anyOf", "oneOf", "not", "if", "then", "else"],
]);
/** Say what a value is, and so a secret in the place of one. */
const values = new Set(["default", "const", "enum", "examples", "example"]);

/** A schema without secrets: the names of members stay, and what is proposed for a secret goes. */
export function redactSchema(schema: Schema, clean: (value: unknown) => unknown, isSecret = false): unknown {
  const entries = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (named.has(keyword) && isSchema(value)) return [keyword, redactMembers(value, clean)];
    if (nested.has(keyword) && Array.isArray(value)) {
      return [keyword, value.map((each) => (isSchema(each) ? redactSchema(each, clean, isSecret) : clean(each)))];
    }
    if (nested.has(keyword) && isSchema(value)) return [keyword, redactSchema(value, clean, isSecret)];
    if (values.has(keyword) && isSecret) return [keyword, redactUnder("password", value, clean)];
    return [keyword, redactUnder(keyword, value, clean)];
  });
  return Object.fromEntries(entries);
}

function redactMembers(members: Schema, clean: (value: unknown) => unknown): Schema {
  const cleaned = Object.entries(members).map(([name, member]): [string, unknown] => {
    const isSecret = redactUnder(name, "x", redact) !== "x";
    return [name, isSchema(member) ? redactSchema(member, clean, isSecret) : redactUnder(name, member, clean)];
  });
  return Object.fromEntries(cleaned);
}

/** A value as it is kept under a name. */
function redactUnder(name: string, value: unknown, clean: (value: unknown) => unknown): unknown {
  return Object.values(clean({ [name]: value }) as object)[0];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
