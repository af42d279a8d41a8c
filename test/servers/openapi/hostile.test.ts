// Descriptions that are broken or hostile: one bad operation costs no other, and none costs much.

import { connectInMemory } from "portolan/testing";
import { fromOpenApi } from "portolan-openapi";
import { expect, test } from "vitest";
import { failureOf } from "../kit/tools.ts";
import { describing, open, startApi, textOf } from "./kit.ts";

const api = "https://x.example";
const body = (schema: unknown) => ({ required: true, content: { "application/json": { schema } } });

test.each<[unknown, string]>([
  [null, "expected an OpenAPI description"],
  [[], "expected an OpenAPI description"],
  [{ swagger: "2.0" }, "expected OpenAPI 3.0 or 3.1, got Swagger 2.0"],
  [{ openapi: "4.0.0" }, 'openapi: expected version 3.0 or 3.1, got "4.0.0"'],
  [{ openapi: "3.1.0" }, "no operation is left to offer"],
  [{ openapi: "3.1.0", paths: { "/a": 7 } }, "the first because: /a: expected an object for the path"],
])("refuses %j with the reason", (description, message) => {
  expect(() => fromOpenApi(description as never, { api })).toThrow(message);
});

test("leaves out what cannot be called, with the reason, and offers the rest", async () => {
  const left: string[] = [];
  const good = { get: { operationId: "good" } };
  const description = describing({
    "/good": good,
    "/variable/{x}": { get: {} },
    "/circle": { $ref: "#/paths/~1circle" },
    "/missing": { get: { parameters: [{ $ref: "#/components/parameters/None" }] } },
    "/file": { get: { parameters: [{ $ref: "other.yaml#/x" }] } },
    "/prototype": { get: { requestBody: { $ref: "#/__proto__/toString" } } },
    "/nameless": { get: { parameters: [{ in: "query" }] } },
  });
  const client = await open(description, { api, onLeftOut: (problem) => left.push(problem) });
  expect((await client.listTools()).map(({ name }) => name)).toEqual(["good"]);
  expect(left).toEqual([
    "GET /variable/{x}: its path has the variable {x}, which no parameter describes",
    "/circle: the reference of the path leads in a circle",
    'GET /missing: nothing is at "#/components/parameters/None"',
    'GET /file: "other.yaml#/x" is in another file; bundle the description into one file',
    'GET /prototype: nothing is at "#/__proto__/toString"',
    "GET /nameless: a parameter has no name or place",
  ]);
});

test("a schema that refers to itself, or to nothing, costs no operation", async () => {
  const { address, seen } = await startApi();
  const node = { type: "object", required: ["next"], properties: { next: { $ref: "#/components/schemas/Node" } } };
  const description = describing(
    {
      "/loop": { post: { operationId: "loop", requestBody: body({ $ref: "#/components/schemas/Node" }) } },
      "/self": { post: { operationId: "self", requestBody: body({ $ref: "#/components/schemas/Self" }) } },
      "/nowhere": { post: { operationId: "nowhere", requestBody: body({ $ref: "#/nowhere" }) } },
      "/elsewhere": {
        get: {
          operationId: "elsewhere",
          responses: { 200: { content: { "application/json": { schema: { $ref: "other.yaml#/Pet" } } } } },
        },
      },
      "/members": {
        post: {
          operationId: "members",
          requestBody: {
            content: {
              "multipart/form-data": { schema: { type: "object", properties: { a: { $ref: "#/nowhere" } } } },
            },
          },
        },
      },
      "/lost": { post: { operationId: "lost", requestBody: body({ type: "array", items: { $ref: "#/nowhere" } }) } },
    },
    { components: { schemas: { Node: node, Self: { allOf: [{ $ref: "#/components/schemas/Self" }] } } } },
  );
  const client = await open(description, { api: address });
  expect(await failureOf(client, "loop", { next: { next: {} } })).toContain("is required");
  expect(await failureOf(client, "self", { body: {} })).toContain("too large to check");
  await textOf(client, "lost", { body: [1, "two"] });
  await textOf(client, "nowhere", { body: { any: "thing" } });
  await textOf(client, "elsewhere");
  await textOf(client, "members", { a: "b" });
  expect(seen.map(({ url }) => url)).toEqual(["/lost", "/nowhere", "/elsewhere", "/members"]);
});

test("keeps the schemas of a tool within their limit, however large the description is", async () => {
  let deep: object = { type: "string" };
  for (let depth = 0; depth < 10_000; depth += 1) deep = { type: "object", properties: { a: deep } };
  const wide = {
    type: "object",
    properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`p${at}`, {}])),
  };
  const schemas = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, at) => [
      `S${at}`,
      {
        type: "object",
        properties: { next: { $ref: `#/components/schemas/S${at + 1}` }, text: { description: "x".repeat(900) } },
      },
    ]),
  );
  const description = describing(
    {
      "/deep": { post: { operationId: "deep", requestBody: body(deep) } },
      "/wide": { post: { operationId: "wide", requestBody: body({ type: "array", items: wide }) } },
      "/chain": { post: { operationId: "chain", requestBody: body({ $ref: "#/components/schemas/S0" }) } },
    },
    { components: { schemas } },
  );
  const client = await open(description, { api });
  for (const { name, inputSchema } of await client.listTools()) {
    expect(JSON.stringify(inputSchema).length, name).toBeLessThan(40_000);
  }
  const chain = (await client.listTools()).find(({ name }) => name === "chain");
  expect(JSON.stringify(chain?.inputSchema).length).toBeLessThan(16_384);
});

test("runs no pattern of a description, and keeps names of prototypes harmless", async () => {
  const { address, seen } = await startApi();
  const evil = { type: "string", pattern: "^(a+)+$" };
  const properties = JSON.parse(
    `{"__proto__": {"type":"string"}, "constructor": {"type":"string"}, "evil": ${JSON.stringify(evil)}}`,
  );
  const description = describing({
    "/x": { post: { operationId: "__proto__", requestBody: body({ type: "object", properties }) } },
  });
  const client = await open(description, { api: address });
  const [tool] = await client.listTools();
  expect(tool?.name).toBe("proto");
  expect(tool?.inputSchema.properties?.["evil"]).toEqual({ type: "string", description: "Pattern: ^(a+)+$" });
  await textOf(client, "proto", { evil: `${"a".repeat(50_000)}!`, constructor: "c" });
  expect(Object.keys(JSON.parse(String(seen[0]?.body)))).toEqual(["constructor", "evil"]);
});

test("a response that is too large, cut off or slow is an error that says so", async () => {
  const { address } = await startApi(({ url }, response) => {
    if (url === "/huge") response.end("x".repeat(5_000));
    else if (url === "/cut") response.writeHead(200, { "content-length": 100 }).write("x", () => response.destroy());
  });
  const paths = Object.fromEntries(["huge", "cut", "slow"].map((id) => [`/${id}`, { get: { operationId: id } }]));
  const limits = { maxBytes: 1_000, timeoutMs: 300, maxRetries: 0 };
  const client = await open(describing(paths), { api: address, limits });
  expect(await failureOf(client, "huge")).toContain("larger than 1000 bytes. Ask for less");
  expect(await failureOf(client, "cut")).toContain("did not answer properly");
  expect(await failureOf(client, "slow")).toContain("did not answer properly");
});

test("many operations cost little, and only what is looked at", async () => {
  const operation = { parameters: [{ name: "q", in: "query", schema: { $ref: "#/components/schemas/A" } }] };
  const paths = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`/p${at}`, { get: operation }]));
  const server = fromOpenApi(describing(paths, { components: { schemas: { A: { type: "string" } } } }), { api });
  const client = await connectInMemory(server);
  expect(await client.listTools()).toHaveLength(3);
  expect(JSON.parse(await textOf(client as never, "find_operations", { words: "p19999" })).operations).toHaveLength(1);
  await client.close();
});
