import type { JsonSchema } from "portolan/server";
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

/** An object schema whose members are all required, but those that are named. */
export function object(properties: { [name: string]: JsonSchema }, optional: readonly string[] = []): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}

export function text(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "string", description, ...more };
}

export function whole(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "integer", minimum: 0, description, ...more };
}

export function texts(description: string): JsonSchema {
  return { type: "array", items: { type: "string" }, description };
}

export function createSchemas({ maxItems, maxNameLength, maxTextLength }: Limits, namespace: string): Schemas {
  const name = text("The name of the entity, unique in its namespace", { minLength: 1, maxLength: maxNameLength });
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
    namespace: text(`Which of the separate graphs; ${namespace} unless given`, { pattern: namespacePattern }),
    name,
    entity: object({ name, entityType: text("What kind of thing it is, such as person", type), observations }, [
      "observations",
    ]),
    relation: object({
      from: { ...name, description: "The entity that the relation starts at" },
      to: { ...name, description: "The entity that it leads to" },
      relationType: text("In active voice, such as works_at", type),
    }),
    observations,
    listOf,
  };
}

export const entityOut: JsonSchema = object(
  {
    name: text("Its name"),
    entityType: text("What kind of thing it is"),
    observations: texts("What is known of it, the oldest first"),
    moreObservations: whole("How many further observations were left out; open_nodes shows them by observationsFrom"),
  },
  ["moreObservations"],
);

export const relationOut: JsonSchema = object({
  from: text("Where it starts"),
  to: text("Where it leads"),
  relationType: text("What it says"),
});

export const moreRelationsOut: JsonSchema = whole(
  "How many relations of these entities were left out; export_graph has them all; absent if none",
);

export const damageOut: JsonSchema = whole(
  "How many places of the memory's file are damaged, so that something may be missing: tell the user; absent if none",
);

export const entitiesOut: JsonSchema = { type: "array", items: entityOut, description: "The entities" };
export const relationsOut: JsonSchema = { type: "array", items: relationOut, description: "The relations" };
