import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "portolan";
import { findDefinition } from "../transcripts/definitions.ts";
import { OfficialSchema } from "./official-schema.ts";
import { metaKey } from "./raw-peer.ts";
import type { RevisionDate } from "./revisions.ts";

/** A message with all members optional, so that any of them can be read. */
export interface AnyMessage {
  readonly id?: unknown;
  readonly method?: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: params of every shape are read
  readonly params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: results of every shape are read
  readonly result?: any;
  readonly error?: unknown;
}

type Definitions = { readonly [name: string]: JsonObject };

const schemas = new Map<string, { official: OfficialSchema; definitions: Definitions }>();

const own = metaKey("");
/** Messages of a task name it, on the one revision whose core has tasks. No schema says so. */
const relatedTask = metaKey("related-task");

/**
 * Returns the problems of a message in a revision: it is invalid, or has members that the revision lacks. A response
 * needs the method that it answers.
 */
export function problemsWith(message: AnyMessage, revision: RevisionDate, about?: string): string[] {
  const known = withoutOthers(message, revision);
  const found = partsOf(known, revision, about).flatMap(([name, part]) => problemsAs(name, part, revision));
  return found.map((problem) => `${revision} ${problem} in ${JSON.stringify(message).slice(0, 300)}`);
}

/** Removes members that any party may add: only members of the protocol depend on the revision. */
function withoutOthers(message: AnyMessage, revision: RevisionDate): AnyMessage {
  return JSON.parse(JSON.stringify(message), (name, value) => {
    if (name.startsWith("example.com/")) return undefined;
    // Before extensions were defined, capabilities were an open set; we announce extensions there on every revision.
    if (name === "extensions" && revision < "2026-07-28") return undefined;
    // Extensions add members to the filter of a subscription.
    if (name === "taskIds") return undefined;
    if (name !== "_meta") return value;
    const isKnown = (key: string) =>
      key === "progressToken" || (key.startsWith(own) && !(key === relatedTask && revision === "2025-11-25"));
    return Object.fromEntries(Object.entries(value).filter(([key]) => isKnown(key)));
  });
}

/** Errors whose data has a type in some revisions. */
const specialErrors: { readonly [code: number]: string } = {
  [-32020]: "HeaderMismatchError",
  [-32021]: "MissingRequiredClientCapabilityError",
  [-32022]: "UnsupportedProtocolVersionError",
  [-32042]: "URLElicitationRequiredError",
};

/** The parts of a message to check, each with its type in the official schemas. */
function partsOf(message: AnyMessage, revision: RevisionDate, about?: string): [name: string, part: unknown][] {
  const { id, method, error, result } = message;
  const { official } = schemaOf(revision);
  const oneOf = (...names: string[]) => names.find((name) => official.has(name)) ?? "";
  if (typeof method === "string") {
    const base = oneOf(id === undefined ? "JSONRPCNotification" : "JSONRPCRequest");
    return [[findDefinition(method, id === undefined ? "notification" : "request") ?? base, message]];
  }
  if (error !== undefined) {
    // Before 2025-11-25 no schema allows an error without an id, which answers an unreadable message.
    const isNameless = revision < "2025-11-25" && (id === null || id === undefined);
    const named = isNameless ? { ...message, id: 0 } : message;
    const special = specialErrors[Object(error).code] ?? "";
    const names = [oneOf("JSONRPCErrorResponse", "JSONRPCError"), oneOf(special)];
    return names.filter((name) => name !== "").map((name) => [name, named]);
  }
  const envelope = oneOf("JSONRPCResultResponse", "JSONRPCResponse");
  const { resultType, task } = Object(result);
  const isInterim = resultType === "input_required";
  const isTask = resultType === "task" || (about === "tools/call" && task !== undefined);
  const usual = isTask ? "CreateTaskResult" : findDefinition(about ?? "", "result");
  const name = isInterim ? "InputRequiredResult" : usual;
  if (name === undefined) return [[envelope, message]];
  // The result has its own type.
  return [
    [envelope, { ...message, result: { resultType: "complete" } }],
    [name, result],
  ];
}

/** The schema of the tasks extension, whose messages belong to the newest revision. */
const extension = "ext/tasks";

function problemsAs(name: string, part: unknown, revision: RevisionDate): string[] {
  const core = schemaOf(revision);
  const isExtended = revision >= "2026-07-28" && !core.official.has(name);
  const { official, definitions } = isExtended ? schemaOf(extension) : core;
  if (!official.has(name)) return [`${name}: not in this revision`];
  return [...official.problems(name, part), ...unknownMembersIn(part, { $ref: `/${name}` }, definitions, name)];
}

function schemaOf(revision: RevisionDate | typeof extension): { official: OfficialSchema; definitions: Definitions } {
  let known = schemas.get(revision);
  if (!known) {
    const path = join(import.meta.dirname, "../../../shared/spec", revision, "schema.json");
    const schema = JSON.parse(readFileSync(path, "utf8"));
    known = { official: new OfficialSchema(revision), definitions: schema.$defs ?? schema.definitions };
    schemas.set(revision, known);
  }
  return known;
}

/** Members that JSON-RPC adds to every message and the base types to all params; older schemas do not repeat them. */
const implied: { readonly [depth: number]: readonly string[] } = { 0: ["jsonrpc", "id"], 1: ["_meta"] };

/** JSON Schemas have more keywords than the official schemas name. */
const jsonSchemas = ["inputSchema", "outputSchema"];

/** The members of a value that its schema neither names nor allows by `additionalProperties`. */
function unknownMembersIn(
  value: unknown,
  schema: JsonObject,
  definitions: Definitions,
  path: string,
  depth = 0,
): string[] {
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
    return target ? unknownMembersIn(value, target, definitions, path, depth) : [];
  }
  if (anyOf) {
    const [fewest = []] = anyOf
      .map((option) => unknownMembersIn(value, option, definitions, path, depth))
      .sort((a, b) => a.length - b.length);
    return fewest;
  }
  if (Array.isArray(value)) {
    return items
      ? value.flatMap((item, at) => unknownMembersIn(item, items, definitions, `${path}[${at}]`, depth + 1))
      : [];
  }
  if (!properties) return [];
  return Object.entries(value as JsonObject).flatMap(([name, inner]) => {
    if (Object.hasOwn(properties, name)) {
      if (jsonSchemas.includes(name)) return [];
      return unknownMembersIn(inner, properties[name]!, definitions, `${path}.${name}`, depth + 1);
    }
    if (implied[depth]?.includes(name)) return Object.keys(Object(inner)).filter((key) => key.startsWith(own));
    if (additionalProperties !== undefined) return name.startsWith(own) ? [`${path}.${name}: reserved`] : [];
    return [`${path}.${name}: not in this revision`];
  });
}
