import type { JsonObject } from "portolan";
import { isObject, type OutgoingEvent } from "portolan/internal";
import type { ModelEvent, ModelRequest } from "../model.ts";
import type { FakeModelFaults } from "./fake.ts";

/** The parts of the fake provider that differ between APIs. */
export interface Dialect {
  readonly path: string;
  /** Returns the API key of a request. */
  keyOf(headers: { readonly [name: string]: string | undefined }): string | undefined;
  /** Returns the reason why a real provider refuses a request; undefined if it does not. */
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
  /** Returns the turn as one JSON body. */
  whole(events: readonly ModelEvent[]): JsonObject;
}

/** Returns a member that is an array of objects; otherwise an empty array. */
export function objectsIn(value: JsonObject, member: string): JsonObject[] {
  const found = value[member];
  return Array.isArray(found) ? found.filter(isObject) : [];
}

export function textIn(value: JsonObject, member: string): string {
  const found = value[member];
  return typeof found === "string" ? found : "";
}

/** Returns the pieces in which a text is sent: one, or single characters. */
export function piecesOf(text: string, { splitTools }: FakeModelFaults): string[] {
  return splitTools === true ? [...text] : [text];
}
