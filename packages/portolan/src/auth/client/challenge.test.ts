import { describe, expect, test } from "vitest";
import { checkStepUp, parseSchemes, readChallenge, scopesFor } from "./challenge.ts";
import type { Credential } from "./credential.ts";

describe("readChallenge", () => {
  test.each<[string, string, ReturnType<typeof readChallenge>]>([
    ["a header with a scheme alone", "Bearer", challenge({ schemes: ["bearer"] })],
    [
      "quoted and unquoted values, in any case and spacing",
      'bEaReR  Error = insufficient_scope ,SCOPE="a  b",resource_metadata="https://x.example/prm"',
      challenge({
        schemes: ["bearer"],
        error: "insufficient_scope",
        scopes: ["a", "b"],
        metadataUrl: "https://x.example/prm",
      }),
    ],
    [
      "several schemes with parameters",
      'Basic realm="x", Bearer scope="read", DPoP algs="ES256 RS256", error="use_dpop_nonce"',
      challenge({ schemes: ["bearer", "dpop"], error: "use_dpop_nonce", scopes: ["read"] }),
    ],
    [
      "a scheme with a token instead of parameters",
      'Negotiate YWJj==, Bearer error="invalid_token"',
      challenge({ schemes: ["bearer"], error: "invalid_token" }),
    ],
    [
      "a quoted value that looks like another scheme",
      'Bearer error_description="no, Bearer scope=\\"admin\\" today", scope="read"',
      challenge({ schemes: ["bearer"], description: 'no, Bearer scope="admin" today', scopes: ["read"] }),
    ],
    ["an empty scope as none", 'Bearer scope=""', challenge({ schemes: ["bearer"] })],
    [
      "the first of two equal parameters",
      'Bearer resource_metadata="https://a.example", resource_metadata="https://evil.example"',
      challenge({ schemes: ["bearer"], metadataUrl: "https://a.example" }),
    ],
    ["other schemes as no challenge", 'Basic realm="x", scope="admin"', challenge({})],
    ["a truncated header up to its last complete parameter", 'Bearer scope="read', challenge({ schemes: ["bearer"] })],
    ["a malformed header as no challenge", '=,"" ;;', challenge({})],
    ["an empty header as no challenge", "", challenge({})],
  ])("reads %s", (_, header, expected) => {
    expect(readChallenge(header)).toEqual(expected);
  });

  test("reads a missing header as no challenge", () => {
    expect(readChallenge(undefined)).toEqual(challenge({}));
  });

  test("limits the characters and schemes that it reads", () => {
    expect(parseSchemes("Bearer, ".repeat(100_000)).length).toBeLessThan(20);
    expect(readChallenge(`Bearer x="${"\\a".repeat(100_000)}`).schemes).toEqual(["bearer"]);
    expect(readChallenge(`Bearer ${" ".repeat(100_000)}scope="late"`).scopes).toBeUndefined();
  });
});

function challenge(given: Partial<ReturnType<typeof readChallenge>>): ReturnType<typeof readChallenge> {
  return { schemes: [], error: undefined, description: undefined, scopes: undefined, metadataUrl: undefined, ...given };
}

describe("scopesFor", () => {
  const authority = (scopes?: string[]) => ({
    issuer: "https://as.example",
    isGuessed: false,
    metadata: { issuer: "https://as.example", ...(scopes && { scopes_supported: scopes }) },
  });
  const resource = { resource: "https://mcp.example", issuers: [], scopes: ["all"], needsDpop: false };
  const sources = { challenge: challenge({}), resource, previous: undefined, authority: authority() };

  test("prefers the scopes of the challenge to those of the metadata", () => {
    expect(scopesFor({ ...sources, challenge: challenge({ scopes: ["read"] }) }, {})).toEqual(["read"]);
    expect(scopesFor(sources, {})).toEqual(["all"]);
  });

  test("keeps the scopes of the previous token and adds those of the options, each once", () => {
    const previous = { scopes: ["read", "all"] } as unknown as Credential;
    expect(scopesFor({ ...sources, previous }, { scopes: ["mine"] })).toEqual(["read", "all", "mine"]);
  });

  test("adds offline_access only where the authorization server has it and other scopes are requested", () => {
    const offered = { ...sources, authority: authority(["offline_access"]) };
    expect(scopesFor(offered, {})).toEqual(["all", "offline_access"]);
    expect(scopesFor(offered, { offline: false })).toEqual(["all"]);
    expect(scopesFor({ ...offered, resource: undefined }, {})).toEqual([]);
    expect(scopesFor(sources, {})).toEqual(["all"]);
  });
});

describe("checkStepUp", () => {
  const server = new URL("https://mcp.example");
  const previous = { scopes: ["read"] } as unknown as Credential;

  test("accepts a challenge with a new scope", () => {
    expect(() => checkStepUp(server, challenge({ scopes: ["read", "write"] }), previous)).not.toThrow();
    expect(() => checkStepUp(server, challenge({ scopes: ["read"] }), undefined)).not.toThrow();
  });

  test("refuses a challenge that only repeats requested scopes", () => {
    expect(() => checkStepUp(server, challenge({ scopes: ["read"] }), previous)).toThrow("requested and not granted");
  });
});
