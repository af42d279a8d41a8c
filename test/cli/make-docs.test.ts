import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../kit/free-port.ts";
import { manifestOf, putFolder } from "./bundle-kit.ts";
import { makeHome, portolan } from "./kit.ts";
import { root, until } from "./make-kit.ts";

const commands = readFileSync(join(root, "docs/cli/make.md"), "utf8")
  .split("\n")
  .flatMap((line) => /^\$ (.*)$/.exec(line)?.[1] ?? []);

test("every command in docs/cli/make.md works", async () => {
  const home = makeHome();
  mkdirSync(join(home, "bin"));
  const program = join(home, "bin/portolan");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${portolan}" "$@"\n`);
  chmodSync(program, 0o755);
  mkdirSync(join(home, "node_modules"));
  symlinkSync(join(root, "packages/portolan"), join(home, "node_modules/portolan"));
  symlinkSync(join(root, "node_modules/zod"), join(home, "node_modules/zod"));
  const [dev, served] = [await freePort(), await freePort()];
  let cwd = home;
  const left: (() => Promise<unknown>)[] = [];
  const start = (line: string) => {
    const child = spawn("bash", ["-c", `exec ${line}`], {
      cwd,
      env: { PATH: `${join(home, "bin")}:${process.env["PATH"]}`, HOME: home, LANG: "C.UTF-8" },
    });
    let output = "";
    let errors = "";
    child.stdout.on("data", (text) => {
      output += text;
    });
    child.stderr.on("data", (text) => {
      errors += text;
    });
    const code = new Promise<number | null>((resolve) => child.on("close", resolve));
    return { child, code, output: () => output, errors: () => errors };
  };
  expect(commands.length).toBeGreaterThan(15);
  for (const shown of commands) {
    const line = shown.replace("3333", String(dev)).replace("8080", String(served));
    if (line.startsWith("cd ")) {
      cwd = join(cwd, line.slice(3));
      continue;
    }
    // The page does not write the server that it packs.
    if (line.startsWith("portolan pack"))
      putFolder(join(cwd, "weather"), { "manifest.json": manifestOf(), "server/index.mjs": "1" });
    const { child, code, output, errors } = start(line);
    if (/--http|--apps/.test(line)) {
      await until(() => /"(ready|preview)"/.test(output()) || child.exitCode !== null);
      expect({ shown, output: output() }).toEqual({ shown, output: expect.stringContaining("http://127.0.0.1:") });
      left.push(async () => {
        child.kill("SIGINT");
        await code;
      });
      continue;
    }
    child.stdin.end();
    expect({ shown, code: await code, errors: errors() }).toMatchObject({ shown, code: 0 });
  }
  for (const end of left) await end();
});
