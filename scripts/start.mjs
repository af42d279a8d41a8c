// @ts-check
// Opens the host in the terminal with five servers in a sandbox and the demo model; without a terminal, prints a scripted
// walk-through.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { makeSandbox } from "./start/sandbox.mjs";
import { line, row } from "./start/screen.mjs";
import { walk } from "./start/walk.mjs";

// A reader that closes the pipe early, such as `head`, is not an error.
process.stdout.on("error", () => process.exit());
// The terminal program handles Ctrl-C itself.
process.on("SIGINT", () => {});

const sandbox = await makeSandbox();
process.on("exit", () => sandbox.remove());
line();
line(["  Portolan", "bold"], ["  servers of the Model Context Protocol, and you in control of them"]);
line([`  ${sandbox.names.join(", ")} in ${sandbox.folder}, which is gone afterwards`, "dim"]);
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
  row("a call", ["What's the weather in Lisbon tomorrow?"]);
  row("sampling", [`choose-flight from=Oslo to=Lisbon date=${day} wish=cheap`]);
  row("a form", [`bookFlight flight=PT121 date=${day}`]);
  row("a story", ["/quit, then: node examples/travel-story/story.mjs"]);
  row("and", ["/tools   /plan-vacation   @   /log   /help   /quit"]);
  line();
  const command = fileURLToPath(new URL("../packages/portolan/dist/cli/main.js", import.meta.url));
  const servers = sandbox.names.flatMap((name) => ["--server", name]);
  const child = spawn(process.execPath, [command, "chat", "--model", "demo", ...servers], {
    cwd: sandbox.folder,
    stdio: "inherit",
    env: { ...process.env, HOME: sandbox.folder, PORTOLAN_HOME: sandbox.home },
  });
  const [code] = await once(child, "exit");
  process.exitCode = code ?? 1;
}
