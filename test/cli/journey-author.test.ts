import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { installPackage, installPeers, stepsOn, typeLine } from "./journey-kit.ts";

test("an author creates, tests, calls, changes and connects a server by following the screens", async () => {
  const home = installPackage();
  const folder = join(home, "weather");
  const type = (line: string, cwd = folder) => typeLine(line, cwd, home);
  const done = async (line: string, cwd?: string) => {
    const terminal = type(line, cwd);
    expect({ line, code: await terminal.exited }).toEqual({ line, code: 0 });
    return terminal.screen();
  };

  const help = await done("portolan --help", home);
  expect(help).toMatch(/^ {2}new +Create a folder with a new server and its test\.$/m);
  expect(await done("portolan new --help", home)).toContain("$ portolan new weather");

  const [enter, install, check, attempt, work, ...more] = stepsOn(await done("portolan new weather", home));
  expect([enter, install, more]).toEqual(["cd weather", "npm install", []]);
  installPeers(folder);
  expect(await done(check!)).toMatch(/fail 0/);
  expect(attempt).toBe('npx portolan call ./src/server.ts count "text=two words"');
  expect(await done(attempt!)).toContain('{"characters":9,"words":2,"lines":1}');

  const dev = type(work!);
  const shown = await dev.see("press Ctrl-C to stop");
  expect(shown).toMatch(/weather 0\.1\.0 +1 tool +about \d+ tokens/);
  const [, url = "", attemptThere = ""] = /http +(\S+)\n.*\n +try +(npx portolan .+)\n/.exec(shown) ?? [];
  expect(await done(attemptThere)).toContain("count(text: string)");
  const file = join(folder, "src/server.ts");
  const before = readFileSync(file, "utf8");
  dev.mark();
  writeFileSync(file, before.replace("text: z.string()", "loud: z.boolean().optional(), text: z.string()"));
  await dev.see(/server\.ts changed → count: input \+loud/);
  expect(await done(`portolan ls ${url}`)).toContain("count(loud?: boolean, text: string)");
  dev.mark();
  writeFileSync(file, "export default 1 +;");
  await dev.see(/✗ [\s\S]*server\.ts[\s\S]*still serving the version before/);
  writeFileSync(file, before);
  await dev.see(/changed → count: input -loud/);
  dev.type("\u0003");
  await dev.exited;

  // Missing arguments are asked for; a mistake suggests a command that works as shown.
  const asked = type("portolan call ./src/server.ts count");
  await asked.answer(/text[\s\S]*>$/, "one\r");
  await asked.see('"words":1');
  const mistaken = type("portolan call ./src/server.ts cuont");
  expect(await mistaken.exited).toBe(2);
  const [look] = stepsOn(mistaken.screen());
  expect(look).toBe("portolan ls ./src/server.ts");
  expect(await done(look!)).toContain("count(");

  await done("npm run build");
  const [list] = stepsOn(await done("portolan add weather -- node dist/main.js"));
  expect(await done(list!)).toContain("count(");
  expect(await done("portolan")).toMatch(/weather +\.mcp\.json +ready weather 2026-07-28 \d+ ms +1$/m);
});
