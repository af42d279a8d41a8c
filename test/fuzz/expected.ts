import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { deepMark, deepText, type Mutation, mutate, ownId, type Script } from "./script.ts";

const encoder = new TextEncoder();

/** The least and the greatest number of answers to each id. */
export class Expected {
  readonly #least = new Map<unknown, number>();
  readonly #most = new Map<unknown, number>();
  /** Groups of ids: either all of a group are answered or none. */
  readonly together: unknown[][] = [];

  exactly(id: unknown): void {
    this.#least.set(id, this.least(id) + 1);
    this.maybe(id);
  }

  maybe(id: unknown): void {
    this.#most.set(id, (this.#most.get(id) ?? 0) + 1);
  }

  /** An id that was cancelled need not be answered. */
  release(id: unknown): void {
    this.#least.delete(id);
  }

  least(id: unknown): number {
    return this.#least.get(id) ?? 0;
  }

  isMet(counts: Map<unknown, number>): boolean {
    return [...this.#least].every(([id, least]) => (counts.get(id) ?? 0) >= least);
  }

  check(counts: Map<unknown, number>): void {
    for (const [id, least] of this.#least)
      expect(counts.get(id) ?? 0, `answers to ${JSON.stringify(id)}`).toBeGreaterThanOrEqual(least);
    for (const [id, count] of counts)
      expect(count, `answers to ${JSON.stringify(id)}`).toBeLessThanOrEqual(this.#most.get(id) ?? 0);
    for (const ids of this.together) expect(new Set(ids.map((id) => counts.get(id) ?? 0)).size).toBeLessThanOrEqual(1);
  }
}

export function isId(value: unknown): boolean {
  return typeof value === "string" || Number.isSafeInteger(value);
}

/** Records the answers that a parsed line, valid or not, requires or allows. */
function expectFor(value: unknown, expected: Expected): void {
  if (Array.isArray(value)) {
    for (const member of value) if (isId(member?.id)) expected.maybe(member.id);
    return;
  }
  if (typeof value !== "object" || value === null) return;
  const { jsonrpc, id, method, params, result, error } = value as JsonObject;
  if (!isId(id)) return;
  const isRequest =
    jsonrpc === "2.0" &&
    typeof method === "string" &&
    (params === undefined || (typeof params === "object" && params !== null));
  if (isRequest && method === "subscriptions/listen") expected.maybe(id);
  else if (isRequest || (result === undefined && error === undefined)) expected.exactly(id);
}

/** Turns a script into bytes and records the expected answers. */
export function toBytes({ lines, crlf }: Script, run: number, expected: Expected): Uint8Array {
  const cancelled: unknown[] = [];
  const ids: unknown[] = [];
  const chunks: Uint8Array[] = [];
  const newId = () => {
    const id = ids.length % 2 === 0 ? `${run}.${ids.length}` : run * 10_000 + ids.length;
    ids.push(id);
    return id;
  };
  const build = (request: JsonObject, mutations: Mutation[], id: unknown) =>
    mutations.reduce<unknown>(mutate, { jsonrpc: "2.0", id, ...request });
  const text = (value: unknown) => JSON.stringify(value).replaceAll(`"${deepMark}"`, deepText);
  const addLine = (content: string) => {
    chunks.push(encoder.encode(content));
    expectFor(JSON.parse(content), expected);
  };
  for (const item of lines) {
    if (item.kind === "request") addLine(text(build(item.base, item.mutations, item.id === ownId ? newId() : item.id)));
    else if (item.kind === "batch") {
      const values = item.members.map(({ base: request, mutations }) => build(request, mutations, newId()));
      const content = text(values);
      addLine(content);
      const members = JSON.parse(content) as JsonObject[];
      const group = members.map((member) => member?.["id"]);
      if (group.every((id) => ids.includes(id))) expected.together.push(group);
    } else if (item.kind === "cancel") {
      const requestId = ids.at(-1 - item.back);
      cancelled.push(requestId);
      addLine(text({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } }));
    } else if (item.kind === "reply") addLine(text({ jsonrpc: "2.0", id: item.id, ...item.body }));
    else if (item.kind === "json") addLine(text(item.value));
    else if (item.kind === "cut") {
      const id = newId();
      const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
      chunks.push(encoder.encode(head + JSON.stringify(item.base).slice(1, 1 + item.keep)));
      expected.exactly(id);
    } else {
      // Bytes that are JSON by chance are treated like any other line.
      for (const piece of splitLines(item.bytes)) {
        chunks.push(piece, encoder.encode("\n"));
        const value = parse(piece);
        if (value !== undefined) expectFor(value, expected);
      }
    }
    chunks.push(encoder.encode(crlf ? "\r\n" : "\n"));
  }
  for (const id of cancelled) expected.release(id);
  for (const group of expected.together.splice(0))
    if (!group.some((id) => cancelled.includes(id))) expected.together.push(group);
  return Buffer.concat(chunks);
}

function splitLines(bytes: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let start = 0;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    pieces.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return [...pieces, bytes.subarray(start)];
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
