import { type Context, type FullResult, type JsonSchema, ToolError } from "portolan/server";
import { callerOf, count, createDiskReports, object, string, textResult } from "portolan-server-kit";
import type { Limits } from "../options.ts";
import type { Graph, Operation } from "../store/graph.ts";
import { FileFullError } from "../store/log-file.ts";
import { type MemoryStore, QueueFullError } from "../store/store.ts";

/** Shared by all tools. */
export interface ToolParts {
  readonly store: MemoryStore;
  readonly limits: Limits;
  readonly namespace: string;
  readonly schemas: Schemas;
  /** Changes the namespace of a call; returns the result with a text. */
  change<T>(
    args: { readonly namespace?: string },
    ctx: Context,
    work: (graph: Graph) => { ops: readonly Operation[]; result: T; says: string },
  ): Promise<FullResult<T>>;
  /** Throws a ToolError if a call over HTTP changes too much at once: the server does nothing else meanwhile. */
  checkItems(ctx: Context, items: number): void;
  /** Throws a ToolError if a text to import is too long for a call over HTTP. */
  checkImport(ctx: Context, length: number): void;
  /** Returns a result as text and data, with a warning while the file is damaged. */
  answer<T extends object>(result: T, says: string): FullResult<T & { damaged?: number }>;
}

export function createToolParts(parts: Pick<ToolParts, "store" | "limits" | "namespace" | "schemas">): ToolParts {
  const { store } = parts;
  const report = createDiskReports("portolan-memory");
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
          callerOf(ctx),
        )
        .catch((reason: unknown) => {
          report(reason);
          throw explain(reason);
        });
      return textResult(says, result);
    },
    checkItems(ctx, items) {
      const { maxHttpItems } = parts.limits;
      if (ctx.principal.key === "local" || items <= maxHttpItems) return;
      throw new ToolError(
        `Expected at most ${maxHttpItems} entities, relations and observations in one call over HTTP, got ${items}. Nothing was changed; split the call`,
      );
    },
    checkImport(ctx, length) {
      const { maxHttpImportLength } = parts.limits;
      if (ctx.principal.key === "local" || length <= maxHttpImportLength) return;
      throw new ToolError(
        `lines: expected at most ${maxHttpImportLength} characters over HTTP, got ${length}. Nothing was changed; import the lines in several calls, or ask the user to start the server with --import`,
      );
    },
    answer(result, says) {
      const damaged = store.state().damage.length;
      if (damaged === 0) return textResult(says, result);
      const warning = `The memory file is damaged in ${damaged} places, so something may be missing: tell the user`;
      return textResult(`${says}\n${warning}`, { ...result, damaged });
    },
  };
}

function explain(reason: unknown): unknown {
  if (reason instanceof FileFullError) return new ToolError(`${reason.message}; delete what is no longer needed`);
  if (reason instanceof QueueFullError) {
    return new ToolError(`${reason.message}. Nothing was changed; try again when earlier changes are done`);
  }
  switch ((reason as { code?: unknown }).code) {
    case "timeout":
      return new ToolError(
        "The memory is busy: another process holds its lock. Nothing was changed; try again, and if this repeats, tell the user: the standard error of this server names the process",
      );
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return new ToolError("The disk is full. Nothing was changed; tell the user");
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new ToolError("The memory file cannot be written. Nothing was changed; tell the user");
    default:
      return reason;
  }
}

/** Schemas that several tools use. */
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
  const name = string("Name of the entity, unique in its namespace", { minLength: 1, maxLength: maxNameLength });
  const type = { minLength: 1, maxLength: maxNameLength };
  const listOf = (items: JsonSchema, description: string) => ({
    ...{ type: "array", items, minItems: 1, maxItems, description },
  });
  const observations: JsonSchema = {
    type: "array",
    items: { type: "string", minLength: 1, maxLength: maxTextLength },
    maxItems,
    description: "Single facts, one per string",
  };
  return {
    namespace: string(`Name of the graph. Default: ${namespace}`, { pattern: namespacePattern }),
    name,
    entity: object({ name, entityType: string("Kind of entity, such as person", type), observations }, [
      "observations",
    ]),
    relation: object({
      from: { ...name, description: "Entity at the start of the relation" },
      to: { ...name, description: "Entity at the end of the relation" },
      relationType: string("Type in active voice, such as works_at", type),
    }),
    observations,
    listOf,
  };
}

const entityOut: JsonSchema = object(
  {
    name: string("Its name"),
    entityType: string("Kind of entity"),
    observations: texts("Observations, oldest first"),
    moreObservations: count("Number of observations left out; open_nodes returns them with observationsFrom"),
  },
  ["moreObservations"],
);

const relationOut: JsonSchema = object({
  from: string("Entity at the start"),
  to: string("Entity at the end"),
  relationType: string("Type of the relation"),
});

export const moreRelationsOut: JsonSchema = count(
  "Number of relations left out; export_graph returns all of them; absent if none",
);

export const damageOut: JsonSchema = count(
  "Number of damaged places in the memory file, so something may be missing: tell the user; absent if none",
);

export const entitiesOut: JsonSchema = { type: "array", items: entityOut, description: "The entities" };
export const relationsOut: JsonSchema = { type: "array", items: relationOut, description: "The relations" };
