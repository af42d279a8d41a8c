import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { installed } from "../implementations.mjs";

const tsc = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
const schema = (i) => `z.object({ message${i}: z.string(), times: z.number().optional() })`;
const handler = (i) =>
  `({ message${i}, times }) => ({ content: [{ type: "text", text: message${i}.repeat(times ?? 1) }] })`;
const each = (count, toolOf) => Array.from({ length: count }, (_, i) => toolOf(i)).join("\n");

/** The program with that many zod tools, written as its users would. */
const programs = {
  portolan: (tools) => `import { createServer } from "portolan/server";
export const server = createServer({ name: "a", version: "1" })
${each(tools, (i) => `.tool("t${i}", { description: "d", input: ${schema(i)}, run: ${handler(i)} })`)};`,

  "sdk-v1": (tools) => `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
export const server = new McpServer({ name: "a", version: "1" });
${each(tools, (i) => `server.registerTool("t${i}", { description: "d", inputSchema: ${schema(i)}.shape }, ${handler(i)});`)}`,

  "sdk-v2": (tools) => `import { McpServer } from "@modelcontextprotocol/server";
export const server = new McpServer({ name: "a", version: "1" });
${each(tools, (i) => `server.registerTool("t${i}", { description: "d", inputSchema: ${schema(i)} }, ${handler(i)});`)}`,
};

/** Type instantiations of one zod tool over the program without it, and of 200 over what the first two foretell. */
export async function run({ notes }) {
  const one = {};
  const linear = {};
  for (const { name, folder } of installed().filter((it) => it.name in programs)) {
    try {
      const without = await instantiations(name, folder, 0);
      const first = (await instantiations(name, folder, 1)) - without;
      const second = (await instantiations(name, folder, 2)) - without - first;
      const all = (await instantiations(name, folder, 200)) - without;
      one[name] = { value: first };
      linear[name] = { value: all / (first + 199 * second) };
      notes.push(`${name}: the second tool costs ${second}, 200 tools cost ${all} instantiations`);
    } catch (error) {
      notes.push(`${name}: ${(error.stdout || error.message).split("\n")[0].slice(0, 200)}`);
    }
  }
  return [
    { metric: "types: one zod tool", unit: "", shown: "value", cells: one },
    { metric: "types: 200 tools ÷ linear", unit: "×", shown: "value", cells: linear },
  ];
}

async function instantiations(name, folder, tools) {
  const directory = join(dirname(folder), "dist", `types-${name}-${tools}`);
  mkdirSync(directory, { recursive: true });
  const text = `import { z } from "zod";\n${programs[name](tools)}\nexport const schema = ${schema("")};\n`;
  writeFileSync(join(directory, "program.ts"), text);
  const compilerOptions = {
    target: "es2023",
    module: "nodenext",
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    lib: ["es2023", "esnext.disposable", "dom"],
  };
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  const args = [tsc, "--extendedDiagnostics", "--singleThreaded", "-p", directory];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 120_000 });
  const found = /^Instantiations:\s+(\d+)/m.exec(stdout);
  if (!found) throw new Error("tsc printed no count of instantiations");
  return Number(found[1]);
}
