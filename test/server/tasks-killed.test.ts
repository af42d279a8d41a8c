import { test } from "vitest";
import { expectNoneLost, killedTasks } from "./killed-tasks.ts";

test.each(killedTasks)(
  "a task of %s is neither lost nor run twice, at whichever write its server is killed (%s)",
  (tool, revision) => expectNoneLost(tool, revision),
  300_000,
);
