import type { JsonSchema } from "portolan/server";
import { count, object, string } from "portolan-server-kit";
import type { Limits } from "./options.ts";

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
