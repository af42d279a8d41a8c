import type { ActivityEntry, ActivityKind, HostEvent } from "portolan-host";
import { display } from "portolan-host";
import type { ActivityRow, Page, Verbs } from "../../api.ts";
import { type ConsoleBase, createSlices } from "../base.ts";
import { ApiRefusal } from "../failure.ts";
import { activityMs, maxExportChars, maxTitleChars, pageRows, sliceMs } from "../limits.ts";

/** The activity log as rows. */
export class ActivityRows {
  readonly #base: ConsoleBase;
  #head = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(base: ConsoleBase) {
    this.#base = base;
  }

  /** The number of the last entry. */
  get head(): number {
    return this.#head;
  }

  async load(): Promise<void> {
    for await (const { seq } of this.#base.host.activity.query({ newestFirst: true, limit: 1 })) this.#head = seq;
  }

  hear(event: HostEvent): void {
    if (event.kind !== "activity" || event.seq <= this.#head) return;
    this.#head = event.seq;
    // Many entries come at once.
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#base.publish({ kind: "activity", head: this.#head });
    }, activityMs);
  }

  async page(takes: Verbs["activity"]["takes"]): Promise<Page<ActivityRow>> {
    const { before, after, limit = pageRows, text, server, kind } = takes;
    const newestFirst = after === undefined;
    const pause = createSlices(sliceMs);
    const rows: ActivityRow[] = [];
    const query = this.#base.host.activity.query({
      limit,
      newestFirst,
      ...(before !== undefined && { before }),
      ...(after !== undefined && { after }),
      ...(text !== undefined && text !== "" && { text }),
      ...(server !== undefined && { server }),
      ...(kind !== undefined && { kinds: [kind as ActivityKind] }),
    });
    for await (const entry of query) {
      rows.push(toRow(entry));
      await pause();
    }
    if (newestFirst) rows.reverse();
    const last = rows.at(-1)?.seq ?? 0;
    this.#head = Math.max(this.#head, last);
    return { rows, first: this.#head === 0 ? 0 : 1, last: this.#head };
  }

  async verify(): Promise<Verbs["activity.verify"]["gives"]> {
    const { activity } = this.#base.host;
    await activity.flush();
    const verdict = await activity.verify();
    if (!verdict.ok) {
      const { part, line } = verdict.at;
      const entries = this.#head;
      return { isIntact: false, message: `${verdict.reason} (${part}, line ${line})`, entries };
    }
    const { entries, blocks } = verdict;
    return { isIntact: true, message: `${entries} entries in ${blocks} sealed blocks, none of them changed`, entries };
  }

  async export(): Promise<Verbs["activity.export"]["gives"]> {
    const pause = createSlices(sliceMs);
    const lines: string[] = [];
    let chars = 0;
    for await (const entry of this.#base.host.activity.query()) {
      const line = `${JSON.stringify(entry)}\n`;
      chars += line.length;
      if (chars > maxExportChars) {
        throw new ApiRefusal("too-large", "The log is too long for a page.", { next: "Run: portolan log --json" });
      }
      lines.push(line);
      await pause();
    }
    return { name: `portolan-log-${new Date().toISOString().slice(0, 10)}.jsonl`, text: lines.join("") };
  }
}

const rowMembers = new Set(["seq", "at", "kind", "server"]);

function toRow(entry: ActivityEntry): ActivityRow {
  const { seq, at, kind, server } = entry;
  const detail = Object.fromEntries(Object.entries(entry).filter(([member]) => !rowMembers.has(member)));
  const outcome = outcomeOf(entry);
  return {
    seq,
    at: Date.parse(at),
    kind,
    title: display(titleOf(entry), { maxChars: maxTitleChars }),
    detail,
    ...(server !== undefined && { server }),
    ...(outcome !== undefined && { how: outcome }),
  };
}

/** The member of an entry that says best what it is about. */
function titleOf(entry: ActivityEntry): string {
  const { name, message, host, app, model, of, reason } = entry;
  const title = [name, message, host, app, model, of, reason].find((each) => typeof each === "string");
  return typeof title === "string" ? title : "";
}

const outcomes: { readonly [word: string]: string } = {
  allow: "allowed",
  deny: "refused",
  unanswered: "not answered",
  accept: "accepted",
  decline: "declined",
  cancel: "cancelled",
};

/** How something ended, in one word; undefined if an entry does not say it. */
function outcomeOf(entry: ActivityEntry): string | undefined {
  const { how, effect, action, step, state, allow, result } = entry;
  const word = [how, effect, action, step, state].find((each) => typeof each === "string");
  if (typeof word === "string") return Object.hasOwn(outcomes, word) ? outcomes[word] : word;
  if (typeof allow === "boolean") return allow ? "allowed" : "refused";
  if (typeof result !== "object" || result === null) return undefined;
  return "isError" in result && result.isError === true ? "failed" : "done";
}
