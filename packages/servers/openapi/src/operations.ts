import { type Description, DescriptionError, isJson, type Json, listOf, textOf } from "./description.ts";
import { Names } from "./names.ts";

/** One request that an API understands: a method at a path. */
export interface Operation {
  /** The name of its tool: unique, at most 64 characters. */
  readonly name: string;
  /** The id that the description gives it. */
  readonly id?: string;
  /** In capital letters. */
  readonly method: string;
  /** With variables, such as `/pets/{petId}`. */
  readonly path: string;
  /** Changes nothing at the API. */
  readonly isReading: boolean;
  readonly summary?: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly isDeprecated: boolean;
  readonly parameters: readonly Parameter[];
  readonly body?: Body;
  readonly result?: Result;
  /** Alternatives; each names the security schemes that it needs together. Empty: none is needed. */
  readonly security: readonly (readonly string[])[];
}

export type ParameterPlace = "path" | "query" | "header" | "cookie";

/** A value outside the body of a request. */
export interface Parameter {
  readonly name: string;
  readonly place: ParameterPlace;
  readonly isRequired: boolean;
  readonly description?: string;
  readonly schema: unknown;
  readonly style: string;
  /** Each item of an array, and each member of an object, is written as a value of its own. */
  readonly isExploded: boolean;
  /** Reserved characters are sent as they are. */
  readonly allowsReserved: boolean;
  /** The value is sent as JSON text. */
  readonly isJsonText: boolean;
}

/** The body of a request, in the one media type that is used. */
export interface Body {
  readonly mediaType: string;
  readonly kind: BodyKind;
  readonly isRequired: boolean;
  readonly description?: string;
  readonly schema: unknown;
}

export type BodyKind = "json" | "form" | "multipart" | "text" | "binary";

/** The JSON that an operation returns when it succeeds. */
export interface Result {
  readonly schema: unknown;
}

/** Operations, and those that cannot be offered, each with the reason. */
export interface Operations {
  readonly all: readonly Operation[];
  readonly leftOut: readonly string[];
}

/** Settings for reading operations. */
export interface OperationSettings {
  /** Names of tools, by the id of the operation or its method and path. */
  readonly names: { readonly [operation: string]: string };
  /** Returns true for an operation that changes nothing although its method is not GET. */
  isReading(operation: { readonly id?: string; readonly method: string; readonly path: string }): boolean;
  /** Returns true if the servers of an operation or a path are those of the API. */
  isAtApi(servers: unknown): boolean;
}

const methods = ["get", "head", "post", "put", "patch", "delete"] as const;
const places: readonly unknown[] = ["path", "query", "header", "cookie"];
/** Headers that OpenAPI describes elsewhere, and those of the connection. */
const otherHeaders = /^(accept|content-type|authorization|host|connection|content-length|transfer-encoding|cookie)$/i;
const usualStyles = { path: "simple", query: "form", header: "simple", cookie: "form" } as const;

/** Reads all operations of a description. One that is broken is left out with the reason. */
export function readOperations(description: Description, settings: OperationSettings): Operations {
  const all: Operation[] = [];
  const leftOut: string[] = [];
  const names = new Names(settings.names);
  const { paths } = description.root;
  for (const [path, value] of Object.entries(isJson(paths) ? paths : {})) {
    if (!path.startsWith("/")) continue;
    const failed = (what: string, reason: unknown) => {
      if (!(reason instanceof DescriptionError)) throw reason;
      leftOut.push(`${what}: ${reason.message}`);
    };
    try {
      const item = description.resolve(value, "the path");
      for (const method of methods) {
        if (item[method] === undefined) continue;
        try {
          all.push(readOperation(description, { path, method, item }, names, settings));
        } catch (reason) {
          failed(`${method.toUpperCase()} ${path}`, reason);
        }
      }
    } catch (reason) {
      failed(path, reason);
    }
  }
  return { all, leftOut: [...leftOut, ...names.unusedRenames()] };
}

interface Place {
  readonly path: string;
  readonly method: (typeof methods)[number];
  readonly item: Json;
}

function readOperation(
  description: Description,
  { path, method: lowerCase, item }: Place,
  names: Names,
  settings: OperationSettings,
): Operation {
  const method = lowerCase.toUpperCase();
  const given = description.resolve(item[lowerCase], "the operation");
  const servers = given["servers"] ?? item["servers"];
  if (servers !== undefined && !settings.isAtApi(servers)) {
    throw new DescriptionError("it is at another server, which does not get the credential of this one");
  }
  const id = textOf(given, "operationId");
  const identity = { ...(id !== undefined && { id }), method, path };
  const summary = textOf(given, "summary") ?? textOf(item, "summary");
  const text = textOf(given, "description");
  const body = readBody(description, given["requestBody"]);
  const result = readResult(description, given["responses"]);
  const parameters = readParameters(description, path, [item["parameters"], given["parameters"]]);
  return {
    ...identity,
    parameters,
    name: names.nameOf(identity),
    isReading: method === "GET" || method === "HEAD" || settings.isReading(identity),
    ...(summary !== undefined && { summary }),
    ...(text !== undefined && { description: text }),
    tags: listOf(given["tags"]).filter((tag) => typeof tag === "string"),
    isDeprecated: given["deprecated"] === true,
    ...(body && { body }),
    ...(result && { result }),
    security: readSecurity(given["security"] ?? description.root["security"]),
  };
}

/** Reads parameters; those of the operation replace those of its path. */
function readParameters(description: Description, path: string, lists: readonly unknown[]): Parameter[] {
  const found = new Map<string, Parameter>();
  for (const value of lists.flatMap(listOf)) {
    const given = description.resolve(value, "a parameter");
    const name = textOf(given, "name");
    const place = given["in"];
    if (name === undefined || !places.includes(place)) throw new DescriptionError("a parameter has no name or place");
    if (place === "header" && otherHeaders.test(name)) continue;
    found.set(`${place} ${name}`, readParameter(description, given, name, place as ParameterPlace));
  }
  const parameters = [...found.values()];
  for (const [, variable = ""] of path.matchAll(/\{([^{}]+)\}/g)) {
    if (!parameters.some(({ name, place }) => place === "path" && name === variable)) {
      throw new DescriptionError(`its path has the variable {${variable}}, which no parameter describes`);
    }
  }
  // A variable that is not in the path could not be sent.
  return parameters.filter(({ name, place }) => place !== "path" || path.includes(`{${name}}`));
}

function readParameter(description: Description, given: Json, name: string, place: ParameterPlace): Parameter {
  const style = textOf(given, "style") ?? usualStyles[place];
  const [media] = isJson(given["content"]) ? Object.values(given["content"]) : [];
  const text = textOf(given, "description");
  return {
    ...{ name, place, style },
    isRequired: place === "path" || given["required"] === true,
    ...(text !== undefined && { description: text }),
    schema: media === undefined ? given["schema"] : description.resolve(media, name)["schema"],
    isExploded: typeof given["explode"] === "boolean" ? given["explode"] : style === "form",
    allowsReserved: given["allowReserved"] === true,
    isJsonText: media !== undefined,
  };
}

/** Kinds of bodies, the ones that models write best first. */
const bodyKinds: readonly (readonly [BodyKind, RegExp])[] = [
  ["json", /^application\/json\s*(;|$)/i],
  ["json", /^[^;]*\+json\b/i],
  ["form", /^application\/x-www-form-urlencoded\b/i],
  ["multipart", /^multipart\/form-data\b/i],
  ["json", /^\*\/\*|^application\/\*/],
  ["text", /^text\/|\bxml\b|\byaml\b/i],
  ["binary", /./],
];

function readBody(description: Description, value: unknown): Body | undefined {
  if (value === undefined) return undefined;
  const given = description.resolve(value, "the body");
  const content = isJson(given["content"]) ? given["content"] : {};
  for (const [kind, pattern] of bodyKinds) {
    const [type, media] = Object.entries(content).find(([name]) => pattern.test(name)) ?? [];
    if (type === undefined) continue;
    const text = textOf(given, "description");
    return {
      kind,
      mediaType: type.includes("*") ? "application/json" : type,
      isRequired: given["required"] === true,
      ...(text !== undefined && { description: text }),
      schema: description.resolve(media, type)["schema"],
    };
  }
  return undefined;
}

/** Returns the JSON result of the first response that stands for success. */
function readResult(description: Description, value: unknown): Result | undefined {
  const responses = isJson(value) ? value : {};
  const [status] = Object.keys(responses)
    .filter((name) => /^2(\d\d|XX)$/i.test(name))
    .sort();
  const chosen = status ?? (responses["default"] === undefined ? undefined : "default");
  if (chosen === undefined) return undefined;
  const { content } = description.resolve(responses[chosen], `the response ${chosen}`);
  const [, media] = Object.entries(isJson(content) ? content : {}).find(([type]) => /[/+]json\b/i.test(type)) ?? [];
  const schema = media === undefined ? undefined : description.resolve(media, "a response")["schema"];
  return schema === undefined ? undefined : { schema };
}

function readSecurity(value: unknown): readonly (readonly string[])[] {
  return listOf(value)
    .filter(isJson)
    .map((alternative) => Object.keys(alternative));
}
