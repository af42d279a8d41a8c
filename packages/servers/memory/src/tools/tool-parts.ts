import { type Context, type FullResult, type JsonSchema, ToolError } from "portolan/server";
import { count, object, string, textResult } from "portolan-server-kit";
import type { Limits } from "../options.ts";
import type { Graph, Operation } from "../store/graph.ts";
import { Full } from "../store/log-file.ts";
import type { MemoryStore } from "../store/store.ts";

/** What the tools share. */
export interface Kit {
  readonly store: MemoryStore;
  readonly limits: Limits;
  readonly namespace: string;
  readonly schemas: Schemas;
  /** Changes the namespace that a call names, and says what was done. */
  change<T>(
    args: { readonly namespace?: string },
    ctx: Context,
    work: (graph: Graph) => { ops: readonly Operation[]; result: T; says: string },
  ): Promise<FullResult<T>>;
  /** A result as a text and as data, with a warning while the file is damaged. */
  answer<T extends object>(result: T, says: string): FullResult<T & { damaged?: number }>;
}

export function createKit(parts: Pick<Kit, "store" | "limits" | "namespace" | "schemas">): Kit {
  const { store } = parts;
  return {
    ...parts,
    async change({ namespace = parts.namespace }, ctx, work) {
      const { result, says } = await store
        .change(
          namespace,
          (graph) => {
            const { ops, ...done } = work(graph);
            return { ops, result: done };
          },
          ctx.signal,
        )
        .catch((reason: unknown) => {
          throw explain(reason);
        });
      return textResult(says, result);
    },
    answer(result, says) {
      const damaged = store.state().damage.length;
      if (damaged === 0) return textResult(says, result);
      const warning = `The memory's file is damaged in ${damaged} places, so that something may be missing: tell the user`;
      return textResult(`${says}\n${warning}`, { ...result, damaged });
    },
  };
}

function explain(reason: unknown): unknown {
  if (reason instanceof Full) return new ToolError(`${reason.message}; forget what is not needed any more`);
  switch ((reason as { code?: unknown }).code) {
    case "timeout":
      return new ToolError("The memory is busy: another process is writing; nothing was changed, try again");
    case "ENOSPC":
    case "EDQUOT":
      return new ToolError("The disk is full; nothing was changed: tell the user");
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new ToolError("The memory's file cannot be written; nothing was changed: tell the user");
    default:
      return reason;
  }
}

/** The parts that the schemas of the tools are made of. */
export interface Schemas {
  readonly namespace: JsonSchema;
  readonly name: JsonSchema;
  readonly entity: JsonSchema;
  readonly relation: JsonSchema;
  readonly observations: JsonSchema;
  listOf(items: JsonSchema, description: string): JsonSchema;
}

export const namespacePattern = "^[a-z0-9][a-z0-9._-]{0,63}$";

export function texts(description: string): JsonSchema {
  return { type: "array", items: { type: "string" }, description };
}

export function createSchemas({ maxItems, maxNameLength, maxTextLength }: Limits, namespace: string): Schemas {
  const name = string("The name of the entity, unique in its namespace", { minLength: 1, maxLength: maxNameLength });
  const type = { minLength: 1, maxLength: maxNameLength };
  const listOf = (items: JsonSchema, description: string) => ({
    ...{ type: "array", items, minItems: 1, maxItems, description },
  });
  const observations: JsonSchema = {
    type: "array",
    items: { type: "string", minLength: 1, maxLength: maxTextLength },
    maxItems,
    description: "Single facts, one per text",
  };
  return {
    namespace: string(`Which of the separate graphs; ${namespace} unless given`, { pattern: namespacePattern }),
    name,
    entity: object({ name, entityType: string("What kind of thing it is, such as person", type), observations }, [
      "observations",
    ]),
    relation: object({
      from: { ...name, description: "The entity that the relation starts at" },
      to: { ...name, description: "The entity that it leads to" },
      relationType: string("In active voice, such as works_at", type),
    }),
    observations,
    listOf,
  };
}

export const entityOut: JsonSchema = object(
  {
    name: string("Its name"),
    entityType: string("What kind of thing it is"),
    observations: texts("What is known of it, the oldest first"),
    moreObservations: count("How many further observations were left out; open_nodes shows them by observationsFrom"),
  },
  ["moreObservations"],
);

export const relationOut: JsonSchema = object({
  from: string("Where it starts"),
  to: string("Where it leads"),
  relationType: string("What it says"),
});

export const moreRelationsOut: JsonSchema = count(
  "How many relations of these entities were left out; export_graph has them all; absent if none",
);

export const damageOut: JsonSchema = count(
  "How many places of the memory's file are damaged, so that something may be missing: tell the user; absent if none",
);

export const entitiesOut: JsonSchema = { type: "array", items: entityOut, description: "The entities" };
export const relationsOut: JsonSchema = { type: "array", items: relationOut, description: "The relations" };
