import { describe, expect, test } from "vitest";
import { parseSchemes, readRefusal } from "./challenge.ts";

describe("a WWW-Authenticate header", () => {
  test.each<[string, string, ReturnType<typeof readRefusal>]>([
    ["with nothing but a scheme", "Bearer", refusal({ schemes: ["bearer"] })],
    [
      "with quoted and plain values, in any capitals and any spacing",
      'bEaReR  Error = insufficient_scope ,SCOPE="a  b",resource_metadata="https://x.example/prm"',
      refusal({
        schemes: ["bearer"],
        error: "insufficient_scope",
        scopes: ["a", "b"],
        metadataUrl: "https://x.example/prm",
      }),
    ],
    [
      "with several schemes, each with parameters",
      'Basic realm="x", Bearer scope="read", DPoP algs="ES256 RS256", error="use_dpop_nonce"',
      refusal({ schemes: ["bearer", "dpop"], error: "use_dpop_nonce", scopes: ["read"] }),
    ],
    [
      "with a scheme that has a token and no parameters",
      'Negotiate YWJj==, Bearer error="invalid_token"',
      refusal({ schemes: ["bearer"], error: "invalid_token" }),
    ],
    [
      "with what looks like another scheme inside a quoted value",
      'Bearer error_description="no, Bearer scope=\\"admin\\" today", scope="read"',
      refusal({ schemes: ["bearer"], why: 'no, Bearer scope="admin" today', scopes: ["read"] }),
    ],
    ["with an empty scope, which says nothing", 'Bearer scope=""', refusal({ schemes: ["bearer"] })],
    [
      "with a parameter twice, of which the first counts",
      'Bearer resource_metadata="https://a.example", resource_metadata="https://evil.example"',
      refusal({ schemes: ["bearer"], metadataUrl: "https://a.example" }),
    ],
    ["of other schemes only", 'Basic realm="x", scope="admin"', refusal({})],
    ["that is broken off", 'Bearer scope="read', refusal({ schemes: ["bearer"] })],
    ["that is nonsense", '=,"" ;;', refusal({})],
    ["that is empty", "", refusal({})],
  ])("%s is read", (_, header, expected) => {
    expect(readRefusal(header)).toEqual(expected);
  });

  test("that is missing says nothing", () => {
    expect(readRefusal(undefined)).toEqual(refusal({}));
  });

  test("that is very long, or has very many schemes, is read as far as it makes sense", () => {
    expect(parseSchemes("Bearer, ".repeat(100_000)).length).toBeLessThan(20);
    expect(readRefusal(`Bearer x="${"\\a".repeat(100_000)}`).schemes).toEqual(["bearer"]);
    expect(readRefusal(`Bearer ${" ".repeat(100_000)}scope="late"`).scopes).toBeUndefined();
  });
});

function refusal(said: Partial<ReturnType<typeof readRefusal>>): ReturnType<typeof readRefusal> {
  return { schemes: [], error: undefined, why: undefined, scopes: undefined, metadataUrl: undefined, ...said };
}
