import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runHistories, shortTiming } from "./history/run.ts";
import { World } from "./history/world.ts";

// Four clients of both eras use three processes behind a round robin, while processes, Redis and connections fail. What the
// clients saw is checked against docs/scale.md. `HISTORY_SEED=17 npm run histories` runs one history again,
// with the faults that it had; `HISTORY_TIMES=20` repeats it. `HISTORY_FIRST=200` runs 200 others.

const perBatch = 10;
const batches = 20;
const worlds = 2;

const only = process.env["HISTORY_SEED"];
const firstBatch = Math.floor(Number(process.env["HISTORY_FIRST"] ?? 0) / perBatch);
const times = Number(process.env["HISTORY_TIMES"] ?? 1);
const chosen =
  only === undefined
    ? Array.from({ length: batches }, (_, at) => firstBatch + at)
    : Array<number>(times).fill(Math.floor(Number(only) / perBatch));

const serve = { sessions: { leaseMs: 300, abandonMs: 10_000 }, keepAliveMs: 1_000, quietMs: 300 };

describe.concurrent.each(Array.from({ length: only === undefined ? worlds : 1 }, (_, at) => at))(
  "histories, part %i",
  (part) => {
    let world: World;
    beforeAll(async () => {
      world = await World.start(serve, 2_000);
    });
    afterAll(async () => {
      expect(await world.stop()).toEqual([]);
    });

    test("hold what docs/scale.md says, whatever fails", { timeout: 1_200_000 }, async () => {
      const failures: string[] = [];
      for (const batch of chosen.filter((_, at) => only !== undefined || at % worlds === part)) {
        const seeds = Array.from({ length: perBatch }, (_, at) => batch * perBatch + at);
        for (const { seed, violations, trace } of await runHistories(world, seeds, 1_000_000 + batch, shortTiming)) {
          if (violations.length === 0) continue;
          const list = violations.slice(0, 10).map(({ text }) => `  ${text}`);
          failures.push(`HISTORY_SEED=${seed}: ${violations.length} violations\n${list.join("\n")}\n${trace}`);
        }
      }
      if (failures.length > 0)
        throw new Error(`${failures.length} histories failed\n\n${failures.slice(0, 5).join("\n\n")}`);
    });
  },
);
