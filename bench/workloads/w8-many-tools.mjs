import { Child } from "../driver/child.mjs";
import { interleave } from "../driver/interleave.mjs";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";
import { StdioDriver } from "../driver/stdio.mjs";
import { having } from "../implementations.mjs";

/**
 * tools/list of 10,000 tools, the cost of a call among 1,000 tools compared with 3, and that of the first handshake among
 * 10,000 tools compared with 3: server CPU.
 */
export async function run({ quick, notes }) {
  return [await list(quick, notes), await flatness(quick, notes), await firstInitialize(quick, notes)];
}

async function list(quick, notes) {
  const samples = new Samples();
  await interleave({
    implementations: having("stdio"),
    rounds: 1,
    repetitions: quick ? 6 : 12,
    peersEvery: 3,
    notes,
    open: (implementation) => new StdioDriver(implementation, { extraTools: 9_997 }),
    async warm(_name, driver) {
      await driver.open();
      const { response } = await driver.exchange("tools/list");
      const count = response.result?.tools?.length;
      if (count !== 10_000) throw new Error(`listed ${count} of 10,000 tools`);
    },
    async measure(name, driver, repetition) {
      const before = await driver.cpu();
      await driver.exchange("tools/list");
      samples.add(name, repetition, ((await driver.cpu()) - before) / 1000);
    },
  });
  return rowOf("W8 list of 10,000 tools", { unit: "ms", shown: "cost" }, samples);
}

async function flatness(quick, notes) {
  const samples = new Samples();
  const implementations = having("stdio");
  const keyOf = (name, index) => `${name} ${index}`;
  await interleave({
    implementations,
    rounds: quick ? 1 : 2,
    repetitions: 6,
    peersEvery: 3,
    notes,
    open(implementation) {
      const drivers = [0, 997].map((extraTools) => new StdioDriver(implementation, { extraTools }));
      return { drivers, close: () => Promise.all(drivers.map((driver) => driver.close())) };
    },
    async warm(name, { drivers }) {
      for (const driver of drivers) {
        await driver.open();
        await driver.pump("echo", countFor(name));
      }
    },
    async measure(name, { drivers }, repetition) {
      const count = countFor(name);
      for (const [index, driver] of drivers.entries()) {
        const before = await driver.cpu();
        await driver.pump("echo", count);
        samples.add(keyOf(name, index), repetition, ((await driver.cpu()) - before) / count);
      }
    },
  });
  const cells = {};
  for (const { name } of implementations) {
    cells[name] = { value: samples.ratio(keyOf(name, 1), keyOf(name, 0)) };
  }
  return { metric: "W8 call among 1,000 ÷ among 3 tools", unit: "×", shown: "value", cells };
}

/** Each measurement starts its own processes, because only the first handshake of a server is measured. */
async function firstInitialize(quick, notes) {
  const samples = new Samples();
  const implementations = having("memory").filter(({ name }) => name === "raw" || name === "portolan");
  const folders = new Map(implementations.map(({ name, folder }) => [name, folder]));
  const keyOf = (name, extraTools) => `${name} ${extraTools}`;
  await interleave({
    implementations,
    rounds: 1,
    repetitions: quick ? 5 : 11,
    notes,
    open: () => ({ close: async () => {} }),
    warm: async () => {},
    async measure(name, _subject, repetition) {
      for (const extraTools of [0, 9_997]) {
        const child = new Child(name, "memory-child.mjs", { folder: folders.get(name), era: "stateful", extraTools });
        try {
          const { cpu } = await child.ask({ run: "firstInitialize" });
          samples.add(keyOf(name, extraTools), repetition, cpu / 1000);
        } finally {
          await child.close();
        }
      }
    },
  });
  const cells = {};
  for (const { name } of implementations) {
    cells[name] = { value: samples.difference(keyOf(name, 9_997), keyOf(name, 0)) };
  }
  return { metric: "W8 first initialize among 10,000 − among 3 tools", unit: "ms", shown: "value", cells };
}

const countFor = (name) => (name === "raw" || name === "portolan" ? 20_000 : 3_000);
