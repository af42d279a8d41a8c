import type { JsonObject } from "portolan";
import type { OutgoingEvent } from "portolan/internal";
import type { ModelEvent, ModelRequest } from "../model.ts";
import type { FakeModelFaults } from "./fake.ts";

/** What the fake provider has to know of a dialect. */
export interface Dialect {
  readonly path: string;
  /** The key that a request brings. */
  keyOf(headers: { readonly [name: string]: string | undefined }): string | undefined;
  /** What a provider would refuse in a request; undefined when nothing. */
  problemOf(body: JsonObject, headers: { readonly [name: string]: string | undefined }): string | undefined;
  toRequest(body: JsonObject): Omit<ModelRequest, "signal">;
  createWriter(body: JsonObject, faults: FakeModelFaults): DialectWriter;
  toError(type: string, message: string): JsonObject;
  toErrorEvent(type: string, message: string): OutgoingEvent;
}

/** Writes one turn. */
export interface DialectWriter {
  begin(): OutgoingEvent[];
  write(event: ModelEvent): OutgoingEvent[];
  /** The whole turn as one body. */
  whole(events: readonly ModelEvent[]): JsonObject;
}

/** A member that is an array of objects; empty when it is none. */
export function objectsIn(value: JsonObject, member: string): JsonObject[] {
  const found = value[member];
  return Array.isArray(found) ? found.filter(isObject) : [];
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function textIn(value: JsonObject, member: string): string {
  const found = value[member];
  return typeof found === "string" ? found : "";
}

/** A text as it is sent: whole, or in single characters. */
export function piecesOf(text: string, { splitTools }: FakeModelFaults): string[] {
  return splitTools === true ? [...text] : [text];
}
