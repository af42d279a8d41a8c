import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pathTo } from "../examples/example.ts";
import { scriptOf } from "../servers/kit/programs.ts";
import { makeHome } from "./kit.ts";
import { runSessions } from "./sessions.ts";

test("the sessions in docs/cli.md match the real output", async () => {
  const cwd = makeHome();
  writeFileSync(join(cwd, "time.js"), `import ${JSON.stringify(scriptOf("time"))};\n`);
  writeFileSync(join(cwd, "package.json"), '{ "type": "module" }');
  const time = { command: "node", args: ["time.js"] };
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { time } }));
  expect(await runSessions(pathTo("docs/cli.md"), { cwd, columns: 100 })).toBe(6);
});
