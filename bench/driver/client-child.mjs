import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { calls, check } from "./messages.mjs";
import { watchServer } from "./server-cpu.mjs";
import { answerTasks, settings } from "./tasks.mjs";

/**
 * The export `connect` of each client.mjs (over stdio), each http-client.mjs and each whole.mjs (in memory, with its own
 * server).
 * @typedef {(options: { era: "stateful" | "stateless", url?: string, command?: string, args?: string[],
 *   env?: Record<string, string> }) => Promise<BenchClient>} Connect
 * @typedef {object} BenchClient
 * @property {() => Promise<object[]>} listTools
 * @property {(name: string, args: object, onProgress?: () => void) => Promise<object>} call resolves with the result
 * @property {() => Promise<void>} close
 */

const { folder, program, name, era, server, inFlight = 64 } = settings;

const watch = server && (await watchServer());
const spent = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

const both = async () => spent() + ((await watch?.cpu()) ?? 0);

let opened;
/** Connects, lists the tools (so that the client knows their output schemas) and tries both. */
async function open(url) {
  if (opened) return opened;
  const { connect } = await import(pathToFileURL(join(folder, program)).href);
  const client = await connect({ era, url, ...(watch && { command: process.execPath, ...watch.target(server) }) });
  opened = client;
  const tools = await client.listTools();
  if (tools.length !== 3) throw new Error(`${name} listed ${tools.length} of 3 tools`);
  for (const call of ["echo", "add"]) {
    check(name, call, { result: await client.call(call, calls[call].params.arguments) });
  }
  return client;
}

answerTasks({
  /**
   * Makes `count` calls with a number in flight, each awaited as a user would: CPU µs of this process, and of it together
   * with the server it has started. Every thousandth answer is checked.
   */
  async pump({ url, call, count }) {
    const client = await open(url);
    const args = calls[call].params.arguments;
    let left = count;
    const wholeBefore = await both();
    const before = spent();
    await Promise.all(
      Array.from({ length: inFlight }, async () => {
        while (left > 0) {
          const isChecked = left-- % 1000 === 0;
          const result = await client.call(call, args);
          if (isChecked) check(name, call, { result });
        }
      }),
    );
    const cpu = spent() - before;
    return { cpu, whole: (await both()) - wholeBefore };
  },

  /**
   * Makes one call that reports progress `count` times: wall ms, CPU µs of the client and of the server it has started, and
   * the number of notifications that reached the callback.
   */
  async notify({ url, count }) {
    const client = await open(url);
    let delivered = 0;
    const before = await both();
    const start = performance.now();
    const result = await client.call("notify", { n: count }, () => {
      delivered++;
    });
    const wall = performance.now() - start;
    const cpu = (await both()) - before;
    if (result.content[0].text !== "done") throw new Error(`${name} answered ${JSON.stringify(result).slice(0, 200)}`);
    // Notifications after the answer still count as delivered.
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
