// GitHub's own description of its API, as a judge of what the fake sends and of what our server sends.
import { createRequire } from "node:module";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";
import type { Exchanged } from "./fake.ts";

// biome-ignore lint/suspicious/noExplicitAny: a description of 13 MB
type Description = any;

/** Only this edition is read: the package has 385 MB of them. */
const file = join(import.meta.dirname, "../vendors/node_modules/@octokit/openapi/generated/api.github.com.json");

/** Judges exchanges by the schemas of GitHub's description. */
export class GithubDescription {
  readonly #paths: { readonly [path: string]: { readonly [method: string]: Description } };
  readonly #components: { readonly [kind: string]: { readonly [name: string]: Description } };
  readonly #ajv: Ajv;
  readonly #compiled: Map<string, ValidateFunction> = new Map();

  constructor() {
    const { paths, components } = createRequire(import.meta.url)(file) as Description;
    this.#paths = paths;
    this.#components = components;
    this.#ajv = new Ajv({ strict: false, allErrors: true, formats: { "repo.nwo": true } });
    addFormats.default(this.#ajv);
    this.#ajv.addSchema({ $id: "github", components: toJsonSchema(components) });
  }

  /** Returns what is wrong with an exchange; empty if the request and the response are as described. */
  problemsOf({ method, described, media, requestBody, status, responseBody }: Exchanged): string[] {
    const operation = this.#operation(described, method);
    if (!operation) return [`${method} ${described} is not described`];
    const name = `${method} ${described}`;
    const problems: string[] = [];
    const asked = operation.requestBody?.content?.["application/json"]?.schema;
    if (requestBody !== undefined) problems.push(...this.#check(`${name} request`, asked, requestBody));
    const response = operation.responses[status];
    if (!response) return [...problems, `${name} does not answer ${status}`];
    if (responseBody === undefined || typeof responseBody === "string") return problems;
    const content = this.#resolve(response).content ?? {};
    const type = media.startsWith(".object") ? "application/vnd.github.object" : "application/json";
    const schema = (content[type] ?? content["application/json"])?.schema;
    return [...problems, ...this.#check(`${name} ${status} ${type}`, schema, responseBody)];
  }

  #operation(described: string, method: string): Description | undefined {
    return this.#paths[described]?.[method.toLowerCase()];
  }

  #resolve(part: Description): Description {
    if (typeof part.$ref !== "string") return part;
    const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec(part.$ref) ?? [];
    return this.#components[kind ?? ""]?.[name ?? ""] ?? {};
  }

  #check(name: string, schema: Description, value: unknown): string[] {
    if (schema === undefined) return [`${name} has no schema`];
    let validate = this.#compiled.get(name);
    if (!validate) {
      validate = this.#ajv.compile(toJsonSchema(schema));
      this.#compiled.set(name, validate);
    }
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) => {
      return `${name}: ${instancePath} ${message} ${JSON.stringify(params)}`;
    });
  }
}

/** Turns a schema of OpenAPI 3.0 into JSON Schema: `nullable` becomes a type, and references get the id of the components. */
function toJsonSchema(given: Description): Description {
  if (Array.isArray(given)) return given.map(toJsonSchema);
  if (typeof given !== "object" || given === null) return given;
  const { nullable, ...rest } = given;
  const schema = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, toJsonSchema(value)]));
  if (typeof schema["$ref"] === "string") schema["$ref"] = schema["$ref"].replace(/^#/, "github#");
  if (nullable !== true) return schema;
  if (typeof schema["type"] !== "string") return { anyOf: [schema, { type: "null" }] };
  const values = Array.isArray(schema["enum"]) ? { enum: [...schema["enum"], null] } : {};
  return { ...schema, ...values, type: [schema["type"], "null"] };
}
