import { expect, test } from "vitest";
import { commandGroups, commands } from "../../packages/cli/src/command-table.ts";
import { makeHome, runPortolan } from "./kit.ts";
import { linesIn, linesOfTests } from "./runs.ts";

/** Returns the long and short name of a flag in help. */
const namesIn = (flag: string): string[] => flag.split(/[ ,]+/).filter((word) => word.startsWith("-"));

test("every command and every flag is tested through the real program", () => {
  const lines = linesOfTests();
  const unused = commands.flatMap(({ name, flags = {} }) => {
    const uses = lines.filter(([first]) => first === name);
    if (uses.length === 0) return [name];
    const names = Object.keys(flags).flatMap(namesIn);
    return names.filter((flag) => !uses.some((line) => line.includes(flag))).map((flag) => `${name} ${flag}`);
  });
  expect(unused).toEqual([]);
});

test("counts only calls of the program that contain the flag", () => {
  const source = `
    const server = ["--", "node", "--raw"];
    const patient = ["--timeout", "10"];
    const behind = (name: string) => ["--", name];
    async function call(tool: string, more: string[] = []) {
      return openTerminal(["call", tool, ...more, ...server], {});
    }
    const read = (...flags: string[]) => runPortolan(["log", ...flags], {});
    test("a", async () => {
      const args = ["ls", "--schema"];
      await showOf<object>(args, { cwd: "--json" });
      await call("order", ["--root", "."]);
      await read("--text", "x");
      spawn(process.execPath, [portolan, "record", "--out", file, ...server]);
      await runPortolan(["check", ...patient, ...behind("--only")]);
    });
    test("b", () => {
      const args = ["new", "--js"];
      expect(args).toEqual(["new", "--ts"]);
    });
    test.each([["dev", "--http"]])("c", (...args) => runPortolan(args, {}));
  `;
  expect(linesIn(source).filter(([first]) => first !== undefined)).toEqual([
    ["call", undefined, undefined],
    ["log", undefined],
    ["ls", "--schema"],
    ["call", "order", "--root", "."],
    ["log", "--text", "x"],
    ["record", "--out", undefined],
    ["check", "--timeout", "10"],
  ]);
});

test.each(commands)("$name --help and -h show its usage", async ({ name, usage, flags = {}, examples = [] }) => {
  const cwd = makeHome();
  const { code, stdout, stderr } = await runPortolan([name, "--help"], { cwd });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const words = stdout.replace(/\s+/g, " ");
  expect(words).toContain(`Usage: portolan ${name} [options]${usage === undefined ? "" : ` ${usage}`}`);
  for (const [flag, says] of Object.entries({ ...flags, "--json": "as in a pipe", "--no-color": "without colours" })) {
    expect(words).toContain(flag.replace("...>", ">"));
    expect(words).toContain(says);
  }
  for (const example of examples) expect(stdout).toContain(`  $ ${example}\n`);
  expect((await runPortolan([name, "-h"], { cwd })).stdout).toBe(stdout);
});

test("the program shows its version and help by both flag names", async () => {
  const cwd = makeHome();
  const { stdout: version } = await runPortolan(["--version"], { cwd });
  expect(version).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect((await runPortolan(["-V"], { cwd })).stdout).toBe(version);
  const { stdout: help } = await runPortolan(["--help"], { cwd });
  expect((await runPortolan(["-h"], { cwd })).stdout).toBe(help);
  for (const { name, isHidden = false } of commands) {
    expect(new RegExp(`^  ${name} `, "m").test(help), name).toBe(!isHidden);
  }
  // Every command stands below a heading of its own kind.
  const shown = commands.filter(({ isHidden = false }) => !isHidden).map(({ name }) => name);
  expect(Object.values(commandGroups).flat().toSorted()).toEqual(shown.toSorted());
  for (const [heading, [first = ""]] of Object.entries(commandGroups))
    expect(help).toContain(`\n${heading}:\n  ${first} `);
});
