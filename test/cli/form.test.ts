import { join } from "node:path";
import { expect, test } from "vitest";
import { makeHome, root } from "./kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const offering = join(root, "test/cli/fixtures/offering.mjs");
const open = () => openTerminal(["call", "fields", "--", process.execPath, offering], { cwd: makeHome() });
type Terminal = ReturnType<typeof open>;

/** Enters an invalid value, sees the problem, then enters a valid one. */
async function enter(terminal: Terminal, field: string, wrong: readonly [text: string, why: string][], right: string) {
  await terminal.see(new RegExp(`${field}[\\s\\S]*\\n {2}>$`));
  for (const [text, why] of wrong) {
    terminal.mark();
    terminal.type(`${text}\r`);
    await terminal.see(new RegExp(`${why}[\\s\\S]*\\n {2}>$`));
  }
  terminal.mark();
  terminal.type(`${right}\r`);
}

/** Returns what the server received. */
function answerIn(terminal: Terminal): unknown {
  const [answer = ""] = /\{"action.*/.exec(terminal.screen().replaceAll("\n", "")) ?? [];
  return JSON.parse(answer);
}

test("each kind of field describes its values and problems, and Enter accepts the default", async () => {
  const terminal = open();
  const required: [string, string] = ["", "a value is required"];
  await enter(
    terminal,
    "Full name \\(required, 2 to 10 characters\\)",
    [
      required,
      ["A", "2 to 10 characters, please \\(you typed A\\)\\."],
      ["A".repeat(11), "2 to 10 characters, please"],
    ],
    "Ada",
  );
  await enter(terminal, "mail \\(optional, email\\)", [["ada", "expected an email address"]], "ada@example.com");
  await enter(
    terminal,
    "site \\(optional, uri\\)",
    [["example.com", "expected an absolute URI"]],
    "https://example.com",
  );
  await enter(terminal, "born \\(optional, date\\)", [["1815-02-30", "expected a date"]], "1815-12-10");
  await enter(terminal, "meets \\(optional, date-time\\)", [["noon", "expected a time"]], "2026-01-01T12:00:00Z");
  await enter(
    terminal,
    "height \\(required, 0\\.5 to 2\\.5, Enter for 1\\.7\\)",
    [
      ["tall", "A number, please \\(you typed tall\\)\\."],
      ["3", "0\\.5 to 2\\.5, please \\(you typed 3\\)\\."],
    ],
    "",
  );
  await enter(
    terminal,
    "children \\(optional, at least 0\\)",
    [
      ["1.5", "A whole number, please"],
      ["-1", "At least 0, please \\(you typed -1\\)\\."],
    ],
    "",
  );
  await enter(terminal, "agrees \\(required, y or n\\)", [required, ["perhaps", "Please answer y or n\\."]], "yes");
  await enter(terminal, "news \\(optional, y or n, Enter for y\\)", [], "n");
  await enter(
    terminal,
    "colour \\(required, number or name\\)\\n {4}1 Red\\n {4}2 Green",
    [required, ["3", "Type 1 to 2, or a name\\."]],
    "2",
  );
  await enter(
    terminal,
    "size \\(optional, number or name, Enter for Large\\)",
    [["Huge", "Type 1 to \\d, or a name\\."]],
    // In any case, and only as much as tells it from the others.
    "SMA",
  );
  await enter(terminal, "days \\(required, numbers or names", [required, ["1,2,3", "2"], ["5", "expected"]], "wed, 1");
  await terminal.answer(/to be sent to offering[\s\S]*days: \["wed","mon"\][\s\S]*c cancel/, "y\r");
  expect(await terminal.exited).toBe(0);
  expect(answerIn(terminal)).toEqual({
    action: "accept",
    content: {
      ...{ name: "Ada", mail: "ada@example.com", site: "https://example.com", born: "1815-12-10" },
      ...{ meets: "2026-01-01T12:00:00Z", height: 1.7, agrees: true, news: false, colour: "g", size: "s" },
      days: ["wed", "mon"],
    },
  });
});

const rest = ["\r", "\r", "\r", "\r", "\r", "\r", "n\r", "\r", "Red\r", "\r", "tue\r"];

test("Shift-Tab goes back to the previous field with its value", async () => {
  const terminal = open();
  await terminal.answer(/Full name[\s\S]*>$/, "\u001b[Z");
  terminal.type("Ada\r");
  await terminal.answer(/mail[\s\S]*>$/, "\u001b[Z");
  await terminal.answer(/Full name[\s\S]*> Ada$/, " L\r");
  await terminal.see(/mail[\s\S]*>$/);
  terminal.type(rest.join(""));
  await terminal.answer(/name: "Ada L"[\s\S]*agrees: false[\s\S]*c cancel/, "y\r");
  expect(await terminal.exited).toBe(0);
  expect(answerIn(terminal)).toMatchObject({ content: { name: "Ada L", colour: "r", size: "l", days: ["tue"] } });
});

test("e asks all fields again with their values", async () => {
  const terminal = open();
  await terminal.see(/Full name[\s\S]*>$/);
  terminal.type(`Ada\r${rest.join("")}`);
  await terminal.answer("e edit", "e\r");
  await terminal.answer(/> Ada$/, "\u0015Grace\r");
  terminal.type("\r\r\r\r");
  await terminal.answer(/> 1\.7$/, "\r\r");
  await terminal.answer(/> n$/, "\r");
  await terminal.answer(/> y$/, "\r");
  await terminal.answer(/> Red$/, "\r");
  await terminal.answer(/> Large$/, "\r");
  await terminal.answer(/> tue$/, ",1\r");
  await terminal.answer(/name: "Grace"[\s\S]*days: \["tue","mon"\][\s\S]*c cancel/, "y\r");
  expect(await terminal.exited).toBe(0);
});

test.each([
  ["n\r", "decline"],
  ["c\r", "cancel"],
  ["\u0004", "decline"],
  ["\u0003", "cancel"],
])("%j at the end: %s", async (key, action) => {
  const terminal = open();
  await terminal.see(/Full name[\s\S]*>$/);
  terminal.type(`Ada\r${rest.join("")}`);
  await terminal.answer("c cancel", key);
  expect(await terminal.exited).toBe(0);
  expect(answerIn(terminal)).toEqual({ action });
});
