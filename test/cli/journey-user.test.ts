// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how files write variables
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { scriptOf } from "../servers/kit/programs.ts";
import { installPackage, stepsOn, typeLine } from "./journey-kit.ts";

test("a user of editors finds, trusts, repairs, calls and chats with servers by following the screens", async () => {
  const home = installPackage();
  const cwd = join(home, "project");
  const put = (path: string, content: unknown) => {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), typeof content === "string" ? content : JSON.stringify(content));
  };
  const type = (line: string, env?: { [name: string]: string }) => typeLine(line, cwd, home, env);
  const ended = async (line: string, code = 0, env?: { [name: string]: string }) => {
    const terminal = type(line, env);
    expect({ line, code: await terminal.exited }).toEqual({ line, code });
    return terminal.screen();
  };
  mkdirSync(join(cwd, ".git"), { recursive: true });
  put("README.md", "# Hello\nsecond\n");
  put(".mcp.json", { mcpServers: { files: { command: "node", args: [scriptOf("files"), "."] } } });
  put(".cursor/mcp.json", { mcpServers: { jira: { url: "http://127.0.0.1:9/mcp" } } });
  const env = { PGURL: "${env:PGURL}" };
  put(".vscode/mcp.json", { servers: { "my db": { command: "node", args: [scriptOf("time")], env } } });

  expect(await ended("portolan --help")).toMatch(/^ {2}servers +List the servers configured on this machine/m);
  const first = await ended("portolan");
  expect(first).toMatch(/files +\.mcp\.json +not trusted → portolan trust files$/m);
  expect(first).toMatch(/jira +\.cursor\/mcp\.json +not trusted → portolan trust jira$/m);
  expect(first).toMatch(/my db +\.vscode\/mcp\.json +missing \$\{\S+\} .*→ portolan doctor 'my db'$/m);
  const steps = stepsOn(first);

  const trust = type(steps.find((step) => step.endsWith("trust files"))!);
  await trust.answer(/Command +node[\s\S]*Allow it to start, for 90 days\?\s+y yes · n no/, "y\r");
  expect(await trust.exited).toBe(0);
  const [list] = stepsOn(trust.screen());
  const listed = await ended(list!);
  expect(listed).toMatch(/^ {2}read\(path: string, from\?: int, lines\?: int/m);
  expect(listed).toContain("· read-only");
  expect(await ended("portolan call files.read path=README.md lines=1")).toContain("# Hello");
  expect(await ended("portolan call files.read path=README.md lines=one", 2)).toContain(
    'lines: expected integer, got "one"',
  );
  const [again] = stepsOn(await ended("portolan call files.read path=nowhere.md", 5));
  expect(again).toBe("portolan ls files.read");

  const doctor = await ended("portolan doctor 'my db'", 1);
  expect(doctor).toContain("the variable PGURL is not set");
  expect(stepsOn(doctor)[0]).toContain("export PGURL=");
  const mended = await ended("portolan", 0, { PGURL: "postgres://here" });
  expect(mended).toContain("→ portolan trust 'my db'");
  expect(await ended("portolan trust 'my db' --yes", 0, { PGURL: "postgres://here" })).toContain("my db is trusted");
  await ended("portolan trust jira --yes");
  const [look] = stepsOn(await ended("portolan servers")).filter((step) => step.endsWith("jira"));
  expect(look).toBe("portolan doctor jira");
  expect(await ended(look!, 1)).toMatch(/jira down\n +✗ /);

  const chat = type("portolan chat --server files");
  await chat.answer(/demo \(not a language model\) with files[\s\S]*\n>$/, "list the files\r");
  const asked = await chat.see("v view its definition");
  expect(asked).toMatch(
    /◆ The model wants to call files\.list\n {2}│ Lists the entries of one folder[\s\S]*with these arguments\n {2}│ \{/,
  );
  await chat.answer(/y once · s this session · a always \(90 days\) · n no/, "y\r");
  await chat.answer(/README\.md[\s\S]*\n>$/, "/quit\r");
  expect(await chat.exited).toBe(0);
  expect(await ended("portolan log --server files --kind call")).toMatch(/call +files\.(read|list)/);
});
