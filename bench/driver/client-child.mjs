import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { calls, check } from "./messages.mjs";
import { watchServer } from "./server-cpu.mjs";
import { answerTasks, settings } from "./tasks.mjs";

/**
 * What each client.mjs (over stdio) and each whole.mjs (in memory, with the server it brings along) exports as `connect`.
 * @typedef {(options: { era: "stateful" | "stateless", command?: string, args?: string[], env?: Record<string, string> })
 *   => Promise<BenchClient>} Connect
 * @typedef {object} BenchClient
 * @property {() => Promise<object[]>} listTools
 * @property {(name: string, args: object, onProgress?: () => void) => Promise<object>} call resolves with the result
 * @property {() => Promise<void>} close
 */

const { folder, program, name, era, server } = settings;
const IN_FLIGHT = 64;

const watch = server && (await watchServer());
const spent = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

let opened;
/** Connects, lists the tools (which is when a client learns what their results must look like) and tries both. */
async function open() {
  if (opened) return opened;
  const { connect } = await import(pathToFileURL(join(folder, program)).href);
  const client = await connect({ era, ...(watch && { command: process.execPath, ...watch.target(server) }) });
  opened = client;
  const tools = await client.listTools();
  if (tools.length !== 3) throw new Error(`${name} listed ${tools.length} of 3 tools`);
  for (const call of ["echo", "add"]) {
    check(name, call, { result: await client.call(call, calls[call].params.arguments) });
  }
  return client;
}

answerTasks({
  /** `count` calls, 64 in flight, each awaited as a user would: CPU µs of this process. Every thousandth is checked. */
  async pump({ call, count }) {
    const client = await open();
    const args = calls[call].params.arguments;
    let left = count;
    const before = spent();
    await Promise.all(
      Array.from({ length: IN_FLIGHT }, async () => {
        while (left > 0) {
          const isChecked = left-- % 1000 === 0;
          const result = await client.call(call, args);
          if (isChecked) check(name, call, { result });
        }
      }),
    );
    return { cpu: spent() - before };
  },

  /** One call that reports progress `count` times: wall ms, CPU µs of client and server, and what the callback heard. */
  async notify({ count }) {
    const client = await open();
    let delivered = 0;
    const before = spent() + (await watch.cpu());
    const start = performance.now();
    const result = await client.call("notify", { n: count }, () => {
      delivered++;
    });
    const wall = performance.now() - start;
    const cpu = spent() + (await watch.cpu()) - before;
    if (result.content[0].text !== "done") throw new Error(`${name} answered ${JSON.stringify(result).slice(0, 200)}`);
    // What comes later than the answer still counts as delivered.
    await turn();
    return { wall, cpu, delivered };
  },
});

process.once("disconnect", async () => {
  try {
    await opened?.close();
  } finally {
    process.exit();
  }
});
