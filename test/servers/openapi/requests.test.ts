// Where the arguments of a tool go in a request.
import { expect, test } from "vitest";
import { call, failureOf } from "../kit/tools.ts";
import { describing, open, startApi, textOf } from "./kit.ts";

const list = ["blue", "black", "brown"];
const object = { R: 100, G: 200, B: 150 };

/** The table of examples in the specification of OpenAPI 3.1, section "Style Examples". */
test.each<[place: "path" | "query", style: string, explode: boolean, color: unknown, sent: string]>([
  ["path", "matrix", false, "blue", "/;color=blue"],
  ["path", "matrix", false, list, "/;color=blue,black,brown"],
  ["path", "matrix", false, object, "/;color=R,100,G,200,B,150"],
  ["path", "matrix", true, list, "/;color=blue;color=black;color=brown"],
  ["path", "matrix", true, object, "/;R=100;G=200;B=150"],
  ["path", "label", false, "blue", "/.blue"],
  ["path", "label", true, list, "/.blue.black.brown"],
  ["path", "label", true, object, "/.R=100.G=200.B=150"],
  ["path", "simple", false, list, "/blue,black,brown"],
  ["path", "simple", false, object, "/R,100,G,200,B,150"],
  ["path", "simple", true, object, "/R=100,G=200,B=150"],
  ["query", "form", false, "blue", "/?color=blue"],
  ["query", "form", false, list, "/?color=blue,black,brown"],
  ["query", "form", false, object, "/?color=R,100,G,200,B,150"],
  ["query", "form", true, list, "/?color=blue&color=black&color=brown"],
  ["query", "form", true, object, "/?R=100&G=200&B=150"],
  ["query", "spaceDelimited", false, list, "/?color=blue%20black%20brown"],
  ["query", "pipeDelimited", false, list, "/?color=blue%7Cblack%7Cbrown"],
  ["query", "deepObject", true, object, "/?color[R]=100&color[G]=200&color[B]=150"],
])("writes a parameter in the %s with style %s, explode %s: %j", async (place, style, explode, color, sent) => {
  const { address, seen } = await startApi();
  const parameter = { name: "color", in: place, style, explode, required: true, schema: {} };
  const path = place === "path" ? "/{color}" : "/";
  const description = describing({ [path]: { get: { operationId: "paint", parameters: [parameter] } } });
  await textOf(await open(description, { api: address }), "paint", { color });
  expect(seen.map(({ url }) => url)).toEqual([sent]);
});

test("encodes every character that could end a value or lead to another path", async () => {
  const { address, seen } = await startApi();
  const description = describing({
    "/files/{name}": {
      get: {
        operationId: "read",
        parameters: [
          { name: "name", in: "path", required: true, schema: { type: "string" } },
          { name: "q", in: "query", schema: { type: "string" } },
          { name: "raw", in: "query", allowReserved: true, schema: { type: "string" } },
        ],
      },
    },
  });
  const client = await open(description, { api: address });
  await textOf(client, "read", { name: "a/../b?c#d", q: "x&y=z ü", raw: "a/b:c&d#e" });
  expect(seen[0]?.url).toBe("/files/a%2F..%2Fb%3Fc%23d?q=x%26y%3Dz%20%C3%BC&raw=a/b:c%26d%23e");
  expect(await failureOf(client, "read", { name: ".." })).toBe('A part of the path must not be "." or ".."');
  expect(await failureOf(client, "read", { name: "" })).toContain("name: expected a value");
  expect(seen).toHaveLength(1);
});

test("sends headers, cookies and JSON parameters, and refuses a line break in a header", async () => {
  const { address, seen } = await startApi();
  const string = { type: "string" };
  const parameters = [
    { name: "X-Trace", in: "header", schema: string },
    { name: "X-Ids", in: "header", schema: { type: "array", items: { type: "integer" } } },
    { name: "theme", in: "cookie", schema: string },
    { name: "filter", in: "query", content: { "application/json": { schema: { type: "object" } } } },
    // Described elsewhere, so that these are not arguments.
    { name: "Authorization", in: "header", schema: string },
    { name: "Content-Type", in: "header", schema: string },
  ];
  const client = await open(describing({ "/x": { get: { operationId: "x", parameters } } }), { api: address });
  const [tool] = await client.listTools();
  expect(Object.keys(tool?.inputSchema.properties ?? {})).toEqual(["X-Trace", "X-Ids", "theme", "filter"]);
  await textOf(client, "x", { "X-Trace": "t1", "X-Ids": [1, 2], theme: "dark", filter: { a: [1] } });
  expect(seen[0]).toMatchObject({
    url: `/x?filter=${encodeURIComponent('{"a":[1]}')}`,
    headers: { "x-trace": "t1", "x-ids": "1,2", cookie: "theme=dark" },
  });
  expect(await failureOf(client, "x", { "X-Trace": "a\r\nHost: evil" })).toContain("X-Trace: expected a text without");
});

test("takes the members of a body as arguments, and the whole body where that would be ambiguous", async () => {
  const { address, seen } = await startApi();
  const body = (schema: object, type = "application/json") => ({ required: true, content: { [type]: { schema } } });
  const pet = {
    type: "object",
    required: ["name"],
    properties: { id: { type: "integer", readOnly: true }, name: { type: "string" }, tag: { type: "string" } },
  };
  const id = { name: "id", in: "path", required: true, schema: { type: "string" } };
  const name = { name: "name", in: "query", schema: { type: "string" } };
  const client = await open(
    describing(
      {
        "/pets/{id}": {
          parameters: [id],
          put: { operationId: "replace", requestBody: body({ $ref: "#/components/schemas/Pet" }) },
          post: { operationId: "rename", parameters: [name], requestBody: body({ $ref: "#/components/schemas/Pet" }) },
          patch: {
            operationId: "patch",
            requestBody: body({ type: "array", items: {} }, "application/json-patch+json"),
          },
        },
      },
      { components: { schemas: { Pet: pet } } },
    ),
    { api: address },
  );
  await textOf(client, "replace", { id: "7", name: "Rex", tag: "dog" });
  await textOf(client, "rename", { id: "7", name: "short", body: { name: "Rex" } });
  await textOf(client, "patch", { id: "7", body: [{ op: "remove", path: "/tag" }] });
  expect(seen.map(({ method, url, headers, body }) => [method, url, headers["content-type"], String(body)])).toEqual([
    ["PUT", "/pets/7", "application/json; charset=utf-8", '{"name":"Rex","tag":"dog"}'],
    ["POST", "/pets/7?name=short", "application/json; charset=utf-8", '{"name":"Rex"}'],
    ["PATCH", "/pets/7", "application/json-patch+json", '[{"op":"remove","path":"/tag"}]'],
  ]);
});

test("sends forms, files, text and bytes", async () => {
  const { address, seen } = await startApi();
  const sending = (operationId: string, type: string, schema: object) => ({
    post: { operationId, requestBody: { required: true, content: { [type]: { schema } } } },
  });
  const card = { type: "object", properties: { number: { type: "string" } } };
  const tags = { type: "array", items: { type: "string" } };
  const client = await open(
    describing({
      "/form": sending("form", "application/x-www-form-urlencoded", { type: "object", properties: { card, tags } }),
      "/upload": sending("upload", "multipart/form-data", {
        type: "object",
        properties: { title: { type: "string" }, file: { type: "string", format: "binary" } },
      }),
      "/text": sending("note", "text/plain", { type: "string" }),
      "/bytes": sending("bytes", "application/octet-stream", { type: "string", format: "binary" }),
    }),
    { api: address },
  );
  await textOf(client, "form", { card: { number: "4 2" }, tags: ["a", "b"] });
  await textOf(client, "upload", { title: "A cat", file: Buffer.from([0, 255, 7]).toString("base64") });
  await textOf(client, "note", { body: "grüß" });
  await textOf(client, "bytes", { body: Buffer.from([1, 2]).toString("base64") });
  expect(await failureOf(client, "bytes", { body: "no base64!" })).toBe("body: expected bytes as base64");
  const [form, upload, note, bytes] = seen;
  expect(String(form?.body)).toBe("card%5Bnumber%5D=4+2&tags=a&tags=b");
  const sent = await new Response(new Uint8Array(upload?.body ?? []), {
    headers: { "content-type": upload?.headers["content-type"] ?? "" },
  }).formData();
  expect(sent.get("title")).toBe("A cat");
  expect([...new Uint8Array(await (sent.get("file") as File).arrayBuffer())]).toEqual([0, 255, 7]);
  expect(String(note?.body)).toBe("grüß");
  expect([...(bytes?.body ?? [])]).toEqual([1, 2]);
});

test("checks arguments before anything is sent, and says what is wrong", async () => {
  const { address, seen } = await startApi();
  const limit = { name: "limit", in: "query", schema: { type: "integer", minimum: 1, maximum: 100 } };
  const sort = { name: "sort[by]", in: "query", required: true, schema: { type: "string", enum: ["name", "age"] } };
  const client = await open(describing({ "/pets": { get: { operationId: "list", parameters: [limit, sort] } } }), {
    api: address,
  });
  expect(await failureOf(client, "list", {})).toContain("sort_by");
  expect(await failureOf(client, "list", { sort_by: "size" })).toContain('expected one of "name", "age"');
  expect(await failureOf(client, "list", { sort_by: "name", limit: 0 })).toContain("expected at least 1, got 0");
  expect(await failureOf(client, "list", { sort_by: "name", page: 2 })).toContain("is unknown");
  expect(seen).toEqual([]);
  await call(client, "list", { sort_by: "age", limit: 5 });
  expect(seen[0]?.url).toBe("/pets?limit=5&sort%5Bby%5D=age");
});
