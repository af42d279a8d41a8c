import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scriptOf, serveHttp } from "../servers/kit/programs.ts";
import { makeHome, type Ran, root, runPortolan } from "./kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const node = process.execPath;
const cwd = makeHome();
mkdirSync(join(cwd, "empty"));
const skilled = ["--", node, join(root, "test/cli/fixtures/skills.mjs")];
const good = ["--env", "SKILLS=good"];

const jsonOf = ({ code, stdout, stderr }: Ran) => {
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
};
const errorOf = ({ code, stderr }: Ran) => ({ code, ...JSON.parse(stderr.trim().split("\n").at(-1) ?? "{}").error });

describe("skills ls", () => {
  test("prints the entries of a server", async () => {
    const { skills } = jsonOf(await runPortolan(["skills", "ls", ...good, ...skilled], { cwd }));
    expect(skills).toMatchObject([
      { label: "refunds", uri: "skill://refunds/SKILL.md", frontmatter: { description: "How to do refunds" } },
      { label: "daily", resources: "dynamic" },
    ]);
  });

  test("shows them on a terminal, with the command that shows one", async () => {
    const terminal = openTerminal(["skills", "ls", ...good, ...skilled], { cwd, columns: 200 });
    await terminal.exited;
    expect(terminal.screen()).toMatch(/refunds\s+How to do refunds \(3 files\)/);
    expect(terminal.screen()).toMatch(/portolan skills show refunds --env SKILLS -- /);
  });

  test("says that a server lists none, also one without skills", async () => {
    const empty = await runPortolan(["skills", "ls", "--cwd", "empty", ...skilled], { cwd });
    expect(jsonOf(empty)).toEqual({ skills: [] });
    const time = await runPortolan(["skills", "ls", "--", node, scriptOf("time")], { cwd });
    expect(jsonOf(time)).toEqual({ skills: [] });
  });
});

describe("skills show", () => {
  test("prints a skill by its name or URI, and its text alone", async () => {
    const shown = jsonOf(await runPortolan(["skills", "show", "refunds", ...good, ...skilled], { cwd }));
    expect(shown).toMatchObject({ uri: "skill://refunds/SKILL.md", isVerified: true });
    expect(shown.text).toContain("Do refunds.");
    const byUri = ["skills", "show", "skill://daily/SKILL.md", ...good, ...skilled];
    expect(jsonOf(await runPortolan(byUri, { cwd }))).toMatchObject({ resources: "dynamic", isVerified: false });
    const text = await runPortolan(["skills", "show", "refunds", "--text", ...good, ...skilled], { cwd });
    expect(text.stdout).toBe("---\nname: refunds\ndescription: How to do refunds\n---\nDo refunds.\n");
  });

  test("prints a file: its text, or its bytes in base64", async () => {
    const email = await runPortolan(["skills", "show", "refunds", "email.md", "--text", ...good, ...skilled], { cwd });
    expect(email).toMatchObject({ code: 0, stdout: "Dear customer\n" });
    const logo = ["skills", "show", "refunds", "logo.png"];
    const { blob } = jsonOf(await runPortolan([...logo, ...good, ...skilled], { cwd }));
    expect(Buffer.from(blob, "base64")).toEqual(Buffer.from([0x89, 0x50, 0xff]));
    const text = await runPortolan([...logo, "--text", ...good, ...skilled], { cwd });
    expect(text).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("logo.png is not text") });
  });

  test("shows on a terminal whose skill it is, and each of its files", async () => {
    const terminal = openTerminal(["skills", "show", "refunds", ...good, ...skilled], { cwd, columns: 100 });
    await terminal.exited;
    expect(terminal.screen()).toMatch(/refunds of skills, verified/);
    expect(terminal.screen()).toMatch(/skill:\/\/refunds\/logo\.png 3 bytes/);
    expect(terminal.screen()).toContain("Do refunds.");
  });

  test("refuses content that is not what the entry says", async () => {
    const forged = errorOf(await runPortolan(["skills", "show", "forged", ...skilled], { cwd }));
    expect(forged).toMatchObject({ code: 8, kind: "protocol", message: expect.stringContaining("expected sha256:") });
    expect(forged.message).not.toContain("No forged");
  });

  test.each([
    ["nothing", [], 2, /no skill given; available: .*refunds/],
    ["an unknown skill", ["refund"], 2, /no skill "refund"; did you mean refunds/],
    ["an unknown file", ["refunds", "emai.md"], 2, /no file "emai\.md"; did you mean email\.md/],
    ["a URI without a skill", ["skill://none/SKILL.md"], 2, /no skill is served/],
  ])("refuses %s", async (_, words, code, message) => {
    const ran = errorOf(await runPortolan(["skills", "show", ...words, ...good, ...skilled], { cwd }));
    expect(ran).toMatchObject({ code, message: expect.stringMatching(message) });
  });
});

describe("skills verify", () => {
  test("verifies every file of every skill", async () => {
    const { skills } = jsonOf(await runPortolan(["skills", "verify", ...good, ...skilled], { cwd }));
    expect(skills).toEqual([
      expect.objectContaining({ name: "refunds", files: 3, bytes: 81, problems: [] }),
      { uri: "skill://daily/SKILL.md", name: "daily", files: 0, bytes: 0, isDynamic: true, problems: [] },
    ]);
  });

  test("names each file that differs, verifies the others, and fails", async () => {
    const ran = await runPortolan(["skills", "verify", ...skilled], { cwd });
    expect(errorOf(ran)).toMatchObject({ code: 8, message: "2 of 4 skills are not what their entries say" });
    const found = JSON.parse(ran.stdout).skills.map(({ name, problems }: { name: string; problems: string[] }) => [
      name,
      problems.length,
    ]);
    expect(found).toEqual([
      ["refunds", 0],
      ["forged", 1],
      ["stale", 1],
      ["daily", 0],
    ]);
    const one = await runPortolan(["skills", "verify", "stale", ...skilled], { cwd });
    expect(JSON.parse(one.stdout).skills[0].problems[0]).toMatch(/email\.md.*expected 13 bytes, got 19/);
  });

  test("refuses an unknown action, and names the known ones", async () => {
    const ran = errorOf(await runPortolan(["skills", "load", "refunds", ...skilled], { cwd }));
    expect(ran).toMatchObject({ code: 2, message: expect.stringContaining("expected ls, show or verify") });
  });
});

test("skills works over HTTP, on both eras, with the flags of a target", async () => {
  const url = await serveHttp(scriptOf("everything"));
  for (const era of ["stateless", "stateful"]) {
    const flags = ["--era", era, "--header", "X-Team=docs", "--client-id", "me", "--timeout", "20"];
    const { skills } = jsonOf(await runPortolan(["skills", "verify", url, ...flags], { cwd }));
    expect(skills).toMatchObject([{ name: "tour", files: 2, problems: [] }]);
  }
});

test("a model's wish for a skill is asked about, with its files, and answered", async () => {
  writeFileSync(
    join(cwd, "model.mjs"),
    `let turn = 0;
export default {
  id: "wishing",
  capabilities: { tools: true },
  async *stream() {
    turn += 1;
    const input = { server: "skills", skill: "refunds" };
    if (turn === 1) yield { type: "tool", id: "a", name: "load_skill", input };
    else yield { type: "text", delta: "Loaded" };
    yield { type: "end", stopReason: turn === 1 ? "toolUse" : "endTurn", model: "wishing" };
  },
};
`,
  );
  const args = ["run", "help", "--model", "./model.mjs", ...good, ...skilled];
  const terminal = openTerminal(args, { cwd, columns: 100 });
  const question = await terminal.see(/The model wants to load a skill of skills: refunds[\s\S]*never/);
  expect(question).toContain("How to do refunds");
  expect(question).toMatch(/its 3 files[\s\S]*email\.md 13 bytes/);
  await terminal.answer("Your choice", "y\r");
  await terminal.exited;
  expect(terminal.screen()).toContain("Loaded");
});
