import type { ServerEntry } from "portolan-host";
import { describe, expect, test } from "vitest";
import type { System } from "../system.ts";
import { explainCommand } from "./command.ts";

const target = { command: "npx", args: ["-y", "server"] };
const entry: ServerEntry = { name: "a", target, configured: target, settings: {}, source: { kind: "code" } };

function explain(message: string, platform: NodeJS.Platform = "linux") {
  return explainCommand(entry, target, message, {
    platform,
    home: "/home/nobody",
    execPath: "/usr/bin/node",
    env: {},
  } as System);
}

test("suggests the .cmd extension for a script on Windows", () => {
  const message = 'The server "npx -y server" could not be started: there is no program npx on the PATH';
  expect(explain(message, "win32")).toMatchObject({
    id: "wrong-command",
    next: "write npx.cmd as the command, at the command line",
  });
});

describe("finds the port in use in the message of", () => {
  const ended = 'The server "npx" exited with code 1:';
  test.each([
    ["Node.js", `${ended} Error: listen EADDRINUSE: address already in use 127.0.0.1:8080`, "8080"],
    ["Node.js for all addresses", `${ended} Error: listen EADDRINUSE: address already in use :::3000`, "3000"],
    [
      "Python",
      `${ended} OSError: [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use`,
      "8000",
    ],
    ["Go", `${ended} listen tcp :9090: bind: address already in use`, "9090"],
  ])("%s", (_, message, port) => {
    expect(explain(message)).toMatchObject({ id: "port-in-use", what: `the port ${port} is in use` });
    expect(explain(message, "win32").next).toContain(`findstr :${port}`);
  });
});

test.each([
  ["Error: Cannot find module 'x'", "install its packages"],
  ["ModuleNotFoundError: No module named 'mcp'", "install its packages"],
  ["Error: BRAVE_API_KEY environment variable is required", "it seems to need a variable"],
  ["bye", "run it by hand"],
])("suggests a next step that fits %j", (words, next) => {
  expect(explain(`The server "npx" exited with code 1: ${words}`).next).toContain(next);
});

test("reports a command that a signal ended", () => {
  expect(explain('The server "npx" was ended by SIGSEGV')).toMatchObject({
    id: "command-exits",
    what: "its command was ended by SIGSEGV",
    why: "it wrote nothing to standard error",
  });
});
