import fc from "fast-check";
import type { JsonObject } from "portolan";
import { metaKey } from "../kit/raw-peer.ts";
import { stateful } from "../kit/revisions.ts";

export const statelessMeta: JsonObject = {
  [metaKey("protocolVersion")]: "2026-07-28",
  [metaKey("clientCapabilities")]: { roots: {}, elicitation: {} },
};

/** Requests of clients of all revisions. Each ends without further input. */
export const requests: JsonObject[] = [
  ...stateful.map((protocolVersion) => ({
    method: "initialize",
    params: {
      protocolVersion,
      capabilities: { roots: {}, elicitation: {}, sampling: {} },
      clientInfo: { name: "fuzz", version: "1" },
    },
  })),
  { method: "ping" },
  { method: "logging/setLevel", params: { level: "debug" } },
  { method: "resources/subscribe", params: { uri: "note://a" } },
  ...[undefined, statelessMeta].flatMap((_meta) =>
    [
      { method: "server/discover", params: {} },
      { method: "tools/list", params: { cursor: "WyIiLCJhZGQiXQ" } },
      { method: "tools/call", params: { name: "add", arguments: { a: 1, b: 2 } } },
      { method: "tools/call", params: { name: "echo", arguments: { message: "héllo" } } },
      { method: "tools/call", params: { name: "who", arguments: {} } },
      { method: "tools/call", params: { name: "ask_roots" } },
      {
        method: "tools/call",
        params: { name: "ask_two", inputResponses: { a: { action: "accept" } }, requestState: "x.y" },
      },
      { method: "tools/call", params: { name: "logs" } },
      { method: "resources/list", params: {} },
      { method: "resources/read", params: { uri: "page://alpha/1" } },
      { method: "prompts/get", params: { name: "greet", arguments: { who: "Ada" } } },
      {
        method: "completion/complete",
        params: {
          ref: { type: "ref/resource", uri: "page://{book}/{number}" },
          argument: { name: "book", value: "a" },
        },
      },
      { method: "example.com/double", params: { value: 2 } },
    ].map(({ method, params }) => ({ method, params: { ...params, _meta: { ..._meta, progressToken: "p" } } })),
  ),
];

export const deepMark = "@deep@";
export const deepText: string = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;

const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom<unknown>(
      null,
      true,
      -1,
      0,
      1.5,
      2 ** 53,
      1e300,
      "",
      "x".repeat(5_000),
      [],
      {},
      [[[]]],
      deepMark,
      "\u0000",
      "\ud800",
      "2099-01-01",
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      JSON.parse('{"__proto__":{"x":1}}'),
      { toString: 1, valueOf: 1 },
      { length: 5 },
      "__proto__",
      "constructor",
      "io.modelcontextprotocol/x",
    ),
  },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

export interface Mutation {
  steps: number[];
  value: unknown;
  how: "replace" | "delete" | "add";
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  steps: fc.array(fc.nat(20), { minLength: 1, maxLength: 5 }),
  value: oddValue,
  how: fc.constantFrom("replace", "delete", "add"),
});

/** Returns a copy in which one member is replaced, deleted or added; `steps` is the path to it. */
export function mutate(target: unknown, { steps: [step = 0, ...rest], value, how }: Mutation): unknown {
  if (typeof target !== "object" || target === null) return value;
  const keys = Object.keys(target);
  const key = keys[step % Math.max(keys.length, 1)];
  if (key === undefined) return value;
  const entries = Object.entries(target);
  const next = entries.flatMap(([name, inner]): [string, unknown][] => {
    if (name !== key) return [[name, inner]];
    if (rest.length > 0) return [[name, mutate(inner, { steps: rest, value, how })]];
    if (how === "delete") return [];
    return how === "add"
      ? [
          [name, inner],
          [`${name}2`, value],
        ]
      : [[name, value]];
  });
  return Array.isArray(target) ? next.map(([, inner]) => inner) : Object.fromEntries(next);
}

/** The input of a server. */
export interface Script {
  lines: Line[];
  /** Positions at which the bytes are split into chunks. */
  cuts: number[];
  crlf: boolean;
}

/** The content of one line, before it gets its own id. */
export type Line =
  | { kind: "request"; base: JsonObject; mutations: Mutation[]; id: unknown }
  | { kind: "batch"; members: { base: JsonObject; mutations: Mutation[] }[] }
  | { kind: "cancel"; back: number }
  | { kind: "reply"; id: unknown; body: JsonObject }
  | { kind: "cut"; base: JsonObject; keep: number }
  | { kind: "json"; value: unknown }
  | { kind: "bytes"; bytes: Uint8Array };

const base = fc.constantFrom(...requests);
export const ownId: unique symbol = Symbol("an id that no other line has");

const line: fc.Arbitrary<Line> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("request"),
      base,
      mutations: fc.array(mutation, { maxLength: 2 }),
      id: fc.oneof(
        { weight: 5, arbitrary: fc.constant(ownId) },
        { weight: 1, arbitrary: fc.constantFrom<unknown>(0, "", "0", -7, null, 1.5, 2 ** 60, {}, "x".repeat(300)) },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("batch"),
      members: fc.array(fc.record({ base, mutations: fc.array(mutation, { maxLength: 1 }) }), { maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cancel"), back: fc.nat(3) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("reply"),
      id: fc.constantFrom<unknown>(0, 1, "0", null),
      body: fc.constantFrom<JsonObject>(
        { result: {} },
        { result: 5 },
        { error: { code: 1, message: "no" } },
        { error: null },
        { result: {}, error: {} },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cut"), base, keep: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("json"), value: fc.jsonValue({ maxDepth: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("bytes"), bytes: fc.uint8Array({ maxLength: 60 }) }) },
) as fc.Arbitrary<Line>;

export const script: fc.Arbitrary<Script> = fc.record({
  lines: fc.array(line, { maxLength: 25 }),
  cuts: fc.array(fc.nat(100_000), { maxLength: 30 }),
  crlf: fc.boolean(),
});
