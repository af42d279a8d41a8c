/** JSON whose shape is not known. */
export type Json = { readonly [member: string]: unknown };

/** An OpenAPI description, as parsed JSON. */
export type OpenApiDescription = Json;

/** A mistake in a description. Its message says where it is. */
export class DescriptionError extends Error {
  override readonly name = "DescriptionError";
}

/** A reference may lead to another one. */
const maxReferences = 16;

/** An OpenAPI description of version 3.0 or 3.1, whose references can be followed. Nothing is ever fetched. */
export class Description {
  readonly root: Json;
  /** Version 3.0, whose schemas are not JSON Schema: `nullable`, and limits that are flags. */
  readonly isOld: boolean;

  /** Throws a `DescriptionError` if it is none of OpenAPI 3. */
  constructor(root: unknown) {
    if (!isJson(root)) throw new DescriptionError("expected an OpenAPI description, which is an object");
    const { openapi, swagger } = root;
    if (swagger !== undefined) {
      throw new DescriptionError(`expected OpenAPI 3.0 or 3.1, got Swagger ${swagger}; convert it first`);
    }
    if (typeof openapi !== "string" || !/^3\.[01](\.|$)/.test(openapi)) {
      throw new DescriptionError(`openapi: expected version 3.0 or 3.1, got ${JSON.stringify(openapi) ?? "nothing"}`);
    }
    this.root = root;
    this.isOld = openapi.startsWith("3.0");
  }

  /** Returns the object that a value stands for: itself, or what its reference leads to. */
  resolve(value: unknown, where: string): Json {
    let found = value;
    for (let count = 0; count <= maxReferences; count += 1) {
      if (!isJson(found)) throw new DescriptionError(`expected an object for ${where}`);
      const reference = found["$ref"];
      if (typeof reference !== "string") return found;
      found = this.at(reference);
    }
    throw new DescriptionError(`the reference of ${where} leads in a circle`);
  }

  /** Returns the object that a schema stands for, or undefined: a schema that leads nowhere does not cost the operation. */
  schemaOf(value: unknown): Json | undefined {
    try {
      return this.resolve(value, "the schema");
    } catch (reason) {
      if (reason instanceof DescriptionError) return undefined;
      throw reason;
    }
  }

  /** Returns the value that a reference such as `#/components/schemas/Pet` names. */
  at(reference: string): unknown {
    if (!reference.startsWith("#")) {
      throw new DescriptionError(`"${shortened(reference)}" is in another file; bundle the description into one file`);
    }
    const found = pointerOf(reference).reduce<unknown>((value, key) => memberOf(value, key), this.root);
    if (found === undefined) throw new DescriptionError(`nothing is at "${shortened(reference)}"`);
    return found;
  }
}

/** Returns the keys of a JSON pointer in a fragment. */
export function pointerOf(reference: string): string[] {
  return reference
    .slice(1)
    .split("/")
    .slice(1)
    .map((part) => decoded(part).replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Returns a member of an object or an item of an array; never one of a prototype. */
function memberOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? (value as Json)[key] : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a member that is a text with something in it. */
export function textOf(object: Json, name: string): string | undefined {
  const value = object[name];
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Cuts a text for a message or a description. */
export function shortened(text: string, most = 200): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
