// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how files write variables
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { beginJourney, installOnce, widths } from "./journey-screens.ts";

test.each(widths)("the screens of a user of editors fit %i columns and read as they were approved", async (columns) => {
  const { home, run, open, keep } = beginJourney("user", columns, installOnce("servers/files", "servers/time"));
  const put = (path: string, content: unknown) => {
    const file = join(home, "project", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  };
  put(".git/HEAD", "ref: refs/heads/main\n");
  put("README.md", "# Hello\nsecond\n");
  put(".mcp.json", { mcpServers: { files: { command: "portolan-files", args: ["."] } } });
  put(".cursor/mcp.json", { mcpServers: { jira: { url: "http://127.0.0.1:9/mcp" } } });
  put(".vscode/mcp.json", { servers: { "my db": { command: "portolan-time", env: { PGURL: "${env:PGURL}" } } } });

  await run("01-help", "portolan --help");
  await run("02-servers", "portolan");
  const trust = open("portolan trust files");
  await trust.answer(/y yes/, "y\r");
  expect(await trust.exited).toBe(0);
  await keep("03-trust", trust);
  await run("04-ls", "portolan ls files");
  await run("05-ls-tool", "portolan ls files.read");
  await run("06-call", "portolan call files.read path=README.md lines=1", { isRaw: true });
  await run("07-call-wrong-type", "portolan call files.read path=README.md lines=one", { code: 2 });
  await run("08-call-wrong-name", "portolan call files.raed path=README.md", { code: 2 });
  await run("09-call-tool-fails", "portolan call files.read path=nowhere.md", { code: 5 });
  await run("10-doctor", "portolan doctor 'my db'", { code: 1 });
  await run("11-trust-jira", "portolan trust jira --yes");
  await run("12-doctor-jira", "portolan doctor jira", { code: 1 });
  await run("13-servers-after", "portolan");

  const chat = open("portolan chat --server files");
  await chat.answer(/\n>$/, "list the files\r");
  await chat.answer(/v view\s+its\s+definition/, "y\r");
  await chat.answer(/README\.md[\s\S]*\n>$/, "/quit\r");
  expect(await chat.exited).toBe(0);
  await keep("14-chat", chat);
});
