// The command of a clone, whose packages no registry has, prints steps that work as they are typed.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "portolan/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { emptyMachine, makeFolder, root, run, startUntil, writeFiles } from "./kit.ts";
import { startRegistry, type TestRegistry } from "./registry.ts";

const portolan = [process.execPath, join(root, "packages/portolan/dist/cli/main.js")];
let registry: TestRegistry;

beforeAll(async () => {
  registry = await startRegistry(join(root, "node_modules"));
});

afterAll(() => registry.close());

test("new prints steps that install the library from the clone", async () => {
  const [parent, env] = [makeFolder(), emptyMachine(registry)];
  const made = await run([...portolan, "new", "weather"], parent, env);
  const [enter = "", ...steps] = JSON.parse(made.stdout).next as string[];
  expect([enter, steps.length]).toEqual(["cd weather", 4]);
  const folder = join(parent, "weather");
  const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  expect(dependencies.portolan).toBe(`file:${join(root, "packages/portolan")}`);
  const dev = steps.pop() ?? "";
  for (const step of steps) {
    const typed = await run(["sh", "-c", `${enter} && ${step}`], parent, env);
    expect({ step, ...typed }).toMatchObject({ step, code: 0 });
  }
  const started = await startUntil([...dev.split(" "), "--", "--http", "0"], folder, env, /"url":"([^"]+)"/);
  const client = await connect(started.match[1] ?? "");
  expect((await client.callTool("count", { text: "two words" })).structuredContent).toMatchObject({ words: 2 });
  await client.close();
  await started.stop();
});

test("gen ts prints a step that installs the library from the clone", async () => {
  const [folder, env] = [makeFolder(), emptyMachine(registry)];
  writeFiles(folder, { "package.json": { private: true, type: "module" } });
  const server = join(root, "packages/servers/time/dist/main.js");
  const made = await run([...portolan, "gen", "ts", "--", process.execPath, server], folder, env);
  const { next } = JSON.parse(made.stdout);
  expect(await run(["sh", "-c", next], folder, env)).toMatchObject({ code: 0 });
  const used = await run([process.execPath, "-e", 'import("portolan/client")'], folder, env);
  expect(used).toMatchObject({ code: 0, stderr: "" });
});

test("a server file that needs the host says how to install it from the clone", async () => {
  const [folder, env] = [makeFolder(), emptyMachine(registry)];
  writeFiles(folder, {
    "package.json": { private: true, type: "module" },
    "host.mjs": `import { createHost } from "portolan-host";
import { createServer } from "portolan/server";
export default createServer({ name: "host", version: "1.0.0" }).tool("kind", { run: () => typeof createHost });
`,
  });
  const call = [...portolan, "call", "./host.mjs", "kind"];
  const failed = await run(call, folder, env);
  const [, step = ""] = /Run: (npm install [^"\\\n]+)/.exec(failed.stderr) ?? [];
  expect(await run(["sh", "-c", step], folder, env)).toMatchObject({ code: 0 });
  expect(await run(call, folder, env)).toMatchObject({ code: 0, stdout: expect.stringContaining("function") });
});
