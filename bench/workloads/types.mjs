import { dirname, join } from "node:path";
import { instantiations } from "../driver/instantiations.mjs";
import { installed } from "../implementations.mjs";

const schema = (i) => `z.object({ message${i}: z.string(), times: z.number().optional() })`;
const handler = (i) =>
  `({ message${i}, times }) => ({ content: [{ type: "text", text: message${i}.repeat(times ?? 1) }] })`;
const each = (count, lineOf) => Array.from({ length: count }, (_, i) => lineOf(i)).join("\n");

/** The server with that many zod tools, written as its users would. */
const servers = {
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

const peerCall = (i) =>
  `export const text${i} = (await client.callTool({ name: "t${i}", arguments: { message${i}: "a" } })).structuredContent;`;

/** A client that calls so many of so many tools; portolan's knows them from the server's definition, the peers' do not. */
const clients = {
  portolan: (tools, calls) => `import { connect } from "portolan/client";
import { createServer } from "portolan/server";
export const server = createServer({ name: "a", version: "1" }).typed()
${each(tools, (i) => `.tool("t${i}", { description: "d", input: ${schema(i)}, output: z.object({ text${i}: z.string() }), run: ({ message${i} }) => ({ text${i}: message${i} }) })`)};
export const client = await connect<typeof server>({ command: "node" });
${each(calls, (i) => `export const text${i}: string | undefined = (await client.callTool("t${i}", { message${i}: "a" })).structuredContent?.text${i};`)}`,

  "sdk-v1": (_tools, calls) => `import { Client } from "@modelcontextprotocol/sdk/client/index.js";
export const client = new Client({ name: "a", version: "1" });
${each(calls, peerCall)}`,

  "sdk-v2": (_tools, calls) => `import { Client } from "@modelcontextprotocol/client";
export const client = new Client({ name: "a", version: "1" });
${each(calls, peerCall)}`,
};

/** Type instantiations of the first tool, or call, over the program without it, and of 200 over what the first two foretell. */
export async function run({ notes }) {
  return [
    ...(await growth("zod tool", servers, notes, {
      with: (program, count) => program(count),
      without: (program) => program(0),
    })),
    ...(await growth("callTool", clients, notes, {
      with: (program, count) => program(count, count),
      without: (program, count) => program(count, 0),
    })),
  ];
}

async function growth(what, programs, notes, variants) {
  const one = {};
  const linear = {};
  for (const { name, folder } of installed().filter((it) => it.name in programs)) {
    const count = (variant, size) => {
      const directory = join(dirname(folder), "dist", `types-${what.replace(" ", "-")}-${name}-${variant}-${size}`);
      const body = variants[variant](programs[name], size);
      return instantiations(directory, `import { z } from "zod";\n${body}\nexport const schema = ${schema("")};\n`);
    };
    const cost = async (size) => (await count("with", size)) - (await count("without", size));
    try {
      const first = await cost(1);
      const second = (await cost(2)) - first;
      const all = await cost(200);
      one[name] = { value: first };
      linear[name] = { value: all / (first + 199 * second) };
      notes.push(`${name}: the second ${what} costs ${second}, 200 cost ${all} instantiations`);
    } catch (error) {
      notes.push(`${name}, ${what}: ${(error.stdout || error.message).split("\n")[0].slice(0, 200)}`);
    }
  }
  return [
    { metric: `types: one ${what}`, unit: "", shown: "value", cells: one },
    { metric: `types: 200 × ${what} ÷ linear`, unit: "×", shown: "value", cells: linear },
  ];
}
