import { expect, test } from "vitest";
import type { ServerEntry, ServerTarget } from "./options.ts";
import { secretsOf } from "./servers.ts";

function secretsIn(way: ServerTarget, written: ServerTarget = way): string[] {
  const entry: ServerEntry = { name: "s", target: way, configured: written, settings: {}, source: { kind: "code" } };
  return [...new Set(secretsOf(entry))];
}

test("what is given to a server in confidence is known, wherever an entry has it", () => {
  expect(
    secretsIn({ command: "x", args: ["--api-key", "one-1", "--port", "80", "--token=two-2", "PGPASSWORD=3=3"] }),
  ).toEqual(["one-1", "two-2", "3=3"]);
  expect(secretsIn({ command: "x", env: { MY_TOKEN: "four", MODE: "debug" } })).toEqual(["four"]);
  expect(secretsIn({ url: "https://u:five@a.example/mcp?api_key=six&page=2" })).toEqual(["six", "five"]);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how a variable is written in a file
  const written = { command: "x", args: ["--config", "${GITHUB_TOKEN}", "${HOME}"] };
  expect(secretsIn({ command: "x", args: ["--config", "seven", "/home/ada"] }, written)).toEqual(["seven"]);
});

test("what is not is left alone", () => {
  expect(secretsIn({ command: "node", args: ["/home/ada/a/long/way/to/the/server.js", "--verbose"] })).toEqual([]);
  expect(secretsIn({ url: "https://a.example/mcp?q=token" })).toEqual([]);
});
