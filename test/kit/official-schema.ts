import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject } from "portolan";
import type { RevisionDate } from "./revisions.ts";

const specification = join(import.meta.dirname, "../../../shared/spec");

/** Why tests against the official schemas cannot run; undefined where they can. */
export const schemasMissing: string | undefined = existsSync(specification)
  ? undefined
  : "the official schemas are not beside this clone (../shared/spec)";

/** The official schema of one revision. Known members only: what a revision does not define is an error here. */
export class OfficialSchema {
  readonly #ajv: Ajv | Ajv2020;
  readonly #prefix: string;
  readonly #definitions: { [name: string]: JsonObject };

  constructor(revision: RevisionDate) {
    const schema = JSON.parse(readFileSync(join(specification, revision, "schema.json"), "utf8"));
    this.#prefix = schema.$defs ? "#/$defs/" : "#/definitions/";
    this.#definitions = schema.$defs ?? schema.definitions;
    loosen(this.#definitions);
    // In the older schemas requests and notifications leave out the members that JSON-RPC adds to them.
    for (const [name, definition] of Object.entries(this.#definitions)) {
      if (!/(Request|Notification)$/.test(name)) close(definition);
    }
    const options = { strict: false, validateFormats: false, allErrors: true };
    this.#ajv = schema.$defs ? new Ajv2020(options) : new Ajv(options);
    this.#ajv.addSchema({ ...schema, $id: "mcp" });
  }

  has(name: string): boolean {
    return name in this.#definitions;
  }

  /** What is wrong with a value of a named type, one line each. */
  problems(name: string, value: unknown): string[] {
    const validate = this.#ajv.getSchema(`mcp${this.#prefix}${name}`) as ValidateFunction | undefined;
    if (!validate) throw new Error(`the schema has no ${name}`);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${name}${instancePath}: ${message} ${JSON.stringify(params)}`,
    );
  }
}

/** The generated schemas are narrower than the types they come from: numbers may have fractions, JSON may be null. */
function loosen(definitions: { [name: string]: JsonObject }): void {
  if (definitions["JSONValue"]) definitions["JSONValue"] = {};
  if (definitions["JSONObject"]) definitions["JSONObject"] = { type: "object" };
  const content = (definitions["ElicitResult"]?.["properties"] as JsonObject | undefined)?.["content"] as JsonObject;
  if (content) content["additionalProperties"] = {};
}

/** Types that are open by intent: schemas, maps, and what is put together from several definitions. */
function close(definition: JsonObject): void {
  const { properties, additionalProperties, allOf, anyOf } = definition;
  if (!properties || additionalProperties !== undefined || allOf || anyOf) return;
  definition["additionalProperties"] = false;
}
