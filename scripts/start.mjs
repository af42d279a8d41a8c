// @ts-check
// Opens the host in the terminal with seven servers in a sandbox, and the demo model if no API key is set; without a terminal, prints a scripted
// walk-through.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { makeSandbox } from "./start/sandbox.mjs";
import { line, paragraph, wrappedRow } from "./start/screen.mjs";
import { walk } from "./start/walk.mjs";

// A reader that closes the pipe early, such as `head`, is not an error.
process.stdout.on("error", () => process.exit());
/** True while the terminal program runs, which handles Ctrl-C itself. */
let isChatting = false;
process.on("SIGINT", () => {
  if (!isChatting) process.exit(130);
});

const sandbox = await makeSandbox();
process.on("exit", () => sandbox.remove());
line();
line(["  Portolan", "bold"]);
paragraph("Servers of the Model Context Protocol, and you in control of them");
paragraph(`a sandbox in ${sandbox.folder}, removed afterwards`, "dim");
if (process.stdin.isTTY && process.stdout.isTTY && process.stderr.isTTY) await chat();
else {
  try {
    await walk(sandbox);
    line();
    line(["  Next   ", "bold"], ["npm start in a terminal, and do it yourself; then README.md"]);
    line();
  } catch (error) {
    console.error(`start: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}

async function chat() {
  const day = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
  line();
  line(["  Type, for example", "dim"]);
  wrappedRow("a call", "What's the weather in Lisbon tomorrow?");
  wrappedRow("sampling", `Find the best flight from Oslo to Lisbon on ${day}, cheap`);
  wrappedRow("a form", `Book flight PT521 on ${day}`);
  wrappedRow("a prompt", "/plan-vacation destination=Paris");
  wrappedRow("a story", "/story");
  wrappedRow("and", "/tools   @   /log   /help   /quit");
  line();
  const command = fileURLToPath(new URL("../packages/portolan/dist/cli/main.js", import.meta.url));
  const hasKey = ["PORTOLAN_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"].some(
    (it) => process.env[it],
  );
  const model = hasKey ? [] : ["--model", fileURLToPath(new URL("start/model.mjs", import.meta.url))];
  const servers = sandbox.names.flatMap((name) => ["--server", name]);
  const child = spawn(process.execPath, [command, "chat", ...model, ...servers], {
    cwd: sandbox.folder,
    stdio: "inherit",
    env: { ...process.env, HOME: sandbox.folder, PORTOLAN_HOME: sandbox.home },
  });
  isChatting = true;
  const [code] = await once(child, "exit");
  process.exitCode = code ?? 1;
}
