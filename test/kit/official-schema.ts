import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject } from "portolan";
import type { RevisionDate } from "./revisions.ts";

const specification = join(import.meta.dirname, "../../../shared/spec");

/** The reason why tests against the official schemas cannot run; undefined if they can. */
export const schemasMissing: string | undefined = existsSync(specification)
  ? undefined
  : "the official schemas are not beside this clone (../shared/spec)";

/** The official schema of one revision. Unlike the original, it refuses members that the revision does not define. */
export class OfficialSchema {
  readonly #ajv: Ajv | Ajv2020;
  readonly #prefix: string;
  readonly #definitions: { [name: string]: JsonObject };

  constructor(revision: RevisionDate | "ext/tasks" | "ext/server-card") {
    const schema = JSON.parse(readFileSync(join(specification, revision, "schema.json"), "utf8"));
    this.#prefix = schema.$defs ? "#/$defs/" : "#/definitions/";
    this.#definitions = schema.$defs ?? schema.definitions;
    loosen(this.#definitions);
    // In the older schemas requests and notifications omit the members that JSON-RPC adds.
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

  /** Returns the problems of a value of a named type, one line each. */
  problems(name: string, value: unknown): string[] {
    const validate = this.#ajv.getSchema(`mcp${this.#prefix}${name}`) as ValidateFunction | undefined;
    if (!validate) throw new Error(`the schema has no ${name}`);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${name}${instancePath}: ${message} ${JSON.stringify(params)}`,
    );
  }
}

/** Widens the generated schemas to the types they come from: numbers may have fractions, JSON may be null. */
function loosen(definitions: { [name: string]: JsonObject }): void {
  if (definitions["JSONValue"]) definitions["JSONValue"] = {};
  if (definitions["JSONObject"]) definitions["JSONObject"] = { type: "object" };
  const content = (definitions["ElicitResult"]?.["properties"] as JsonObject | undefined)?.["content"] as JsonObject;
  if (content) content["additionalProperties"] = {};
}

/** Refuses unknown members, except in types that are open by intent: schemas, maps and combined definitions. */
function close(definition: JsonObject): void {
  const { properties, additionalProperties, allOf, anyOf } = definition;
  if (!properties || additionalProperties !== undefined || allOf || anyOf) return;
  definition["additionalProperties"] = false;
}
