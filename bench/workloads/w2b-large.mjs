import { interleave } from "../driver/interleave.mjs";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";
import { StdioDriver } from "../driver/stdio.mjs";
import { having } from "../implementations.mjs";

const MB = 1_000_000;
// A line break every 80 characters: real text has escapes, and a parser without them looks too fast.
const line = `${"abcdefghij".repeat(8).slice(0, 79)}\n`;
const lineOf = (bytes) => {
  const message = line.repeat(Math.ceil(bytes / 81));
  const params = { name: "echo", arguments: { message } };
  return Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id: "large", method: "tools/call", params })}\n`);
};

/** One echo of 8 MB and of 64 MB, server CPU. */
export async function run({ quick, notes }) {
  const samples = new Samples();
  const large = lineOf(8 * MB);
  await interleave({
    implementations: having("stdio"),
    rounds: quick ? 1 : 3,
    repetitions: quick ? 4 : 9,
    peersEvery: 9,
    notes,
    open,
    warm: (_name, driver) => warm(driver, large),
    async measure(name, driver, repetition) {
      samples.add(name, repetition, (await costOf(driver, large)) / 1000);
    },
  });
  return [rowOf("W2b echo of 8 MB", { unit: "ms", shown: "cost" }, samples), await linearity(quick, notes)];
}

/** Raw is linear by construction; an implementation with the same ratio to it at 64 MB as at 8 MB is linear too. */
async function linearity(quick, notes) {
  const largest = new Samples();
  const perByte = new Map();
  const lines = [8, 16, 32, 64].map((megabytes) => lineOf(megabytes * MB));
  await interleave({
    implementations: having("stdio").filter(({ name }) => name === "raw" || name === "portolan"),
    rounds: quick ? 1 : 2,
    repetitions: quick ? 3 : 5,
    notes,
    open,
    warm: (_name, driver) => warm(driver, lines[0]),
    async measure(name, driver, repetition) {
      if (!perByte.has(name)) perByte.set(name, new Samples());
      for (const message of lines) {
        const microseconds = await costOf(driver, message);
        perByte.get(name).add(sizeOf(message), repetition, (microseconds / message.length) * 1000);
        if (message === lines.at(-1)) largest.add(name, repetition, microseconds / 1000);
      }
    },
  });
  for (const [name, samples] of perByte) {
    const sizes = lines.map((message) => samples.value(sizeOf(message)).toFixed(1)).join(" / ");
    notes.push(`${name}: ns per byte at 8 / 16 / 32 / 64 MB: ${sizes}`);
  }
  return rowOf("W2b echo of 64 MB", { unit: "ms", shown: "cost" }, largest);
}

const sizeOf = (message) => String(message.length);

const open = (implementation) => new StdioDriver(implementation, { maxBytes: 256 * MB });

async function warm(driver, message) {
  await driver.open();
  await costOf(driver, message);
}

async function costOf(driver, message) {
  const before = await driver.cpu();
  const bytes = await driver.exchangeBytes(message);
  if (bytes < message.length * 0.9) throw new Error(`answered ${bytes} bytes to ${message.length}`);
  return (await driver.cpu()) - before;
}
