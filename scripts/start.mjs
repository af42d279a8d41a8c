// @ts-check
// Opens the console with seven servers in a sandbox, and the demo model if no API key is set. With --terminal, the chat in the
// terminal instead; without a terminal, prints a scripted walk-through.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { makeSandbox } from "./start/sandbox.mjs";
import { line, paragraph, wrappedRow } from "./start/screen.mjs";
import { walk } from "./start/walk.mjs";

// A reader that closes the pipe early, such as `head`, is not an error.
process.stdout.on("error", () => process.exit());
const isTerminalChat = process.argv[2] === "--terminal";
if (process.argv.length > (isTerminalChat ? 3 : 2)) {
  console.error("start: expected --terminal or nothing, such as: npm start -- --terminal");
  process.exit(2);
}
/** The running command, which handles Ctrl-C itself. @type {import("node:child_process").ChildProcess | undefined} */
let running;
process.on("SIGINT", () => {
  if (!running) process.exit(130);
});
process.on("SIGTERM", () => {
  if (!running) process.exit(143);
  running.kill("SIGTERM");
});
// The terminal was closed.
process.on("SIGHUP", () => {
  if (!running) process.exit(129);
  running.kill("SIGHUP");
});

const sandbox = await makeSandbox();
process.on("exit", () => sandbox.remove());
line();
line(["  Portolan", "bold"]);
paragraph("Servers of the Model Context Protocol, and you in control of them");
paragraph(`a sandbox in ${sandbox.folder}, removed afterwards`, "dim");
if (process.stdin.isTTY && process.stdout.isTTY && process.stderr.isTTY) {
  await (isTerminalChat ? chat() : openConsole());
} else {
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

async function openConsole() {
  paragraph("the chat in the terminal: npm start -- --terminal", "dim");
  line();
  await run("console", sandbox.names);
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
  await run(
    "chat",
    sandbox.names.flatMap((name) => ["--server", name]),
  );
}

/** Runs a command of portolan with the demo model, unless there is another one. */
async function run(/** @type {string} */ name, /** @type {string[]} */ servers) {
  const command = fileURLToPath(new URL("../packages/portolan/dist/cli/main.js", import.meta.url));
  const hasKey = ["PORTOLAN_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"].some(
    (it) => process.env[it],
  );
  const model = hasKey ? [] : ["--model", fileURLToPath(new URL("start/model.mjs", import.meta.url))];
  running = spawn(process.execPath, [command, name, ...model, ...servers], {
    cwd: sandbox.folder,
    stdio: "inherit",
    env: { ...process.env, HOME: sandbox.folder, PORTOLAN_HOME: sandbox.home, PORTOLAN_SANDBOX: "1" },
  });
  const [code] = await once(running, "exit");
  process.exitCode = code ?? 1;
}
