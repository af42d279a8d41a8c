import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, RequestId } from "portolan";
import { OfficialSchema, schemasMissing } from "../../../kit/official-schema.ts";
import { metaKey } from "../../../kit/raw-peer.ts";
import type { RevisionDate } from "../../../kit/revisions.ts";
import { definitionFor } from "../../../transcripts/definitions.ts";
import type { Sent } from "./scripted-server.ts";

if (schemasMissing) console.log(`what clients send is not checked against the official schemas: ${schemasMissing}`);

const schemas = new Map<RevisionDate, { official: OfficialSchema; definitions: Definitions }>();

type Definitions = { readonly [name: string]: JsonObject };

/** What is wrong with the messages of a client of a revision: invalid ones, and members that the revision lacks. */
export function problemsOf(
  sent: readonly Sent[],
  revision: RevisionDate,
  asked: ReadonlyMap<RequestId, string>,
  isExpected: (problem: string) => boolean,
): string[] {
  if (schemasMissing) return [];
  return sent
    .flatMap((message) => problemsIn(message, speaks(message) ?? revision, asked))
    .filter((problem) => !isExpected(problem));
}

/** The revision that a request names for itself. */
function speaks({ method, params }: Sent): RevisionDate | undefined {
  return method === "initialize" ? params.protocolVersion : params?._meta?.[metaKey("protocolVersion")];
}

const own = metaKey("");

/** A message without what anybody may put into `_meta`; only the keys of the protocol are its revision's. */
function withoutOthersMeta(message: Sent): Sent {
  return JSON.parse(JSON.stringify(message), (name, value) => {
    if (name !== "_meta") return value;
    return Object.fromEntries(Object.entries(value).filter(([key]) => key === "progressToken" || key.startsWith(own)));
  });
}

function problemsIn(sent: Sent, revision: RevisionDate, asked: ReadonlyMap<RequestId, string>): string[] {
  const message = withoutOthersMeta(sent);
  const { official, definitions } = schemaOf(revision);
  const name = nameOf(message, official, asked);
  if (name === undefined) return [];
  if (!official.has(name)) return [`${revision} ${name}: not in this revision`];
  const part = message.result !== undefined && message.method === undefined ? message.result : message;
  const strangers = strangersIn(part, { $ref: `/${name}` }, definitions, name);
  const found = [...official.problems(name, part), ...strangers];
  return found.map((problem) => `${revision} ${problem} in ${JSON.stringify(message).slice(0, 300)}`);
}

function schemaOf(revision: RevisionDate) {
  let known = schemas.get(revision);
  if (!known) {
    const path = join(import.meta.dirname, "../../../../../shared/spec", revision, "schema.json");
    const schema = JSON.parse(readFileSync(path, "utf8"));
    known = { official: new OfficialSchema(revision), definitions: schema.$defs ?? schema.definitions };
    schemas.set(revision, known);
  }
  return known;
}

/** The type of a message in the official schemas; undefined for methods of a test's own. */
function nameOf(message: Sent, official: OfficialSchema, asked: ReadonlyMap<RequestId, string>): string | undefined {
  const { id, method, error } = message;
  if (error) return official.has("JSONRPCErrorResponse") ? "JSONRPCErrorResponse" : "JSONRPCError";
  const about = method ?? asked.get(id ?? "");
  if (about === undefined) throw new Error(`the client answered what nobody asked: ${JSON.stringify(message)}`);
  if (about.startsWith("example.com/")) return undefined;
  if (about === "notifications/roots/list_changed") return "RootsListChangedNotification";
  if (method === undefined) return definitionFor(about, "result");
  return definitionFor(about, id === undefined ? "notification" : "request");
}

/** Added to every message by JSON-RPC, and to every params by the base types, which older schemas do not repeat. */
const implied: { readonly [depth: number]: readonly string[] } = { 0: ["jsonrpc", "id"], 1: ["_meta"] };

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
      return strangersIn(inner, properties[name]!, definitions, `${path}.${name}`, depth + 1);
    }
    if (implied[depth]?.includes(name)) return Object.keys(Object(inner)).filter((key) => key.startsWith(own));
    if (additionalProperties !== undefined) return name.startsWith(own) ? [`${path}.${name}: reserved`] : [];
    return [`${path}.${name}: not in this revision`];
  });
}
