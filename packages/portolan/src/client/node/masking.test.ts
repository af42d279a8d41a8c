import { expect, test } from "vitest";
import { createMasker, nameCommand, toVisible } from "./masking.ts";

test.each([
  [["--token", "abc123"], "--token ***"],
  [["--github-token", "-abc"], "--github-token ***"],
  [["--api-key=abc123", "--port=80"], "--api-key=*** --port=80"],
  [["-e", "OPENAI_API_KEY=abc123"], "-e OPENAI_API_KEY=***"],
  [["--header", "Authorization: Bearer abc123"], "--header Authorization: Bearer ***"],
  [["https://host/?password=abc123&x=1"], "https://host/?password=***"],
  [["postgres://ada:p@ss:w@host/db?auth=x"], "postgres://ada:***@host/db?auth=***"],
  [["PASSWORD=abc\ndef"], "PASSWORD=***"],
  [["--author", "Ada", "/srv/files"], "--author Ada /srv/files"],
  [["a", "b", "c", "d"], "a b c d"],
  [["a", "b", "c", "d", "e"], "a b c d …"],
  [["\u001b[31mred\u202e\n"], "red\\u{202e}\\u{a}"],
  [["x".repeat(100)], `${"x".repeat(79)}…`],
])("the arguments %j are shown as %s", (args, shown) => {
  expect(nameCommand({ command: "run", args })).toBe(`run ${shown}`);
});

test("what the child was given in confidence is taken out of what it writes", () => {
  const mask = createMasker({
    command: "run",
    args: ["--token", "from-args", "postgres://ada:hunter2@host/db"],
    env: { API_KEY: "k3y", API_KEY_OLD: "k3y-and-more", DEBUG: "1", ENDPOINT: "https://internal.example" },
  });
  expect(mask("k3y k3y-and-more from-args hunter2 1 https://internal.example/x")).toBe("*** *** *** *** 1 ***/x");
});

test("what moves the cursor or turns text round is shown, colours are left out", () => {
  expect(toVisible("\u001b[1;31mbad\u001b[0m\tline\u001b]0;title\u0007 \u202ecba\u200b")).toBe(
    "bad line\\u{1b}]0;title\\u{7} \\u{202e}cba\\u{200b}",
  );
});
