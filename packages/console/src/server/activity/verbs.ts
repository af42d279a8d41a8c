import type { ConsoleBase } from "../base.ts";
import { maxDoneRows } from "../limits.ts";
import { name, optional, text, whole } from "../takes.ts";
import { pageMembers, reads, type VerbTable } from "../verbs.ts";
import type { ActivityRows } from "./activity.ts";
import { doneCalls } from "./done.ts";

export type ActivityVerb = "activity" | "activity.done" | "activity.verify" | "activity.export";

/** `conversationOf` returns the conversation of a run. */
export function activityVerbs(
  base: ConsoleBase,
  rows: ActivityRows,
  conversationOf: (run: string) => string | undefined,
): VerbTable<ActivityVerb> {
  return {
    activity: reads(
      { ...pageMembers, text: optional(text(1_000)), server: optional(name), kind: optional(name) },
      (takes) => rows.page(takes),
    ),
    "activity.done": reads(
      { limit: optional(whole(1, maxDoneRows)), text: optional(text(1_000)), server: optional(name) },
      (takes) => doneCalls(base, conversationOf, takes),
    ),
    "activity.verify": reads({}, () => rows.verify()),
    "activity.export": reads({}, () => rows.export()),
  };
}
