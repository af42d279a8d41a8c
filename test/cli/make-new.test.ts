import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeHome, runPortolan } from "./kit.ts";
import { root } from "./make-kit.ts";

/** Adds what `npm install` would. */
function install(folder: string) {
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@types"), { recursive: true });
  symlinkSync(join(root, "packages/portolan"), join(modules, "portolan"));
  for (const name of ["zod", "typescript", "@types/node"])
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  mkdirSync(join(modules, ".bin"));
  symlinkSync(join(root, "node_modules/typescript/bin/tsc"), join(modules, ".bin/tsc"));
}

const first: { [template: string]: { args: string[]; gives: object } } = {
  tools: { args: ["call", "FILE", "count", "text=two words"], gives: { structuredContent: { words: 2 } } },
  resources: { args: ["read", "FILE", "note://shopping"], gives: { contents: [{ text: "milk, bread, apples" }] } },
  everything: { args: ["prompt", "FILE", "summarize", "title=shopping"], gives: { messages: [{ role: "user" }] } },
};

describe.each(["ts", "js"])("a new server in %s", (language) => {
  test.each(Object.keys(first))("with %s passes its tests and can be used at once", async (template) => {
    const home = makeHome();
    const made = await runPortolan(["new", "weather", "--template", template, `--${language}`], { cwd: home });
    expect(made).toMatchObject({ code: 0, stderr: "" });
    const { folder, server } = JSON.parse(made.stdout);
    expect(folder).toBe(join(home, "weather"));
    install(folder);

    const tested = spawnSync("npm", ["test", "--silent"], { cwd: folder, encoding: "utf8" });
    expect({ status: tested.status, output: tested.stdout + tested.stderr }).toMatchObject({
      status: 0,
      output: expect.stringMatching(/(# |ℹ )fail 0/),
    });

    const { args, gives } = first[template]!;
    const used = await runPortolan(
      args.map((word) => word.replace("FILE", server)),
      { cwd: folder },
    );
    expect(used).toMatchObject({ code: 0 });
    expect(JSON.parse(used.stdout)).toMatchObject(gives);

    const [, entry = ""] = /```json\n([\s\S]*?)```/.exec(readFileSync(join(folder, "README.md"), "utf8")) ?? [];
    const { command, args: words } = JSON.parse(entry).mcpServers.weather;
    const listed = await runPortolan(["ls", "--", command, ...words], { cwd: folder });
    expect(JSON.parse(listed.stdout)).toMatchObject({ server: { info: { name: "weather" } } });
  });
});

test("leaves a folder that is not empty unchanged", async () => {
  const home = makeHome();
  mkdirSync(join(home, "mine"));
  writeFileSync(join(home, "mine/precious.txt"), "x");
  const { code, stderr } = await runPortolan(["new", "mine"], { cwd: home });
  expect(code).toBe(2);
  expect(JSON.parse(stderr).error.message).toContain("nothing was written");
});

test.each([
  [["new", "../up"], "expected a name"],
  [["new", "A b"], "expected a name"],
  [["new", "x", "--template", "none"], "tools, resources, everything"],
  [["new", "x", "--ts", "--js"], "not both"],
  [["new"], "missing <name>; expected: portolan new <name>"],
])("refuses %j with a reason", async (args, says) => {
  const { code, stderr } = await runPortolan(args, { cwd: makeHome() });
  expect({ code, message: JSON.parse(stderr).error.message }).toEqual({
    code: 2,
    message: expect.stringContaining(says),
  });
});
