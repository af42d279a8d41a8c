import type { ConfiguredOAuth, ServerEntry } from "portolan-host";
import { expect, test } from "vitest";
import { redirectFor, redirectUriFor } from "./sign-in.ts";

const target = { url: "https://example.com/mcp" };
const entryOf = (product: string, oauth?: ConfiguredOAuth) =>
  ({
    ...{ name: "notes", target, configured: target, settings: {} },
    source: { kind: "file", file: "f", path: "p", product, scope: "user" },
    ...(oauth && { oauth }),
  }) as ServerEntry;
const clientId = "editor";

test.each<[string, ConfiguredOAuth | undefined, string | undefined]>([
  ["claude-code", { clientId, callbackPort: 8080 }, "http://localhost:8080/callback"],
  ["claude-code", { callbackPort: 8080 }, "http://localhost:8080/callback"],
  ["cursor", { clientId }, "http://localhost:0/callback"],
  ["vscode", { clientId }, "http://127.0.0.1:33418/"],
  ["gemini", { clientId }, "http://localhost:7777/oauth/callback"],
  ["gemini", { clientId, redirectUri: "http://127.0.0.1:9000/back" }, "http://127.0.0.1:9000/back"],
  ["kiro", { redirectUri: "http://localhost:7778" }, "http://localhost:7778/"],
  ["opencode", { clientId }, "http://127.0.0.1:19876/mcp/oauth/callback"],
  // A redirect always goes to this machine.
  ["gemini", { redirectUri: "https://evil.example/back" }, undefined],
  ["gemini", { redirectUri: "http://localhost:7777@evil.example/back" }, undefined],
  ["vscode", undefined, undefined],
])("a client of %s with %j is redirected to %s", (product, oauth, expected) => {
  const { host, port = 0, path } = redirectFor(entryOf(product, oauth));
  expect(host && `http://${host}:${port}${path}`).toBe(expected);
  const { redirectUri } = redirectUriFor(entryOf(product, oauth));
  expect(port === 0 ? redirectUri?.replace(/:\d+\//, ":0/") : redirectUri).toBe(expected);
});
