import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { environment, makeHome, type Ran, root } from "./kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

let walk: Ran & { readonly left: readonly string[] };

beforeAll(async () => {
  // Without the build step: other tests use the built library.
  const child = spawn("npm", ["start", "--silent", "--ignore-scripts"], {
    cwd: root,
    env: { ...process.env, FORCE_COLOR: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  const [, folder = ""] = /in (\/\S*portolan-start-\w+)/.exec(stdout) ?? [];
  walk = { code, stdout, stderr, left: await readdir(folder).catch(() => []) };
});

test("npm start without a terminal lists, calls, asks, answers, verifies and cleans up", () => {
  const { code, stdout, stderr, left } = walk;
  expect({ code, stderr, left }).toEqual({ code: 0, stderr: "", left: [] });
  for (const name of ["files", "git", "memory", "time", "travel"]) {
    expect(stdout).toMatch(new RegExp(`^ {4}${name} +\\d{4}-\\d\\d-\\d\\d, \\d+ tools`, "m"));
  }
  expect(stdout).toMatch(/asked you +may travel do forecast[\s\S]*yes, once[\s\S]*the model[\s\S]*Lisbon/);
  expect(stdout).toMatch(/files__list answered:[\s\S]*welcome\.md/);
  expect(stdout).toMatch(/may travel ask the model\?[\s\S]*approve[\s\S]*edit it: PT\d+[\s\S]*The model chose it/);
  expect(stdout).toMatch(/Please confirm your[\s\S]*PT\d+[\s\S]*seatPreference: window[\s\S]*Booked as/);
  expect(stdout).toMatch(/you type +\/plan-vacation[\s\S]*you attach[\s\S]*you fill in[\s\S]*Added to the calendar/);
  expect(stdout).toMatch(/may files do remove[\s\S]*you +no\n[\s\S]*still there true/);
  expect(stdout).toMatch(/verified +\d+ entries, and not one was changed/);
});

test("npm start prints at most 100 columns without colours to a pipe", () => {
  expect(Math.max(...walk.stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
  expect(walk.stdout).not.toContain("\u001b");
});

test("npm start in a terminal lists, trusts, samples and fills in a form", async () => {
  const cwd = await makeHome();
  const program = [process.execPath, join(root, "scripts/start.mjs")];
  const terminal = openTerminal([], { cwd, program, env: environment(cwd), rows: 50 });
  const shown = await terminal.see(
    /demo \(demo, not a language model\) with files, git, memory, time, travel[\s\S]*\n>$/,
  );
  const typed = (label: string) => new RegExp(`^ +${label} +(.*)$`, "m").exec(shown)?.[1] ?? "";
  await terminal.answer(/\n>$/, "/tools flight\r");
  await terminal.answer(/travel\.choose-flight\([\s\S]*\n>$/, `${typed("a call")}\r`);
  await terminal.answer(/wants to call travel\.forecast[\s\S]*v view its definition/, "y");
  await terminal.answer(/Lisbon, \d{4}-[\s\S]*°C[\s\S]*\n>$/, `${typed("sampling")}\r`);
  await terminal.answer(/wants to call travel\.choose-flight[\s\S]*v view its definition/, "y");
  await terminal.answer(/travel wants to ask your model \(sampling\)[\s\S]*N never/, "y");
  await terminal.answer(/will get this answer from demo[\s\S]*n withhold it/, "y");
  await terminal.answer(/choose-flight answered:[\s\S]*\n>$/, `${typed("a form")}\r`);
  await terminal.answer(/wants to call travel\.bookFlight[\s\S]*v view its definition/, "y");
  await terminal.answer(/travel asks you to fill in a form[\s\S]*Confirm the booking[\s\S]*>$/, "y\r");
  await terminal.answer(/1 window[\s\S]*>$/, "2\r");
  await terminal.answer(/travel insurance[\s\S]*>$/, "\r");
  await terminal.answer(/seatPreference: "aisle"[\s\S]*c cancel/, "y");
  await terminal.answer(/Booked as BK-\d+[\s\S]*\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).not.toContain("RAW");
});
