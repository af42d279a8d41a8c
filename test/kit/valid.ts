import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "portolan";
import { findDefinition } from "../transcripts/definitions.ts";
import { OfficialSchema } from "./official-schema.ts";
import { metaKey } from "./raw-peer.ts";
import type { RevisionDate } from "./revisions.ts";

/** A message with all members optional, so that any of them can be looked at. */
export interface AnyMessage {
  readonly id?: unknown;
  readonly method?: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: messages of every shape are looked into
  readonly params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: and results
  readonly result?: any;
  readonly error?: unknown;
}

type Definitions = { readonly [name: string]: JsonObject };

const schemas = new Map<RevisionDate, { official: OfficialSchema; definitions: Definitions }>();

const own = metaKey("");

/**
 * What is wrong with a message in a revision: it is invalid, or has members that the revision lacks. A response needs
 * the method that it answers.
 */
export function problemsWith(message: AnyMessage, revision: RevisionDate, about?: string): string[] {
  const known = withoutOthers(message, revision);
  const found = partsOf(known, revision, about).flatMap(([name, part]) => problemsAs(name, part, revision));
  return found.map((problem) => `${revision} ${problem} in ${JSON.stringify(message).slice(0, 300)}`);
}

/** A message without what anybody may add: only what the protocol calls its own depends on the revision. */
function withoutOthers(message: AnyMessage, revision: RevisionDate): AnyMessage {
  return JSON.parse(JSON.stringify(message), (name, value) => {
    if (name.startsWith("example.com/")) return undefined;
    // Capabilities were an open set before extensions had a place among them, and are announced there all the same.
    if (name === "extensions" && revision < "2026-07-28") return undefined;
    if (name !== "_meta") return value;
    return Object.fromEntries(Object.entries(value).filter(([key]) => key === "progressToken" || key.startsWith(own)));
  });
}

/** Errors whose data has a type, where a revision has them. */
const specialErrors: { readonly [code: number]: string } = {
  [-32020]: "HeaderMismatchError",
  [-32021]: "MissingRequiredClientCapabilityError",
  [-32022]: "UnsupportedProtocolVersionError",
  [-32042]: "URLElicitationRequiredError",
};

/** The types of the official schemas that a message and its result have to be of. */
function partsOf(message: AnyMessage, revision: RevisionDate, about?: string): [name: string, part: unknown][] {
  const { id, method, error, result } = message;
  const { official } = schemaOf(revision);
  const oneOf = (...names: string[]) => names.find((name) => official.has(name)) ?? "";
  if (typeof method === "string") {
    const base = oneOf(id === undefined ? "JSONRPCNotification" : "JSONRPCRequest");
    return [[findDefinition(method, id === undefined ? "notification" : "request") ?? base, message]];
  }
  if (error !== undefined) {
    // The id of what cannot be read is not known, which no schema before 2025-11-25 has a word for.
    const isNameless = revision < "2025-11-25" && (id === null || id === undefined);
    const named = isNameless ? { ...message, id: 0 } : message;
    const special = specialErrors[Object(error).code] ?? "";
    const names = [oneOf("JSONRPCErrorResponse", "JSONRPCError"), oneOf(special)];
    return names.filter((name) => name !== "").map((name) => [name, named]);
  }
  const envelope = oneOf("JSONRPCResultResponse", "JSONRPCResponse");
  const isInterim = Object(result).resultType === "input_required";
  const name = isInterim ? "InputRequiredResult" : findDefinition(about ?? "", "result");
  if (name === undefined) return [[envelope, message]];
  // What is inside is of a type of its own.
  return [
    [envelope, { ...message, result: { resultType: "complete" } }],
    [name, result],
  ];
}

function problemsAs(name: string, part: unknown, revision: RevisionDate): string[] {
  const { official, definitions } = schemaOf(revision);
  if (!official.has(name)) return [`${name}: not in this revision`];
  return [...official.problems(name, part), ...strangersIn(part, { $ref: `/${name}` }, definitions, name)];
}

function schemaOf(revision: RevisionDate): { official: OfficialSchema; definitions: Definitions } {
  let known = schemas.get(revision);
  if (!known) {
    const path = join(import.meta.dirname, "../../../shared/spec", revision, "schema.json");
    const schema = JSON.parse(readFileSync(path, "utf8"));
    known = { official: new OfficialSchema(revision), definitions: schema.$defs ?? schema.definitions };
    schemas.set(revision, known);
  }
  return known;
}

/** Added to every message by JSON-RPC, and to every params by the base types, which older schemas do not repeat. */
const implied: { readonly [depth: number]: readonly string[] } = { 0: ["jsonrpc", "id"], 1: ["_meta"] };

/** JSON Schema has more words than the official schemas name. */
const jsonSchemas = ["inputSchema", "outputSchema"];

/** The members of a value that its schema does not name, where the schema does not say that any may come. */
function strangersIn(value: unknown, schema: JsonObject, definitions: Definitions, path: string, depth = 0): string[] {
  if (typeof value !== "object" || value === null) return [];
  const { $ref, anyOf, properties, additionalProperties, items } = schema as {
    $ref?: string;
    anyOf?: JsonObject[];
    properties?: Definitions;
    additionalProperties?: unknown;
    items?: JsonObject;
  };
  if ($ref !== undefined) {
    const target = definitions[$ref.slice($ref.lastIndexOf("/") + 1)];
    return target ? strangersIn(value, target, definitions, path, depth) : [];
  }
  if (anyOf) {
    const [fewest = []] = anyOf
      .map((option) => strangersIn(value, option, definitions, path, depth))
      .sort((a, b) => a.length - b.length);
    return fewest;
  }
  if (Array.isArray(value)) {
    return items ? value.flatMap((item, at) => strangersIn(item, items, definitions, `${path}[${at}]`, depth + 1)) : [];
  }
  if (!properties) return [];
  return Object.entries(value as JsonObject).flatMap(([name, inner]) => {
    if (Object.hasOwn(properties, name)) {
      if (jsonSchemas.includes(name)) return [];
      return strangersIn(inner, properties[name]!, definitions, `${path}.${name}`, depth + 1);
    }
    if (implied[depth]?.includes(name)) return Object.keys(Object(inner)).filter((key) => key.startsWith(own));
    if (additionalProperties !== undefined) return name.startsWith(own) ? [`${path}.${name}: reserved`] : [];
    return [`${path}.${name}: not in this revision`];
  });
}
