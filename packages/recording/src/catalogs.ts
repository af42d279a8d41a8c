import type { JsonObject, Prompt, Resource, ResourceTemplate, Tool } from "portolan";
import { type DefinitionChange, diffDefinitions } from "portolan-host";
import type { RecordingReader } from "./reader.ts";
import { toMessages } from "./recording.ts";
import { Slices } from "./slices.ts";

/** The lists of a server. */
export interface CatalogLists {
  readonly tools: readonly Tool[];
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplate[];
  readonly prompts: readonly Prompt[];
}

/** A feature that one of two catalogs lacks, or that differs between them. */
export interface CatalogChange {
  readonly kind: "tool" | "resource" | "template" | "prompt";
  /** The name; of a resource its URI, of a template its URI template. */
  readonly name: string;
  readonly how: "added" | "removed" | "changed";
  /** The deepest places that differ, such as `inputSchema.properties.days`. Empty unless `how` is `changed`. */
  readonly changes: readonly DefinitionChange[];
}

/** Compares two catalogs: for each kind of feature first what was removed, then the rest in the order of `after`. */
export function diffCatalogs(before: CatalogLists, after: CatalogLists): readonly CatalogChange[] {
  return [
    ...diffList("tool", before.tools, after.tools, ({ name }) => name),
    ...diffList("resource", before.resources, after.resources, ({ uri }) => uri),
    ...diffList("template", before.templates, after.templates, ({ uriTemplate }) => uriTemplate),
    ...diffList("prompt", before.prompts, after.prompts, ({ name }) => name),
  ];
}

function diffList<T>(
  kind: CatalogChange["kind"],
  before: readonly T[],
  after: readonly T[],
  nameOf: (item: T) => string,
): CatalogChange[] {
  const known = new Map(before.map((item) => [nameOf(item), item]));
  const now = new Set(after.map(nameOf));
  const gone = [...known.keys()].filter((name) => !now.has(name));
  const removed = gone.map((name): CatalogChange => ({ kind, name, how: "removed", changes: [] }));
  const rest = after.flatMap((item): CatalogChange[] => {
    const name = nameOf(item);
    const old = known.get(name);
    if (old === undefined) return [{ kind, name, how: "added", changes: [] }];
    const changes = diffDefinitions(old, item);
    return changes.length > 0 ? [{ kind, name, how: "changed", changes }] : [];
  });
  return [...removed, ...rest];
}

/** The methods that list features, and the member with the features. */
const listMethods: { readonly [method: string]: readonly [member: string, list: keyof CatalogLists] } = {
  "tools/list": ["tools", "tools"],
  "resources/list": ["resources", "resources"],
  "resources/templates/list": ["resourceTemplates", "templates"],
  "prompts/list": ["prompts", "prompts"],
};

/** Returns the lists of the server in a recording as they were at its end. A list that was not read is empty. */
export async function catalogIn(reader: RecordingReader): Promise<CatalogLists> {
  const lists: Record<keyof CatalogLists, JsonObject[]> = {
    tools: [],
    resources: [],
    templates: [],
    prompts: [],
  };
  const asked = new Map<unknown, { readonly method: string; readonly isFirst: boolean }>();
  const slices = new Slices();
  for await (const row of reader.rows()) {
    if (row.kind !== "message" || row.from === undefined) continue;
    for (const { from, message } of toMessages(row.at, row.from, row.text)) {
      if (from === "client" && "method" in message && "id" in message && listMethods[message.method]) {
        asked.set(message.id, { method: message.method, isFirst: message.params?.["cursor"] === undefined });
      } else if (from === "server" && "result" in message) {
        const request = asked.get(message.id);
        const [member = "", list = "tools"] = listMethods[request?.method ?? ""] ?? [];
        asked.delete(message.id);
        const page = message.result[member];
        if (!request || !Array.isArray(page)) continue;
        const features = page.filter((item): item is JsonObject => typeof item === "object" && item !== null);
        lists[list] = request.isFirst ? features : [...lists[list], ...features];
      }
    }
    await slices.pause();
  }
  return lists as unknown as CatalogLists;
}
