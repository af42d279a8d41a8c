import { spawn } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { environment, makeHome, portolan, root, runPortolan } from "./kit.ts";

const node = process.execPath;
const offering = join(root, "test/cli/fixtures/offering.mjs");
const quote = (word: string) => `'${word}'`;

/** Pipes the command into `head`. Returns both outputs and exit codes. */
async function headOf(args: readonly string[], cwd: string, how = "| head -n 1") {
  const words = [node, portolan, ...args].map(quote).join(" ");
  const child = spawn("bash", ["-c", `${words} ${how}; echo "codes \${PIPESTATUS[*]}"`], {
    cwd,
    env: environment(cwd),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let shown = "";
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  await new Promise((resolve) => child.on("close", resolve));
  return { shown, said, code: Number(/codes (\d+)/.exec(shown)?.[1]) };
}

test.each([
  ["ls", ["ls", "--schema", "--", node, offering]],
  ["call", ["call", "write", `text=${"x".repeat(20)}`, "--", node, offering]],
  ["run", ["run", "write text=hello", "--model", "demo", "--", node, offering]],
  ["watch", ["watch", "--", node, join(root, "test/cli/fixtures/chatty.mjs")]],
  ["log", ["log"]],
])("%s ends silently when its reader stops after the first line", async (name, args) => {
  const cwd = makeHome();
  if (name === "log") {
    for (let at = 0; at < 3; at += 1) await runPortolan(["call", "write", "text=x", "--", node, offering], { cwd });
  }
  const { shown, said, code } = await headOf(args, cwd);
  expect(said).toBe("");
  expect(shown.split("\n").filter(Boolean)).toHaveLength(2);
  expect(code).toBe(0);
});

test("returns the exit code of a failure when standard error is closed", async () => {
  const args = ["call", "nothing", "--", node, offering];
  const { shown, said, code } = await headOf(args, makeHome(), "2>&1 >/dev/null | true");
  expect({ said, shown }).toEqual({ said: "", shown: `codes ${code} 0\n` });
  expect(code).toBe(2);
});
