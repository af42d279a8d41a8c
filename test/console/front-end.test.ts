import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { scriptedModel } from "portolan-host/models";
import { expect, test } from "vitest";
import { pathTo } from "../examples/example.ts";
import { oldServer, openConsole } from "./kit.ts";

test.each([
  ["y", "echo: done"],
  ["n", "echo: refused"],
])("another front end asks about a call, and the answer %s counts", async (answer, outcome) => {
  const model = scriptedModel([
    { say: "I echo. ", call: { name: "it__echo", input: { message: "hello" } } },
    { say: "That is all." },
  ]);
  const running = await openConsole({ servers: { it: { ...oldServer, trustHints: false } }, model });
  const script = pathTo("examples/console/front-end.mjs");
  const child = spawn(process.execPath, [script, running.openAddress(), "Echo hello"]);
  child.stdin.end(`${answer}\n`);
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  expect(errors).toBe('it: "echo" {"message":"hello"}? [y/N] ');
  expect(output).toContain("servers: it");
  expect(output).toContain(outcome);
  expect(output).toContain("That is all.");
  expect(code).toBe(0);
});
