import { interleave } from "../driver/interleave.mjs";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";
import { StdioDriver } from "../driver/stdio.mjs";
import { having } from "../implementations.mjs";

const COUNT = 10_000;
const params = { name: "notify", arguments: { n: COUNT }, _meta: { progressToken: "progress" } };

/**
 * 10,000 progress notifications from one call over stdio: server CPU and wall end to end. Lost means: not received before
 * the response, because then a client forgets the token.
 */
export async function run({ quick, notes }) {
  const cpu = new Samples();
  const wall = new Samples();
  const lost = {};
  await interleave({
    implementations: having("stdio"),
    rounds: quick ? 1 : 3,
    repetitions: quick ? 6 : 9,
    peersEvery: 3,
    notes,
    open: (implementation) => new StdioDriver(implementation),
    async warm(_name, driver) {
      await driver.open();
      await driver.exchange("tools/call", params);
    },
    async measure(name, driver, repetition) {
      const cpuBefore = await driver.cpu();
      const before = performance.now();
      const { response, notifications } = await driver.exchange("tools/call", params);
      wall.add(name, repetition, performance.now() - before);
      cpu.add(name, repetition, ((await driver.cpu()) - cpuBefore) / 1000);
      if (response.result?.content[0].text !== "done") throw new Error(JSON.stringify(response).slice(0, 200));
      lost[name] ??= { value: 0 };
      lost[name].value = Math.max(lost[name].value, COUNT - notifications);
    },
  });
  return [
    rowOf("W7 10,000 notifications, CPU", { unit: "ms", shown: "cost" }, cpu),
    rowOf("W7 10,000 notifications, wall", { unit: "ms", shown: "cost" }, wall),
    { metric: "W7 notifications lost", unit: "", shown: "value", cells: lost },
  ];
}
