import { createMemoryStorage } from "portolan/storage";
import { expect, test } from "vitest";
import type { ServerEntry, ServerTarget } from "../options.ts";
import { trustDigest } from "./trust.ts";
import { TrustHistory } from "./trust-history.ts";

function entryOf(configured: ServerTarget, path = "mcpServers.a"): ServerEntry {
  return {
    name: "a",
    target: configured,
    configured,
    settings: {},
    source: { kind: "file", file: "/p/.mcp.json", path, product: "claude-code", scope: "project" },
  };
}

/** Trusts one configuration, and returns what changed in another. */
async function changesBetween(before: ServerTarget, after: ServerTarget, scope: "session" | "always" = "always") {
  const { kv } = createMemoryStorage();
  const history = new TrustHistory(kv);
  await history.remember(entryOf(before), await trustDigest(entryOf(before)), scope, []);
  const reopened = scope === "always" ? new TrustHistory(kv) : history;
  return (await reopened.find(entryOf(after), await trustDigest(entryOf(after))))?.changes;
}

test.each<[what: string, before: ServerTarget, after: ServerTarget, changes: object[]]>([
  [
    "an address",
    { url: "https://a.example/mcp" },
    { url: "https://b.example/mcp" },
    [{ label: "Address", before: "https://a.example/mcp", after: "https://b.example/mcp" }],
  ],
  [
    "a header",
    { url: "https://a.example", headers: { "x-a": "1", "x-b": "1" } },
    { url: "https://a.example", headers: { "x-a": "2", "x-c": "1" } },
    [
      { label: "Header", before: "x-a", after: "x-a (with another value)" },
      { label: "Header", after: "x-c" },
      { label: "Header", before: "x-b" },
    ],
  ],
  [
    "a new first argument",
    { command: "npx", args: ["server", "two words"] },
    { command: "npx", args: ["-y", "server", "two words"] },
    [{ label: "Arguments", before: 'server "two words"', after: '-y server "two words"' }],
  ],
  [
    "a command that became an address",
    { command: "npx" },
    { url: "https://a.example" },
    [
      { label: "Address", after: "https://a.example" },
      { label: "Command", before: "npx" },
    ],
  ],
  [
    "a setting that has no line",
    { url: "https://a.example" },
    { url: "https://a.example", legacySse: true },
    [{ label: "Other settings", after: "changed" }],
  ],
  ["nothing", { command: "npx" }, { command: "npx" }, []],
])("shows the change of %s", async (_, before, after, changes) => {
  expect(await changesBetween(before, after)).toEqual(changes);
  expect(await changesBetween(before, after, "session")).toEqual(changes);
});

test("a server that was never trusted in this place is new", async () => {
  const history = new TrustHistory(createMemoryStorage().kv);
  const entry = entryOf({ command: "npx" });
  expect(await history.find(entry, "digest")).toBeUndefined();
  await history.remember(entry, "digest", "always", []);
  expect(await history.find(entryOf({ command: "npx" }, "mcpServers.b"), "digest")).toBeUndefined();
  expect(await history.find({ ...entry, source: { kind: "code" } }, "digest")).toBeUndefined();
});

test("a damaged record counts as none", async () => {
  const { kv } = createMemoryStorage();
  const entry = entryOf({ command: "npx" });
  await new TrustHistory(kv).remember(entry, "digest", "always", []);
  for (const { key } of await kv.list("host/trusted/")) await kv.set(key, '{"digest":1}');
  expect(await new TrustHistory(kv).find(entry, "digest")).toBeUndefined();
});

test("secrets are not stored", async () => {
  const { kv } = createMemoryStorage();
  const entry = entryOf({ command: "npx", args: ["--api-key", "first", "second"], env: { NODE_OPTIONS: "third" } });
  await new TrustHistory(kv).remember(entry, "digest", "always", ["second", "third"]);
  expect(JSON.stringify(await kv.list("host/trusted/"))).not.toMatch(/first|second|third/);
});
