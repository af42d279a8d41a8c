import { expect, test } from "vitest";
import type { ServerDefinition } from "./api.ts";
import type { ServerEntry, ServerTarget } from "./options.ts";
import { secretsOf, toEntry } from "./server-entry.ts";

function secretsIn(target: ServerTarget, configured: ServerTarget = target): string[] {
  const entry: ServerEntry = { name: "s", target, configured, settings: {}, source: { kind: "code" } };
  return [...new Set(secretsOf(entry))];
}

test("secretsOf finds secrets everywhere in an entry", () => {
  expect(
    secretsIn({ command: "x", args: ["--api-key", "one-1", "--port", "80", "--token=two-2", "PGPASSWORD=3=3"] }),
  ).toEqual(["one-1", "two-2", "3=3"]);
  expect(secretsIn({ command: "x", env: { MY_TOKEN: "four", MODE: "debug" } })).toEqual(["four"]);
  expect(secretsIn({ url: "https://u:five@a.example/mcp?api_key=six&page=2" })).toEqual(["six", "five"]);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how a variable is written in a file
  const configured = { command: "x", args: ["--config", "${GITHUB_TOKEN}", "${HOME}"] };
  expect(secretsIn({ command: "x", args: ["--config", "seven", "/home/ada"] }, configured)).toEqual(["seven"]);
});

test("secretsOf ignores ordinary values", () => {
  expect(secretsIn({ command: "node", args: ["/home/ada/a/long/way/to/the/server.js", "--verbose"] })).toEqual([]);
  expect(secretsIn({ url: "https://a.example/mcp?q=token" })).toEqual([]);
});

test("toEntry separates the target from the settings", () => {
  expect(toEntry("s", { command: "x", args: ["y"], eager: true, only: ["read"] })).toEqual({
    name: "s",
    target: { command: "x", args: ["y"] },
    configured: { command: "x", args: ["y"] },
    settings: { eager: true, only: ["read"] },
    source: { kind: "code" },
  });
});

test("toEntry keeps an entry, and gives it the name", () => {
  const entry = toEntry("a", { url: "https://a.example/mcp" });
  expect(toEntry("a", entry)).toBe(entry);
  expect(toEntry("b", entry)).toEqual({ ...entry, name: "b" });
});

test.each<[object, string]>([
  [{}, "servers.s: expected { command, args }, { url } or { open }, got an object with nothing"],
  [{ url: "nowhere" }, 'servers.s: expected { command, args }, { url } or { open }, got the url "nowhere"'],
  [{ command: "x", trustHint: true }, "servers.s: unknown option `trustHint`; did you mean `trustHints`?"],
  [{ url: "https://a.example", header: {} }, "servers.s: unknown option `header`; did you mean `headers`?"],
])("toEntry rejects %j", (definition, message) => {
  expect(() => toEntry("s", definition as ServerDefinition)).toThrow(message);
});

test("toEntry accepts other members of an object with open", () => {
  const open = () => Promise.reject(new Error("unused"));
  expect(toEntry("s", { open, count: 1 } as ServerDefinition).target).toEqual({ open });
});
