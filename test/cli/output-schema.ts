import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { expect } from "vitest";
import { root } from "./kit.ts";

interface Schema {
  [member: string]: unknown;
}

const schema = JSON.parse(readFileSync(join(root, "docs/cli/output.schema.json"), "utf8")) as Schema & {
  $defs: { [name: string]: Schema };
};

/** Refuses members that the schema does not name, so that a new one is documented. */
function close(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const { properties, additionalProperties } = value as Schema;
  if (properties && additionalProperties === undefined) (value as Schema)["additionalProperties"] = false;
  for (const member of Object.values(value)) close(member);
}

const closed = structuredClone(schema);
close(closed.$defs);
const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false }).addSchema(closed, "output");

/** The names of all schemas. */
export const definitions: readonly string[] = Object.keys(schema.$defs);

/** Expects that a line of output matches the schema of a command. */
export function expectValid(name: string, line: string): void {
  const validate = ajv.getSchema(`output#/$defs/${name}`) as ValidateFunction;
  validate(JSON.parse(line));
  expect(validate.errors ?? [], `${name}: ${line.slice(0, 400)}`).toEqual([]);
}
