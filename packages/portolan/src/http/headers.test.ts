import fc from "fast-check";
import { expect, test } from "vitest";
import type { RpcRequest } from "../jsonrpc/message.ts";
import { statelessRevisions } from "../protocol/revisions/index.ts";
import { encodeHeaderValue, headerKeys, headerNames, mirrorName, nameMemberOf, problemOfHeaders } from "./headers.ts";

const rowOf = (method: string) => statelessRevisions[0]!.requests.get(method);
const call = (name: unknown): RpcRequest => request("tools/call", { name });
const read = (uri: string): RpcRequest => request("resources/read", { uri });

function request(method: string, params?: { [member: string]: unknown }): RpcRequest {
  return { jsonrpc: "2.0", id: 1, method, ...(params && { params }) };
}

function check(message: RpcRequest, headers: { [name: string]: string }): string | undefined {
  return problemOfHeaders(message, rowOf(message.method), (name) => headers[name]);
}

test.each([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
  ["skills/list", undefined],
  ["vendor/unknown", undefined],
])("the name of %s is in %s", (method, member) => {
  expect(nameMemberOf(method, rowOf(method))).toBe(member);
});

test("lookup keys are the header names in lower case", () => {
  const sent = Object.entries(headerNames).map(([key, name]) => [key, name.toLowerCase()]);
  expect(Object.entries(headerKeys)).toEqual(sent);
});

test.each([
  ["tools/call", { name: "greet", uri: "no" }, "greet"],
  ["prompts/get", { name: "poem" }, "poem"],
  ["resources/read", { uri: "file:///ä", name: "no" }, "file:///ä"],
  ["tools/list", { name: "no", uri: "no" }, undefined],
  ["server/discover", undefined, undefined],
  ["vendor/unknown", { name: "no" }, undefined],
  ["tools/call", { name: 5 }, undefined],
  ["tools/call", undefined, undefined],
])("what Mcp-Name says of %s %j", (method, params, name) => {
  expect(mirrorName(rowOf(method), params)).toBe(name);
});

test("headers that match the body are accepted in any encoding", () => {
  expect(check(request("tools/list"), { "mcp-method": "tools/list" })).toBeUndefined();
  expect(check(request("vendor/unknown"), { "mcp-method": " vendor/unknown\t" })).toBeUndefined();
  expect(check(call("greet"), { "mcp-method": "tools/call", "mcp-name": "  greet " })).toBeUndefined();
  expect(check(call("greet"), { "mcp-method": "tools/call", "mcp-name": "=?base64?Z3JlZXQ=?=" })).toBeUndefined();
  expect(check(call("a, b"), { "mcp-method": "tools/call", "mcp-name": "a, b" })).toBeUndefined();
});

const codeUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
const anyText = fc.oneof(fc.string(), fc.string({ unit: codeUnit }));

test("the headers of our own client are accepted", () => {
  fc.assert(
    fc.property(anyText, anyText, (name, method) => {
      const headers = { "mcp-method": "tools/call", "mcp-name": encodeHeaderValue(name) };
      expect(check(call(name), headers)).toBeUndefined();
      expect(check(request(method), { "mcp-method": encodeHeaderValue(method) })).toBeUndefined();
    }),
  );
});

test("a header with another value is refused", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (name, other) => {
      fc.pre(name !== other);
      const headers = { "mcp-method": "tools/call", "mcp-name": encodeHeaderValue(other) };
      expect(check(call(name), headers)).toMatch(/^Mcp-Name: expected /);
    }),
  );
});

test.each([
  [call("greet"), {}, 'Mcp-Method: expected "tools/call" as in the body, got no such header'],
  [call("greet"), { "mcp-method": "TOOLS/CALL" }, 'Mcp-Method: expected "tools/call" as in the body, got "TOOLS/CALL"'],
  [
    request("tools/list"),
    { "mcp-method": "tools/list, tools/list" },
    'Mcp-Method: expected "tools/list" as in the body, got "tools/list, tools/list" (was it sent twice?)',
  ],
  [
    request("tools/list"),
    { "mcp-method": "=?base64?dG9vbHMvbGlzdA==?=" },
    'Mcp-Method: expected "tools/list" as in the body, got "=?base64?dG9vbHMvbGlzdA==?="',
  ],
  [call("greet"), { "mcp-method": "tools/call" }, 'Mcp-Name: expected "greet" as in the body, got no such header'],
  [
    call("greet"),
    { "mcp-method": "tools/call", "mcp-name": "=?base64?Z3JlZXR6?=" },
    'Mcp-Name: expected "greet" as in the body, got "greetz"',
  ],
  [
    call("greet"),
    { "mcp-method": "tools/call", "mcp-name": "greet, greet" },
    'Mcp-Name: expected "greet" as in the body, got "greet, greet" (was it sent twice?)',
  ],
  [
    read("file:///ä"),
    { "mcp-method": "resources/read", "mcp-name": "file:///ä" },
    'Mcp-Name: expected "file:///ä" as in the body, got "file:///ä", which is neither visible ASCII nor base64 of UTF-8',
  ],
  [
    call("=?base64?Z3JlZXQ=?="),
    { "mcp-method": "tools/call", "mcp-name": "=?base64?Z3JlZXQ=?=" },
    'Mcp-Name: expected "=?base64?Z3JlZXQ=?=" as in the body, got "greet"',
  ],
  [
    call("x".repeat(5000)),
    { "mcp-method": "tools/call", "mcp-name": "y" },
    `Mcp-Name: expected "${"x".repeat(100)}…" as in the body, got "y"`,
  ],
])("%j with %j is refused with a reason", (message, headers, reason) => {
  expect(check(message, headers)).toBe(reason);
});

test("a name that the body lacks is not checked here", () => {
  expect(check(call(undefined), { "mcp-method": "tools/call", "mcp-name": "greet" })).toBeUndefined();
  expect(check(request("tools/list"), { "mcp-method": "tools/list", "mcp-name": "greet" })).toBeUndefined();
});
