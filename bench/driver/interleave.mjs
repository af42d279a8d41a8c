/**
 * Opens and warms one subject per implementation, measures all of them in turn `repetitions` times, and starts afresh each round,
 * so that no ratio depends on one process. Peers, which are slow and have no budget, may take part only in every n-th
 * repetition. One that fails is left out, and the reason is noted.
 */
export async function interleave({ implementations, rounds, repetitions, peersEvery = 1, open, warm, measure, notes }) {
  const failed = new Set();
  const attempt = async (name, work) => {
    if (failed.has(name)) return;
    try {
      await work();
    } catch (error) {
      if (name === "raw") throw error;
      failed.add(name);
      notes.push(`${name}: ${error.message.split("\n")[0].slice(0, 200)}`);
    }
  };
  for (let round = 0; round < rounds; round++) {
    const subjects = new Map();
    try {
      for (const implementation of implementations) {
        const { name } = implementation;
        await attempt(name, async () => {
          subjects.set(name, open(implementation));
          await warm(name, subjects.get(name));
        });
      }
      for (let repetition = 0; repetition < repetitions; repetition++) {
        const order = repetition % 2 === 0 ? implementations : [...implementations].reverse();
        for (const { name } of order) {
          if (repetition % peersEvery !== 0 && name !== "raw" && name !== "portolan") continue;
          await attempt(name, () => measure(name, subjects.get(name), round * repetitions + repetition));
        }
      }
    } finally {
      for (const subject of subjects.values()) await subject.close();
    }
  }
}
