import { having } from "../implementations.mjs";
import { interleave } from "./interleave.mjs";
import { rowOf } from "./row.mjs";
import { Samples } from "./stats.mjs";

const COUNT = 10_000;

/**
 * 10,000 progress notifications from one call, each implementation's client with its own server: wall, the CPU of both
 * processes, and how many notifications never reached the user's callback.
 * @typedef {{ wall: number, cpu: number, delivered: number }} Notified ms, µs and how many
 * @typedef {{ notify(count: number): Promise<Notified>, close(): Promise<void> }} Pair a client and its server
 * @param {string} title
 * @param {{ role: string, open(implementation: object, era: string): Pair }} subject `role` is what an implementation
 *   must have to take part
 */
export async function notifyEndToEnd(title, { role, open }, { quick, notes }) {
  const rows = [];
  const lost = {};
  for (const era of ["stateful", "stateless"]) {
    const cpu = new Samples();
    const wall = new Samples();
    await interleave({
      implementations: having(role, era),
      rounds: quick ? 1 : 3,
      repetitions: quick ? 6 : 8,
      peersEvery: 3,
      notes,
      open: (implementation) => open(implementation, era),
      warm: (_name, pair) => pair.notify(COUNT),
      async measure(name, pair, repetition) {
        const sample = await pair.notify(COUNT);
        wall.add(name, repetition, sample.wall);
        cpu.add(name, repetition, sample.cpu / 1000);
        lost[name] ??= { value: 0 };
        lost[name].value = Math.max(lost[name].value, COUNT - sample.delivered);
      },
    });
    rows.push(rowOf(`${title}, ${era}, wall`, { unit: "ms", shown: "cost" }, wall));
    rows.push(rowOf(`${title}, ${era}, CPU`, { unit: "ms", shown: "cost" }, cpu));
  }
  return [...rows, { metric: `${title}, lost`, unit: "", shown: "value", cells: lost }];
}
