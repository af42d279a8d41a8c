import { type Description, isJson, type Json } from "./description.ts";
import type { Body, Operation, Parameter } from "./operations.ts";
import { convertSchemas } from "./schemas.ts";

/** One argument of a tool, and where its value goes in the request. */
export type Argument = { readonly name: string } & (
  | { readonly kind: "parameter"; readonly parameter: Parameter }
  /** A member of the body, which is an object. */
  | { readonly kind: "member"; readonly member: string; readonly isFile: boolean }
  | { readonly kind: "body" }
);

/** The arguments of a tool, and their schema. */
export interface Input {
  readonly arguments: readonly Argument[];
  readonly schema: Json;
}

/** Models get the members of a small body as arguments of their own. */
const maxMembers = 60;

interface Described {
  readonly argument: Argument;
  readonly isRequired: boolean;
  readonly schema: unknown;
  readonly description?: string;
}

/** Makes the input of an operation's tool: its parameters, and its body or the members of that. */
export function inputOf(description: Description, operation: Operation, maxBytes: number): Input {
  const { parameters, body } = operation;
  const names = new ArgumentNames(parameters);
  const all: Described[] = parameters.map((parameter) => ({
    argument: { kind: "parameter", name: names.ofParameter(parameter), parameter },
    isRequired: parameter.isRequired,
    schema: parameter.schema,
    ...(parameter.description !== undefined && { description: parameter.description }),
  }));
  if (body) all.push(...(membersOf(description, body, names) ?? [wholeBody(body, names)]));
  const given = all.map(({ schema }) => schema);
  const { schemas, definitions } = convertSchemas(description, "request", given, maxBytes);
  const properties = all.map(({ argument, description: text }, index): [string, Json] => {
    const schema = schemas[index] ?? {};
    const described = text !== undefined && schema["description"] === undefined;
    return [argument.name, described ? { ...schema, description: text.slice(0, 1_000) } : schema];
  });
  const required = all.filter(({ isRequired }) => isRequired).map(({ argument }) => argument.name);
  return {
    arguments: all.map(({ argument }) => argument),
    schema: {
      type: "object",
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
      ...(Object.keys(definitions).length > 0 && { $defs: definitions }),
    },
  };
}

/** Names of arguments: those of the API, in letters that models accept, each used once. */
class ArgumentNames {
  readonly #counts = new Map<string, number>();
  readonly #used = new Set<string>();

  constructor(parameters: readonly Parameter[]) {
    for (const { name } of parameters) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** Two parameters may have the same name at different places of the request. */
  ofParameter({ name, place }: Parameter): string {
    return this.take((this.#counts.get(name) ?? 0) > 1 ? `${place}_${name}` : name);
  }

  take(wanted: string): string {
    const base =
      wanted
        .replace(/[^A-Za-z0-9_.-]+/g, "_")
        .replace(/^_+|_+$/g, "")
        .slice(0, 60) || "value";
    let name = base === "__proto__" ? "proto" : base;
    for (let count = 2; this.#used.has(name); count += 1) name = `${base}_${count}`;
    this.#used.add(name);
    return name;
  }

  isFree(name: string): boolean {
    return !this.#used.has(name);
  }
}

function wholeBody({ kind, isRequired, schema, description }: Body, names: ArgumentNames): Described {
  const text = kind === "binary" ? "The body, as base64" : (description ?? "The body of the request");
  const ofText = { type: "string" };
  return {
    argument: { kind: "body", name: names.take("body") },
    ...{ isRequired, description: text, schema: kind === "binary" || kind === "text" ? ofText : schema },
  };
}

/** Returns the members of a body as arguments; undefined if the body is none that can be put together from them. */
function membersOf(description: Description, body: Body, names: ArgumentNames): Described[] | undefined {
  if (body.kind === "text" || body.kind === "binary") return undefined;
  const schema = description.schemaOf(body.schema);
  if (!schema) return undefined;
  const { type, properties, nullable } = schema;
  if (type !== "object" || !isJson(properties) || nullable === true) return undefined;
  if (["allOf", "anyOf", "oneOf", "not"].some((keyword) => schema[keyword] !== undefined)) return undefined;
  if (isJson(schema["additionalProperties"]) || schema["additionalProperties"] === true) return undefined;
  const members = Object.entries(properties).filter(([, member]) => !(isJson(member) && member["readOnly"] === true));
  const isPlain = members.every(([name]) => /^[A-Za-z0-9_.-]{1,60}$/.test(name) && names.isFree(name));
  if (members.length === 0 || members.length > maxMembers || !isPlain) return undefined;
  const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  // Otherwise a call without a body would be impossible.
  if (!body.isRequired && required.length > 0) return undefined;
  return members.map(([name, member]) => {
    const isFile = body.kind === "multipart" && isFileSchema(description, member);
    return {
      argument: { kind: "member", name: names.take(name), member: name, isFile },
      isRequired: required.includes(name),
      schema: isFile ? { type: "string", description: "A file, as base64" } : member,
    };
  });
}

function isFileSchema(description: Description, member: unknown): boolean {
  const { type, format, contentMediaType, contentEncoding } = description.schemaOf(member) ?? {};
  const isText = type === "string" || type === undefined;
  return isText && (format === "binary" || contentMediaType !== undefined || contentEncoding !== undefined);
}
