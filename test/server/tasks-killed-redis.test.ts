import { onTestFinished, test } from "vitest";
import { startRedis } from "../storage/redis-server.ts";
import { expectNoneLost, killedTasks } from "./killed-tasks.ts";

test.each(killedTasks)(
  "a task of %s in Redis is neither lost nor run twice, at whichever write its server is killed (%s)",
  async (tool, revision) => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    await expectNoneLost(tool, revision, redis);
  },
  300_000,
);
