import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { beginJourney, installOnce, widths } from "./journey-screens.ts";

/** The address that a screen shows. */
const addressOn = (screen: string) => /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(screen)?.[0] ?? "";

// A gateway with profiles, sign-in and a policy for many servers does not exist yet. Until then an operator gives each
// server its own address, as README.md and docs/cli/make.md describe.
test.each(widths)("the screens of an operator fit %i columns and read as they were approved", async (columns) => {
  const { home, run, open, keep } = beginJourney("operator", columns, installOnce("servers/files", "servers/time"));
  writeFileSync(join(home, "project/README.md"), "# Hello\n");

  const given = "time=2026-07-01T14:30 from=Europe/Berlin to=Asia/Tokyo";
  // A command becomes a server over HTTP.
  const served = open("exec portolan serve --http 0 -- portolan-time");
  const time = addressOn(await served.see(/Ctrl-C\s+to\s+stop/));
  await run("01-call-served", `portolan call ${time} convert ${given}`, { isRaw: true });
  served.type("\u0003");
  expect(await served.exited).toBe(0);
  await keep("02-serve", served);
  await run("03-call-stopped", `portolan call ${time} convert ${given}`, { code: 4 });

  // An address that others can reach needs a token.
  await run("04-serve-no-token", "portolan serve --http 0 --host 0.0.0.0 -- portolan-time", { code: 2 });
  await run("05-files-no-token", "portolan-files . --http 0 --host 0.0.0.0", { code: 2, isRaw: true });
  const env = { PORTOLAN_TOKEN: "a-token-for-the-team-of-forty-characters" };
  const files = open("exec portolan-files . --http 0", { env });
  const url = addressOn(await files.see(/\/mcp/));
  const header = '--header "Authorization=Bearer $PORTOLAN_TOKEN"';
  await run("06-call-token", `portolan call ${url} read path=README.md ${header}`, { env, isRaw: true });
  await run("07-call-no-token", `portolan call ${url} read path=README.md`, { code: 3 });
  await run("08-call-wrong-token", `portolan call ${url} read path=README.md --header "Authorization=Bearer wrong"`, {
    code: 3,
  });
  files.type("\u0003");
  expect(await files.exited).toBe(0);
  await keep("09-files", files);
});
