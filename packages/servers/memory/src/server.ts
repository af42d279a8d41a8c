import { createServer, type Server } from "portolan/server";
import { defaultLimits, type Limits, type MemoryOptions } from "./options.ts";
import { toPlain } from "./store/interchange.ts";
import { type MemoryStore, openStore } from "./store/store.ts";
import { addReadTools } from "./tools/read.ts";
import { createSchemas, createToolParts, namespacePattern } from "./tools/tool-parts.ts";
import { addWriteTools } from "./tools/write.ts";

/** Entities in the list of resources. */
const maxListed = 1_000;
const maxCompletions = 100;

/** Creates a server with a memory: the given open store, or a file. */
export function createMemory(options: MemoryOptions & { readonly store?: MemoryStore } = {}): Server {
  const { namespace = "default", store = openStore(options) } = options;
  if (!new RegExp(namespacePattern).test(namespace)) {
    throw new RangeError(
      `namespace: expected lower-case letters, digits, ".", "_" and "-", got ${JSON.stringify(namespace)}`,
    );
  }
  const limits = toLimits(options);
  const parts = createToolParts({ store, limits, namespace, schemas: createSchemas(limits, namespace) });
  const begun = createServer(
    { name: "portolan-memory", version: "0.1.0", title: "Memory" },
    {
      instructions:
        "A persistent knowledge graph. Search before you create. Entities have names, types, observations (single facts) and relations. Namespaces are separate graphs.",
    },
  );
  const server = addResources(addWriteTools(addReadTools(begun, parts), parts), store, namespace);
  store.onChange(({ entities, isListChanged }) => {
    for (const [changed, names] of entities) {
      for (const name of names) server.publish("resources/updated", { uri: uriOf(changed, name) });
    }
    if (isListChanged) server.publish("resources/list_changed", {});
  });
  return server;
}

function addResources(server: Server, store: MemoryStore, namespace: string): Server {
  const namespaces = (typed: string) => [...store.namespaces().keys()].filter((one) => one.startsWith(typed)).sort();
  return server
    .template("memory://{namespace}", {
      name: "namespace",
      title: "A namespace",
      description: "Size and entity types of a namespace; a subscription reports every change in it",
      mimeType: "application/json",
      subscribe: true,
      complete: { namespace: namespaces },
      read: (values) => describeNamespace(store, String(values["namespace"])),
    })
    .template("memory://{namespace}/{entity}", {
      name: "entity",
      title: "An entity",
      description: "An entity with its observations and relations",
      mimeType: "application/json",
      subscribe: true,
      list: () => {
        const { names } = store.read(namespace);
        return names.slice(0, maxListed).map((name) => ({ uri: uriOf(namespace, name), name }));
      },
      complete: {
        namespace: namespaces,
        entity: (typed, known) => completeName(store.read(known["namespace"] ?? namespace).names, typed),
      },
      read(values) {
        const graph = store.read(String(values["namespace"]));
        const entity = graph.entities.get(String(values["entity"]));
        if (!entity) return undefined;
        return JSON.stringify({ ...toPlain(entity), relations: graph.relationsOf(entity.name) });
      },
    });
}

function toLimits(given: Partial<Limits>): Limits {
  const names = Object.keys(defaultLimits) as (keyof Limits)[];
  return Object.fromEntries(names.map((name) => [name, given[name] ?? defaultLimits[name]])) as unknown as Limits;
}

function describeNamespace(store: MemoryStore, namespace: string): string | undefined {
  const graph = store.namespaces().get(namespace);
  if (!graph) return undefined;
  const types = new Map<string, number>();
  for (const { entityType } of graph.entities.values()) types.set(entityType, (types.get(entityType) ?? 0) + 1);
  const { entities, relations } = graph;
  return JSON.stringify({
    namespace,
    entities: entities.size,
    relations: relations.size,
    types: Object.fromEntries(types),
  });
}

function completeName(names: readonly string[], typed: string): string[] {
  const wanted = typed.toLowerCase();
  const starting: string[] = [];
  const containing: string[] = [];
  for (const name of names) {
    const at = name.toLowerCase().indexOf(wanted);
    if (at === 0) starting.push(name);
    else if (at > 0 && containing.length < maxCompletions) containing.push(name);
    if (starting.length > maxCompletions) break;
  }
  return [...starting, ...containing];
}

function uriOf(namespace: string, name: string): string {
  // Imported names may contain lone surrogates, which a URI cannot.
  return `memory://${namespace}/${encodeURIComponent(name.replace(/\p{Cs}/gu, "\uFFFD"))}`;
}
