import type { ServerEntry } from "portolan-host";
import { describe, expect, test } from "vitest";
import type { World } from "../world.ts";
import { explainCommand } from "./command.ts";

const way = { command: "npx", args: ["-y", "server"] };
const entry: ServerEntry = { name: "a", target: way, configured: way, settings: {}, source: { kind: "code" } };

function explain(message: string, platform: NodeJS.Platform = "linux") {
  return explainCommand(entry, way, message, { platform, home: "/home/nobody", env: {} } as World);
}

test("a script that Windows does not find without its ending is named with it", () => {
  const message = 'The server "npx -y server" could not be started: there is no program npx on the PATH';
  expect(explain(message, "win32")).toMatchObject({
    id: "wrong-command",
    next: "write npx.cmd as the command, at the command line",
  });
});

describe("a port that is taken is found in what", () => {
  const ended = 'The server "npx" exited with code 1:';
  test.each([
    ["Node says", `${ended} Error: listen EADDRINUSE: address already in use 127.0.0.1:8080`, "8080"],
    ["Node says of all addresses", `${ended} Error: listen EADDRINUSE: address already in use :::3000`, "3000"],
    [
      "Python says",
      `${ended} OSError: [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use`,
      "8000",
    ],
    ["Go says", `${ended} listen tcp :9090: bind: address already in use`, "9090"],
  ])("%s", (_, message, port) => {
    expect(explain(message)).toMatchObject({ id: "port-in-use", what: `the port ${port} is taken` });
    expect(explain(message, "win32").next).toContain(`findstr :${port}`);
  });
});

test.each([
  ["Error: Cannot find module 'x'", "install its packages"],
  ["ModuleNotFoundError: No module named 'mcp'", "install its packages"],
  ["Error: BRAVE_API_KEY environment variable is required", "it seems to want a variable"],
  ["bye", "run it by hand"],
])("after %j the next step fits", (words, next) => {
  expect(explain(`The server "npx" exited with code 1: ${words}`).next).toContain(next);
});

test("what was ended by a signal is told", () => {
  expect(explain('The server "npx" was ended by SIGSEGV')).toMatchObject({
    id: "command-exits",
    what: "its command was ended by SIGSEGV",
    why: "it said nothing on standard error",
  });
});
