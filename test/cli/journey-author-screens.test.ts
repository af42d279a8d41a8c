import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { installPeers } from "./journey-kit.ts";
import { beginJourney, installOnce, widths } from "./journey-screens.ts";

test.each(widths)("the screens of a server author fit %i columns and read as they were approved", async (columns) => {
  const modules = installOnce();
  const { home, run, open, keep } = beginJourney("author", columns, modules);
  const cwd = join(home, "weather");
  await run("01-new", "portolan new weather", { cwd: home });
  mkdirSync(join(cwd, "node_modules"));
  installPeers(cwd);
  symlinkSync(join(modules, "portolan"), join(cwd, "node_modules/portolan"));
  // The screen of the test belongs to npm and Node, and differs between their versions.
  const tested = open("npm test", { cwd });
  expect(await tested.exited).toBe(0);
  expect(tested.screen()).toMatch(/fail 0/);
  await run("02-call", 'portolan call ./src/server.ts count "text=two words"', { cwd, isRaw: true });

  const dev = open("exec portolan dev src/server.ts --http 0", { cwd });
  await dev.see(/Ctrl-C\s+to\s+stop/);
  const file = join(cwd, "src/server.ts");
  const before = readFileSync(file, "utf8");
  writeFileSync(file, before.replace("text: z.string()", "loud: z.boolean().optional(), text: z.string()"));
  await dev.see(/input\s+\+loud/);
  writeFileSync(file, "export default 1 +;");
  await dev.see(/still serving\s+the version\s+before/);
  writeFileSync(file, before);
  await dev.see(/input\s+-loud/);
  dev.type("\u0003");
  expect(await dev.exited).toBe(0);
  await keep("03-dev", dev);

  const asked = open("portolan call ./src/server.ts count", { cwd });
  await asked.answer(/text[\s\S]*>$/, "one\r");
  expect(await asked.exited).toBe(0);
  await keep("04-call-asks", asked, { isRaw: true });
  await run("05-call-mistake", "portolan call ./src/server.ts cuont", { cwd, code: 2 });
  await run("06-ls", "portolan ls ./src/server.ts", { cwd });
  writeFileSync(join(cwd, "broken.ts"), "export default 1 +;\n");
  await run("07-broken-file", "portolan ls ./broken.ts", { cwd, code: 4 });
});
