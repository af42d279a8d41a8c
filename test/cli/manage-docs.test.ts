import { expect, test } from "vitest";
import { makeHome } from "./kit.ts";
import { fileOf, notes, put, stateOf } from "./manage-kit.ts";
import { runSessions } from "./sessions.ts";

test("the sessions in docs/cli/manage.md match the real output", async () => {
  const cwd = await makeHome();
  const stdio = fileOf("packages/portolan/dist/server/stdio.js");
  put(
    cwd,
    "server.mjs",
    `import server from ${JSON.stringify(notes)};\nimport { serveStdio } from ${JSON.stringify(stdio)};\nserveStdio(server);\n`,
  );
  const env = { PORTOLAN_HOME: stateOf(cwd) };
  expect(await runSessions(fileOf("docs/cli/manage.md"), { cwd, env, columns: 160 })).toBeGreaterThan(5);
});
