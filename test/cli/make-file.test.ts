import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeHome, runPortolan } from "./kit.ts";
import { makeProject, root, weather } from "./make-kit.ts";

const define = 'createServer({ name: "x", version: "1" }).tool("hi", { run: () => "hello" })';
const files: { [name: string]: string } = {
  "plain.mjs": `import { createServer } from "portolan/server";\nexport default ${define};\n`,
  "later.mjs": `import { createServer } from "portolan/server";\nexport default Promise.resolve(${define});\n`,
  "live.mjs": `import { createServer, live } from "portolan/server";\nexport default live(${define});\n`,
  "common.cjs": `const { createServer } = require("portolan/server");\nmodule.exports = ${define};\n`,
  "own.mjs": `import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
console.log("not a message");
serveStdio(${define});
`,
  "both.mjs": `import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
const server = ${define};
if (process.argv[1] === import.meta.filename) serveStdio(server);
export default server;
`,
  "typed.ts": `import { createServer, type Server } from "portolan/server";
enum Word { Hello = "hello" }
const server: Server = createServer({ name: "x", version: "1" }).tool("hi", { run: (): string => Word.Hello });
export default server;
`,
  "typed.mts": `import { createServer } from "portolan/server";\nconst when = await Promise.resolve("hello" as string);
export default createServer({ name: "x", version: "1" }).tool("hi", { run: () => when });
`,
};

describe("serves a file:", () => {
  const folder = makeProject(files);

  test.each(Object.keys(files))("%s", async (file) => {
    const { code, stdout, stderr } = await runPortolan(["call", `./${file}`, "hi"], { cwd: folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({ content: [{ type: "text", text: "hello" }] });
  });
});

test("a server file ends with its input", async () => {
  const folder = makeProject(weather);
  expect(await runPortolan(["serve-file", "server.ts"], { cwd: folder })).toMatchObject({ code: 0, stdout: "" });
});

test("passes the arguments after -- to the file", async () => {
  const folder = makeProject({ "args.mjs": "console.log(JSON.stringify(process.argv.slice(1))); process.exit(0);\n" });
  const { stdout } = await runPortolan(["serve-file", "args.mjs", "--", "--flag", "x"], { cwd: folder });
  expect(JSON.parse(stdout)).toEqual([join(folder, "args.mjs"), "--flag", "x"]);
});

test("serves a file without its own library with ours", async () => {
  const folder = makeHome();
  mkdirSync(join(folder, "elsewhere"));
  for (const [name, text] of Object.entries(files)) {
    if (name === "plain.mjs" || name === "typed.ts") writeFileSync(join(folder, "elsewhere", name), text);
  }
  for (const name of ["plain.mjs", "typed.ts"]) {
    const { code, stdout, stderr } = await runPortolan(["call", `elsewhere/${name}`, "hi"], { cwd: folder });
    expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({ content: [{ type: "text", text: "hello" }] });
  }
});

test.each([
  ["wrong.mjs", "const a = 1;\nnope();\n", /wrong\.mjs:2:1: ReferenceError: nope is not defined/],
  ["wrong.ts", "const a: number = 1;\nnope();\n", /wrong\.ts:2:1: ReferenceError: nope is not defined/],
  ["unread.mjs", "const a = 1;\nconst b = ;\n", /unread\.mjs:2: SyntaxError: Unexpected token/],
  ["unread.ts", "const a = 1;\nconst b = ;\n", /unread\.ts:2:\d+: .*Unexpected token/],
  ["none.mjs", "export const a = 1;\n", /none\.mjs: expected a server as the default export, or a file that serves/],
  ["number.mjs", "export default 5;\n", /number\.mjs: expected a server of createServer .* got number/],
  ["lost.mjs", 'import "./gone.mjs";\n', /Cannot find module .*gone\.mjs/],
  ["host.mjs", 'import "portolan-host";\n', /host\.mjs: it imports portolan-host, which is not installed\. Run: npm/],
  [
    "host.ts",
    'import "portolan-host/models";\n',
    /host\.ts: it imports portolan-host, which is not installed\. Run: npm/,
  ],
  [
    "unfit.mjs",
    `import { createServer } from "portolan/server";\nexport default createServer({ name: "x" });\n`,
    /unfit\.mjs:2:\d+: .*version/,
  ],
])("%s fails with the error and its location", async (file, text, says) => {
  const folder = makeProject({ [file]: text });
  const { code, stderr } = await runPortolan(["ls", `./${file}`], { cwd: folder });
  expect(code).toBe(4);
  expect(JSON.parse(stderr).error.message).toMatch(says);
});

test("serves the examples", async () => {
  const { code, stdout } = await runPortolan(["ls", join(root, "examples/hello/server.mjs")], { cwd: makeHome() });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ tools: [{ name: "forecast" }] });
});
