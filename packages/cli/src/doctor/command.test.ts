import type { ProcessEnd } from "portolan/client/stdio";
import type { ServerEntry } from "portolan-host";
import { describe, expect, test } from "vitest";
import type { System } from "../system.ts";
import { explainCommand } from "./command.ts";

const target = { command: "npx", args: ["-y", "server"] };
const entry: ServerEntry = { name: "a", target, configured: target, settings: {}, source: { kind: "code" } };

/** As the library reports the end of a process. */
function explain(end: Partial<ProcessEnd>, platform: NodeJS.Platform = "linux") {
  const ended: ProcessEnd = {
    kind: "ended",
    command: "npx",
    ending: "exited with code 1",
    said: "",
    mayRestart: true,
  };
  const processEnd = { ...ended, ...end };
  return explainCommand(entry, target, { message: "", processEnd }, {
    platform,
    home: "/home/nobody",
    execPath: "/usr/bin/node",
    env: {},
  } as System);
}

test("suggests the .cmd extension for a script on Windows", () => {
  const said = "there is no program npx on the PATH";
  expect(explain({ kind: "not-started", ending: "could not be started", said }, "win32")).toMatchObject({
    id: "wrong-command",
    next: "write npx.cmd as the command, at the command line",
  });
});

describe("finds the port in use in the message of", () => {
  test.each([
    ["Node.js", `Error: listen EADDRINUSE: address already in use 127.0.0.1:8080`, "8080"],
    ["Node.js for all addresses", `Error: listen EADDRINUSE: address already in use :::3000`, "3000"],
    [
      "Python",
      `OSError: [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use`,
      "8000",
    ],
    ["Go", `listen tcp :9090: bind: address already in use`, "9090"],
  ])("%s", (_, said, port) => {
    expect(explain({ said })).toMatchObject({ id: "port-in-use", what: `the port ${port} is in use` });
    expect(explain({ said }, "win32").next).toContain(`findstr :${port}`);
  });
});

test.each([
  ["Error: Cannot find module 'x'", "install its packages"],
  ["ModuleNotFoundError: No module named 'mcp'", "install its packages"],
  ["Error: BRAVE_API_KEY environment variable is required", "it seems to need a variable"],
  ["bye", "run it by hand"],
])("suggests a next step that fits %j", (words, next) => {
  expect(explain({ said: words }).next).toContain(next);
});

test("reports a command that a signal ended", () => {
  expect(explain({ ending: "was ended by SIGSEGV" })).toMatchObject({
    id: "command-exits",
    what: "its command was ended by SIGSEGV",
    why: "it wrote nothing to standard error",
  });
});

test("does not take the words of a server that still runs for the report of its end", () => {
  const message = 'tools/list failed: the tool said "The server could not be started: exited with code 1: EADDRINUSE"';
  const system = { platform: "linux", home: "/home/nobody", execPath: "/usr/bin/node", env: {} } as System;
  const failure = { message, processEnd: undefined };
  expect(explainCommand(entry, target, failure, system)).toMatchObject({ id: "command-fails", why: message });
});
