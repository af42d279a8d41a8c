// The tools of an API: which are offered, what they return, and what they never do.
import type { ServerResponse } from "node:http";
import { connectInMemory } from "portolan/testing";
import { fromOpenApi, type OpenApiOptions } from "portolan-openapi";
import { expect, test } from "vitest";
import { call, failureOf } from "../kit/tools.ts";
import { describing, open, startApi, textOf } from "./kit.ts";

const string = { type: "string" };
const petId = { name: "petId", in: "path", required: true, schema: string };
const answering = (schema: object) => ({ 200: { content: { "application/json": { schema } } } });

const pets = describing({
  "/pets": {
    get: { operationId: "listPets", summary: "List all pets", tags: ["pets"], responses: answering({ type: "array" }) },
    post: {
      operationId: "createPet",
      tags: ["pets"],
      requestBody: { content: { "application/json": { schema: { type: "object", properties: { name: string } } } } },
    },
    head: {},
  },
  "/pets/{petId}": {
    parameters: [petId],
    get: { operationId: "showPet", responses: answering({ type: "object", properties: { name: string } }) },
    put: { operationId: "replacePet" },
    delete: { operationId: "pets.delete", deprecated: true },
  },
  "/search": { post: { operationId: "search", tags: ["find"] } },
});

const namesOf = async (options: OpenApiOptions) => {
  const client = await open(pets, { api: "https://pets.example", ...options });
  return (await client.listTools()).map(({ name }) => name);
};

test("offers each operation as a tool that tells what it does", async () => {
  const client = await open(pets, { api: "https://pets.example" });
  const tools = await client.listTools();
  expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint, annotations?.destructiveHint])).toEqual(
    [
      ["createPet", false, false],
      ["head_pets", true, false],
      ["listPets", true, false],
      ["pets_delete", false, true],
      ["replacePet", false, true],
      ["search", false, false],
      ["showPet", true, false],
    ],
  );
  expect(tools.find(({ name }) => name === "listPets")).toMatchObject({
    title: "List all pets",
    description: "List all pets\n\nGET /pets",
  });
  expect(tools.find(({ name }) => name === "pets_delete")?.description).toBe("Deprecated.\n\nDELETE /pets/{petId}");
  expect(client.server).toMatchObject({ info: { name: "test_api", title: "Test API", version: "1.2.3" } });
});

test.each<[string, OpenApiOptions, string[]]>([
  ["a tag", { only: ["tag:pets"] }, ["createPet", "listPets"]],
  ["a method and a path", { only: ["GET /pets*"] }, ["listPets", "showPet"]],
  ["any method of a path", { only: ["* /pets/{petId}"], except: ["DELETE /pets/*"] }, ["replacePet", "showPet"]],
  ["an id", { only: ["pets.delete"] }, ["pets_delete"]],
  ["the name of a tool", { only: ["pets_*"] }, ["pets_delete"]],
  ["reading", { readOnly: true, reading: ["search"] }, ["head_pets", "listPets", "search", "showPet"]],
  [
    "other names",
    { only: ["showPet", "HEAD /pets"], names: { showPet: "pet", "HEAD /pets": "count" } },
    ["count", "pet"],
  ],
])("chooses operations by %s", async (_, options, names) => {
  expect(await namesOf(options)).toEqual(names);
});

test.each<[OpenApiOptions, string]>([
  [{ only: ["isues/*"] }, 'only: no operation is "isues/*"'],
  [{ except: ["showPets"] }, 'except: no operation is "showPets"'],
  [{ only: ["search"], readOnly: true }, "no operation is left to offer"],
  [{ api: "http://pets.example" }, "api: expected an https address"],
])("refuses %j", (options, message) => {
  expect(() => fromOpenApi(pets, { api: "https://pets.example", ...options })).toThrow(message);
});

test("gives long and equal ids names of their own, which stay when operations are added", async () => {
  const long = `list${"_all_the_very_many_entries".repeat(4)}`;
  const paths = { "/a": { get: { operationId: long } }, "/b": { get: { operationId: long } }, "/c": { get: {} } };
  const list = async (more: object) =>
    (await (await open(describing({ ...paths, ...more }), { api: "https://x.example" })).listTools()).map(
      ({ name }) => name,
    );
  const names = await list({});
  expect(new Set(names).size).toBe(3);
  expect(names.every((name) => /^[\w-]{1,64}$/.test(name))).toBe(true);
  expect(await list({ "/d": { get: {} } })).toEqual(expect.arrayContaining(names));
});

test("never sends a change with readOnly, and asks the user before one", async () => {
  const { address, seen } = await startApi();
  const reader = await open(pets, { api: address, readOnly: true });
  for (const { name } of await reader.listTools())
    await reader.callTool(name, name === "showPet" ? { petId: "1" } : {});
  expect([...new Set(seen.map(({ method }) => method))].sort()).toEqual(["GET", "HEAD"]);
  seen.length = 0;
  const silent = await open(pets, { api: address, ask: true });
  expect(await failureOf(silent, "createPet", { name: "Rex" })).toContain("This client cannot ask the user");
  const asked: string[] = [];
  let answer: "accept" | "decline" = "decline";
  const client = await open(
    pets,
    { api: address, ask: true },
    {
      answers: {
        elicit: ({ message }) => {
          asked.push(message);
          return { action: answer, content: {} };
        },
      },
    },
  );
  await client.callTool("createPet", { name: "Rex" } as never);
  expect(seen).toEqual([]);
  answer = "accept";
  expect(await textOf(client, "createPet", { name: "Rex" })).toBe('{"ok":true}');
  expect(asked[1]).toBe(`POST ${address}/pets\n\n{\n  "name": "Rex"\n}`);
  expect(seen.map(({ method, body }) => [method, String(body)])).toEqual([["POST", '{"name":"Rex"}']]);
});

const secured = describing(
  {
    "/open": { get: { operationId: "open", security: [] } },
    "/key": { get: { operationId: "key", security: [{ inQuery: [] }] } },
    "/both": { get: { operationId: "both", security: [{ inHeader: [], inCookie: [] }] } },
    "/any": { get: { operationId: "any", security: [{ basic: [] }, { login: ["read"] }] } },
    "/optional": { get: { operationId: "optional", security: [{ login: [] }, {}] } },
  },
  {
    components: {
      securitySchemes: {
        inQuery: { type: "apiKey", in: "query", name: "api key" },
        inHeader: { type: "apiKey", in: "header", name: "X-Key" },
        inCookie: { type: "apiKey", in: "cookie", name: "sid" },
        basic: { type: "http", scheme: "basic" },
        login: { type: "oauth2", flows: {} },
      },
    },
  },
);

test("proves each request as its operation needs, by the credential of the caller", async () => {
  const { address, seen } = await startApi();
  const credentials: { [scheme: string]: string } = { inQuery: "k&1", inHeader: "h", inCookie: "c", login: "t" };
  const callers: string[] = [];
  const client = await open(secured, {
    api: address,
    credential: ({ scheme = "", caller }) => {
      callers.push(caller.key);
      return credentials[scheme];
    },
  });
  for (const name of ["open", "key", "both", "any", "optional"]) await textOf(client, name);
  expect(seen.map(({ url, headers }) => [url, headers["x-key"], headers.cookie, headers.authorization])).toEqual([
    ["/open", undefined, undefined, undefined],
    ["/key?api%20key=k%261", undefined, undefined, undefined],
    ["/both", "h", "sid=c", undefined],
    ["/any", undefined, undefined, "Bearer t"],
    ["/optional", undefined, undefined, "Bearer t"],
  ]);
  expect(new Set(callers)).toEqual(new Set(["local"]));
});

test("says which credential is missing before anything is sent, and sends none where none is needed", async () => {
  const { address, seen } = await startApi();
  const client = await open(secured, { api: address, credentialHelp: "Set the key" });
  expect(await failureOf(client, "both")).toBe(
    "This operation needs a credential (inHeader and inCookie). Set the key",
  );
  expect(await failureOf(client, "any")).toContain("(basic, or login)");
  expect(seen).toEqual([]);
  await textOf(client, "optional");
  expect(seen[0]?.headers.authorization).toBeUndefined();
});

test("repeats no credential in an error, and names the way back when the API refuses it", async () => {
  const { address } = await startApi(({ url }, response) => {
    response.writeHead(url === "/any" ? 401 : 400, { "content-type": "application/problem+json" });
    response.end(JSON.stringify({ title: "Bad request", detail: `secret-1 of ${url} is wrong` }));
  });
  const client = await open(secured, { api: address, credential: "secret-1", credentialHelp: "Set the key" });
  expect(await failureOf(client, "key")).toBe(
    "Test API refused the request: status 400, [token] of /key?api%20key=[token] is wrong",
  );
  expect(await failureOf(client, "any")).toBe(
    "Test API does not accept the sign-in: status 401, [token] of /any is wrong. Set the key",
  );
});

test("sends no credential to another host, neither by a redirect nor by a server of an operation", async () => {
  const other = await startApi();
  const { address } = await startApi((_, response) =>
    response.writeHead(302, { location: `${other.address}/x` }).end(),
  );
  const client = await open(secured, { api: address, credential: "secret-1" });
  await client.callTool("any").catch(() => {});
  expect(other.seen.map(({ headers }) => headers.authorization)).toEqual(other.seen.map(() => undefined));
  const left: string[] = [];
  const elsewhere = describing(
    { "/a": { get: {} }, "/b": { servers: [{ url: "https://elsewhere.example" }], get: {} } },
    { servers: [{ url: "https://api.example/{version}", variables: { version: { default: "v2" } } }] },
  );
  const some = await connectInMemory(fromOpenApi(elsewhere, { onLeftOut: (problem) => left.push(problem) }));
  expect((await some.listTools()).map(({ name }) => name)).toEqual(["get_a"]);
  expect(left).toEqual(["GET /b: it is at another server, which does not get the credential of this one"]);
  await some.close();
});

test.each(["http://127.0.0.1:4100", "https://10.0.0.1", "https://printer.local", "http://api.example"])(
  "does not take %s from a description, only from the person",
  async (url) => {
    const description = describing({ "/a": { get: { operationId: "a" } } }, { servers: [{ url }] });
    expect(() => fromOpenApi(description)).toThrow(/^servers: .*expected an https address|is no public https address/);
  },
);

test("reaches an address of this machine that the person has named", async () => {
  const { address, seen } = await startApi();
  const description = describing(
    { "/a": { get: { operationId: "a" } } },
    { servers: [{ url: "https://api.example" }] },
  );
  expect(await textOf(await open(description, { api: address }), "a")).toBe('{"ok":true}');
  expect(seen).toHaveLength(1);
});

/** Answers each path with its own response. */
function answersOf(responses: { [path: string]: (response: ServerResponse) => void }) {
  const paths = Object.fromEntries(
    Object.keys(responses).map((path) => [path, { get: { operationId: path.slice(1) } }]),
  );
  return { paths, answer: ({ url }: { url: string }, response: ServerResponse) => responses[url]?.(response) };
}

test("returns text, images, files and empty responses as what they are", async () => {
  const bytes = Buffer.from([137, 80, 78, 71]);
  const { paths, answer } = answersOf({
    "/text": (response) => response.setHeader("content-type", "text/csv").end("a,b\n1,2"),
    "/image": (response) => response.setHeader("content-type", "image/png").end(bytes),
    "/file": (response) => response.setHeader("content-type", "application/zip").end(bytes),
    "/large": (response) => response.setHeader("content-type", "application/zip").end(Buffer.alloc(2_000)),
    "/empty": (response) => response.writeHead(204).end(),
    "/long": (response) => response.setHeader("content-type", "application/json").end(JSON.stringify("x".repeat(900))),
  });
  const { address } = await startApi(answer);
  const client = await open(describing(paths), { api: address, limits: { maxFileBytes: 1_000, maxChars: 500 } });
  expect(await textOf(client, "text")).toBe("a,b\n1,2");
  expect((await client.callTool("image")).content).toEqual([
    { type: "image", data: bytes.toString("base64"), mimeType: "image/png" },
  ]);
  expect((await client.callTool("file")).content).toMatchObject([
    { type: "resource", resource: { blob: bytes.toString("base64"), mimeType: "application/zip" } },
  ]);
  expect(await textOf(client, "large")).toBe("A file of 2000 bytes (application/zip), too large to be shown here.");
  expect(await textOf(client, "empty")).toBe("Done (status 204).");
  expect(await textOf(client, "long")).toContain("… cut after 500 of 902 characters. Ask for less");
});

test("returns the described data to programs, and says when a response breaks its description", async () => {
  let count = 0;
  const { address } = await startApi((_, response) => {
    count += 1;
    response.setHeader("content-type", "application/json").end(count === 1 ? '{"name":"Rex","age":3}' : '{"name":7}');
  });
  const client = await open(pets, { api: address });
  expect(await call(client, "showPet", { petId: "1" })).toEqual({ name: "Rex", age: 3 });
  const text = await failureOf(client, "showPet", { petId: "1" });
  expect(text).toContain(
    "The request succeeded (status 200), but the response breaks the API's own description: name expected",
  );
  expect(text).toContain("Do not send it again");
  expect(await textOf(client, "showPet", { petId: "1" })).toContain('{"name":7}');
});

test("tells the arguments of the next page", async () => {
  const { address } = await startApi((_, response) => {
    const next = '<https://api.example/items?page=2&cursor=a%2Bb&key=x>; rel="next"';
    response.setHeader("link", `<https://api.example/items?page=1>; rel="prev", ${next}`);
    response.setHeader("content-type", "application/json").end("[]");
  });
  const parameters = [
    { name: "page", in: "query", schema: { type: "integer" } },
    { name: "cursor", in: "query", schema: string },
  ];
  const client = await open(describing({ "/items": { get: { operationId: "items", parameters } } }), { api: address });
  expect(await textOf(client, "items")).toBe('[]\nThere is a next page: call this again with page: 2, cursor: "a+b".');
});

test("waits for a limit of the API, repeats what is safe, and never repeats a change that may have been made", async () => {
  const { address, seen } = await startApi(({ method }, response, count) => {
    if (count === 1) response.writeHead(429, { "retry-after": "0" }).end();
    else if (count === 2 || method === "POST") response.writeHead(503).end();
    else response.setHeader("content-type", "application/json").end("[]");
  });
  const client = await open(pets, { api: address });
  expect(await textOf(client, "listPets")).toBe("[]");
  expect(seen).toHaveLength(3);
  expect(await failureOf(client, "createPet", { name: "Rex" })).toContain("The change may have been made: look before");
  expect(seen).toHaveLength(4);
});

test("offers four tools that find and call operations when there are many", async () => {
  const { address, seen } = await startApi();
  const client = await open(pets, { api: address, limits: { maxTools: 3 } });
  expect((await client.listTools()).map(({ name }) => name)).toEqual([
    ...["call_changing_operation", "call_reading_operation", "describe_operation", "find_operations"],
  ]);
  const found = JSON.parse(await textOf(client, "find_operations", { words: "all pets" }));
  expect(found).toEqual({
    total: 1,
    operations: [{ name: "listPets", request: "GET /pets", summary: "List all pets", tags: ["pets"] }],
  });
  const all = JSON.parse(await textOf(client, "find_operations"));
  expect(all).toMatchObject({ total: 7, tags: ["pets", "find"] });
  const described = JSON.parse(await textOf(client, "describe_operation", { name: "showPet" }));
  expect(described).toMatchObject({ isReading: true, arguments: { required: ["petId"] }, result: { type: "object" } });
  await textOf(client, "call_reading_operation", { name: "showPet", arguments: { petId: "7" } });
  await textOf(client, "call_changing_operation", { name: "createPet", arguments: { name: "Rex" } });
  expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual(["GET /pets/7", "POST /pets"]);
  expect(await failureOf(client, "call_reading_operation", { name: "createPet" })).toContain(
    "use call_changing_operation",
  );
  expect(await failureOf(client, "call_reading_operation", { name: "showPet" })).toBe("arguments: petId is required");
  expect(await failureOf(client, "describe_operation", { name: "nope" })).toContain('There is no operation "nope"');
  expect(seen).toHaveLength(2);
});

test("finds operations in pages", async () => {
  const paths = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [`/item${at}`, { get: { summary: "An item" } }]),
  );
  const client = await open(describing(paths), { api: "https://x.example", offer: "search" });
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const page = JSON.parse(await textOf(client, "find_operations", { words: "item", ...(cursor && { cursor }) }));
    names.push(...page.operations.map(({ name }: { name: string }) => name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(new Set(names).size).toBe(60);
  expect(names).toHaveLength(60);
});
