import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonSchema } from "../../packages/portolan/src/schema/infer.ts";
import type { Draft } from "./expectations.ts";

/** A schema, and values that it accepts or refuses. */
export interface Group {
  readonly file: string;
  readonly description: string;
  readonly schema: JsonSchema | boolean;
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[];
}

const root = join(import.meta.dirname, "../..");
const suite = join(root, "../shared/json-schema-test-suite");

/** True if the official JSON Schema test suite is beside the project; a user's clone does not have it. */
export const isPresent: boolean = existsSync(suite);
if (!isPresent) console.log(`Skipped: the JSON Schema test suite was not found at ${suite}`);

const dialects: { readonly [draft in Draft]: string } = {
  "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
  draft7: "http://json-schema.org/draft-07/schema#",
};

/** The tested drafts. */
export const drafts: readonly Draft[] = ["draft2020-12", "draft7"];

/** The files of a draft, without extension. */
export function filesOf(draft: Draft): string[] {
  if (!isPresent) return [];
  return namesIn(join(suite, "tests", draft)).map((name) => name.replace(".json", ""));
}

/** The groups of a file. A schema without `$schema` gets the dialect of its draft. */
export function groupsOf(draft: Draft, file: string): Group[] {
  const groups = parse(join(suite, "tests", draft, `${file}.json`)) as Omit<Group, "file">[];
  return groups.map(({ schema, ...group }) => ({
    ...group,
    file,
    schema: typeof schema === "object" ? { $schema: dialects[draft], ...schema } : schema,
  }));
}

/** Embeds every document of the suite in a schema, so that nothing must be fetched. */
export function bundle(draft: Draft, schema: JsonSchema): JsonSchema {
  const member = draft === "draft7" ? "definitions" : "$defs";
  const inside = Object.fromEntries(documentsOf(draft).map((document, at) => [`document ${at}`, document]));
  return { ...schema, [member]: { ...(schema[member] as JsonSchema | undefined), ...inside } };
}

function documentsOf(draft: Draft): JsonSchema[] {
  const remotes = join(suite, "remotes");
  const folders =
    draft === "draft7" ? ["", "draft7", "nested", ...changes] : [draft, ...changes.map((name) => join(draft, name))];
  const served = [...folders, join(draft, "nested")]
    .filter((folder) => existsSync(join(remotes, folder)))
    .flatMap((folder) =>
      namesIn(join(remotes, folder)).map((name) => {
        const path = join(folder, name);
        return identified(parse(join(remotes, path)) as JsonSchema, `http://localhost:1234/${path}`, draft);
      }),
    );
  // Documents with a custom vocabulary refer to documents that the suite does not have.
  return [...served.filter((document) => !("$vocabulary" in document)), ...metaSchemasOf(draft)];
}

const changes = ["baseUriChange", "baseUriChangeFolder", "baseUriChangeFolderInSubschema"];

/** Makes a document available at its address, also if its `$id` differs. */
function identified(document: JsonSchema, address: string, draft: Draft): JsonSchema {
  const { $id } = document;
  if ($id === undefined || $id === address) return { ...document, $id: address };
  if (draft === "draft7") return { $id: address, allOf: [{ $ref: $id }], definitions: { document } };
  return { $id: address, $ref: $id, $defs: { document } };
}

function metaSchemasOf(draft: Draft): JsonSchema[] {
  const refs = join(root, "node_modules/ajv/dist/refs");
  if (draft === "draft7") return [parse(join(refs, "json-schema-draft-07.json")) as JsonSchema];
  const folder = join(refs, "json-schema-2020-12");
  const parts = namesIn(join(folder, "meta")).map((name) => parse(join(folder, "meta", name)) as JsonSchema);
  return [parse(join(folder, "schema.json")) as JsonSchema, ...parts];
}

function namesIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.endsWith(".json"));
}

function parse(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}
