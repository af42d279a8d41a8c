import { dirname, join } from "node:path";
import { instantiations } from "../driver/instantiations.mjs";
import { installed } from "../implementations.mjs";

const schema = (i) => `z.object({ message${i}: z.string(), times: z.number().optional() })`;
const handler = (i) =>
  `({ message${i}, times }) => ({ content: [{ type: "text", text: message${i}.repeat(times ?? 1) }] })`;
const each = (count, lineOf) => Array.from({ length: count }, (_, i) => lineOf(i)).join("\n");

/** A server with this many zod tools, as users write it. */
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

/**
 * A client that calls a number of tools. Portolan's knows them from the server's definition, which is part of the program;
 * the clients of the peers do not know theirs.
 */
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

/** Type instantiations of the first one over the program without it, and of 200 over the extrapolation of the first two. */
export async function run({ notes }) {
  return [
    ...(await growth("zod tool", servers, notes)),
    ...(await growth("callTool", clients, notes, { first: [1, 1], before: [1, 0] })),
  ];
}

/** `first` and `before` are the numbers of tools and calls of two programs whose difference is measured. */
async function growth(what, programs, notes, { first = [1, 1], before = [0, 0] } = {}) {
  const one = {};
  const linear = {};
  for (const { name, folder } of installed().filter((it) => it.name in programs)) {
    const count = (tools, calls) => {
      const directory = join(dirname(folder), "dist", `types-${what.replace(" ", "-")}-${name}-${tools}-${calls}`);
      const body = programs[name](tools, calls);
      return instantiations(directory, `import { z } from "zod";\n${body}\nexport const schema = ${schema("")};\n`);
    };
    try {
      one[name] = { value: (await count(...first)) - (await count(...before)) };
      const [none, single, pair, all] = [
        await count(0, 0),
        await count(1, 1),
        await count(2, 2),
        await count(200, 200),
      ];
      linear[name] = { value: (all - none) / (single - none + 199 * (pair - single)) };
      notes.push(`${name}: the second ${what} costs ${pair - single}, 200 cost ${all - none} instantiations`);
    } catch (error) {
      notes.push(`${name}, ${what}: ${(error.stdout || error.message).split("\n")[0].slice(0, 200)}`);
    }
  }
  return [
    { metric: `types: one ${what}`, unit: "", shown: "value", cells: one },
    { metric: `types: 200 × ${what} ÷ linear`, unit: "×", shown: "value", cells: linear },
  ];
}
