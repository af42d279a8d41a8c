import { expect, test } from "vitest";
import { parseSchemes, readRefusal } from "./challenge.ts";

const schemesOf = (header: string) =>
  parseSchemes(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]);

test.each<[string, unknown[]]>([
  ["", []],
  ["Bearer", [["bearer", {}]]],
  ['bearer realm="x"', [["bearer", { realm: "x" }]]],
  ['Bearer error="invalid_token", scope="a b"', [["bearer", { error: "invalid_token", scope: "a b" }]]],
  ["Bearer error=invalid_token,scope=a", [["bearer", { error: "invalid_token", scope: "a" }]]],
  ['Bearer SCOPE = "a" ,\tRealm = b', [["bearer", { scope: "a", realm: "b" }]]],
  ['Bearer realm="say \\"hi\\", you"', [["bearer", { realm: 'say "hi", you' }]]],
  [
    'Basic realm="x", Bearer scope="a", DPoP algs="ES256"',
    [
      ["basic", { realm: "x" }],
      ["bearer", { scope: "a" }],
      ["dpop", { algs: "ES256" }],
    ],
  ],
  [
    "Negotiate, Bearer scope=a",
    [
      ["negotiate", {}],
      ["bearer", { scope: "a" }],
    ],
  ],
  [',, Bearer scope="a"', [["bearer", { scope: "a" }]]],
  ['Bearer scope="a", scope="admin"', [["bearer", { scope: "a" }]]],
  ['Bearer scope="unfinished', [["bearer", { scope: "" }]]],
  ['"quoted" Bearer', []],
])("%s", (header, expected) => {
  expect(schemesOf(header)).toEqual(expected);
});

test("a long header is read as far as it is reasonable, and in no time", () => {
  expect(parseSchemes("a ".repeat(1_000_000)).length).toBeLessThan(20);
  expect(parseSchemes(`Bearer ${'x="'.repeat(100_000)}`).length).toBeLessThan(20);
  expect(parseSchemes(`Bearer ${"\\".repeat(100_000)}`).length).toBeLessThan(20);
});

test("what the schemes of OAuth say is taken together", () => {
  const header =
    'Basic scope="none", Bearer resource_metadata="https://a/b", DPoP error="invalid_token", scope=" a  b "';
  expect(readRefusal(header)).toEqual({
    schemes: ["bearer", "dpop"],
    error: "invalid_token",
    scopes: ["a", "b"],
    metadataUrl: "https://a/b",
  });
  expect(readRefusal("Negotiate dG9rZW4=, Bearer scope=a")).toMatchObject({ schemes: ["bearer"], scopes: ["a"] });
  expect(readRefusal(undefined)).toEqual({ schemes: [], error: undefined, scopes: undefined, metadataUrl: undefined });
});
