import { expect, test } from "vitest";
import { quote, quoteCommand, toVisibleJson } from "./escape.ts";

test("escapes control characters and keeps the meaning", () => {
  const value = { "\u009b31m\u007f": "\u202ea\u200b\u2028\u{e0041}\ufeff\ud800 ü 日本 😀\n\t\u001b" };
  const shown = toVisibleJson(JSON.stringify(value));
  expect(shown).toBe(String.raw`{"\u009b31m\u007f":"\u202ea\u200b\u2028\udb40\udc41\ufeff\ud800 ü 日本 😀\n\t\u001b"}`);
  expect(JSON.parse(shown)).toEqual(value);
});

test("leaves harmless text and newlines unchanged", () => {
  const text = '{\n\t"a": "ü 日本 😀"\n}';
  expect(toVisibleJson(text)).toBe(text);
});

test.each([
  ["files", "files"],
  ["@acme/files.v2", "@acme/files.v2"],
  ["My Server", "'My Server'"],
  ["x; rm -rf ~", "'x; rm -rf ~'"],
  ["$(id)`id`", "'$(id)`id`'"],
  ["it's", "'it'\\''s'"],
  ["", "''"],
])("quotes %j as %s", (name, expected) => {
  expect(quote(name)).toBe(expected);
});

test.each([
  ["env SUPABASE_ACCESS_TOKEN=sbp_x npx supabase-mcp", "env 'SUPABASE_ACCESS_TOKEN=***' npx supabase-mcp"],
  ["server --api-key=hunter2 --port=80", "server '--api-key=***' --port=80"],
  ["server --api-key hunter2 --verbose", "server --api-key '***' --verbose"],
  ["server --token --verbose", "server --token --verbose"],
  ["docker run -e DB_PASSWORD=a,b;c image", "docker run -e 'DB_PASSWORD=***' image"],
  ["server postgres://ada:hunter2@db/x", "server 'postgres://***@db/x'"],
  ["server --authors=Ada --path=/a/key.pem", "server --authors=Ada --path=/a/key.pem"],
  ["https://example.org/mcp?api_key=hunter2", "'https://example.org/mcp?api_key=***'"],
])("shows the command %j without its secrets", (command, shown) => {
  expect(quoteCommand(command.split(" "))).toBe(shown);
});
