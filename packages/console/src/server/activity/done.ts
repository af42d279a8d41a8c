import type { ActivityEntry } from "portolan-host";
import { display } from "portolan-host";
import type { DoneRow, Verbs } from "../../api.ts";
import { type ConsoleBase, createSlices } from "../base.ts";
import { doneRows, maxDoneEntries, maxWordsChars, sliceMs } from "../limits.ts";
import { argumentWords } from "./argument-words.ts";

/** Returns the calls of tools that were carried out, newest first, each with its end and with who allowed it. */
export async function doneCalls(
  base: ConsoleBase,
  conversationOf: (run: string) => string | undefined,
  { limit = doneRows, text = "", server }: Verbs["activity.done"]["takes"],
): Promise<Verbs["activity.done"]["gives"]> {
  const pause = createSlices(sliceMs);
  const running = new Set(base.host.calls.map(({ id }) => id));
  const ends = new Map<string, ActivityEntry>();
  const decisions = new Map<string, ActivityEntry>();
  const calls: ActivityEntry[] = [];
  let entries = 0;
  const query = base.host.activity.query({
    ...{ newestFirst: true, kinds: ["call", "result", "decision"], limit: maxDoneEntries },
    ...(server !== undefined && { server }),
  });
  // A decision is older than its call, and a result is newer: the entries that are read after the last row decide on it.
  let rest = restEntries;
  for await (const entry of query) {
    entries += 1;
    const { kind, id } = entry;
    if (id === undefined) continue;
    if (kind === "result") ends.set(id, ends.get(id) ?? entry);
    else if (kind === "decision") decisions.set(id, decisions.get(id) ?? entry);
    else if (calls.length <= limit && isSent(entry) && fits(entry, text)) calls.push(entry);
    if (calls.length > limit && --rest < 0) break;
    await pause();
  }
  const rows = calls.slice(0, limit).flatMap((call): DoneRow[] => {
    const decision = decisions.get(call.id ?? "");
    const end = ends.get(call.id ?? "");
    // A call that was refused, or that nobody answered for, was never sent.
    if (decision && decision["effect"] !== "allow" && !end) return [];
    return [toRow(base, call, end, decision, running, conversationOf)];
  });
  return { rows, hasMore: calls.length > limit || entries === maxDoneEntries };
}

const restEntries = 500;

/** A call without a time that ended with an error was never sent. */
function isSent({ how, ms }: ActivityEntry): boolean {
  return how === undefined || ms !== undefined;
}

function fits({ server = "", name = "", args }: ActivityEntry, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return wanted === "" || `${server} ${name} ${argumentWords(args, 10_000)}`.toLowerCase().includes(wanted);
}

function toRow(
  { host }: ConsoleBase,
  call: ActivityEntry,
  end: ActivityEntry | undefined,
  decision: ActivityEntry | undefined,
  running: ReadonlySet<string>,
  conversationOf: (run: string) => string | undefined,
): DoneRow {
  const { seq, at, id = String(seq), server = "", name = "", run, args } = call;
  const by = call["by"] === "user" ? "user" : call["by"] === "app" ? "app" : "model";
  const ended = end ?? call;
  const how = howOf(ended, running.has(id));
  const said = how === "failed" || how === "cancelled" ? reasonOf(ended) : undefined;
  const conversation = typeof run === "string" ? conversationOf(run) : undefined;
  const app = typeof call["app"] === "string" ? call["app"] : undefined;
  // The description that an app gave of its tool went with the app.
  const annotations = app === undefined ? host.catalog.tool(server, name)?.definition.annotations : undefined;
  return {
    ...{ id, seq, at: Date.parse(at), server, tool: name, by, how },
    words: argumentWords(args, maxWordsChars),
    allowed: by === "user" && !decision ? "hand" : allowedBy(decision),
    effect: annotations?.readOnlyHint === true ? "reads" : annotations === undefined ? "unknown" : "changes",
    ...(app !== undefined && { app }),
    ...(typeof ended["ms"] === "number" && { ms: ended["ms"] }),
    ...(said !== undefined && { reason: said }),
    ...(typeof run === "string" && { run }),
    ...(conversation !== undefined && { conversation }),
  };
}

function howOf(entry: ActivityEntry, isRunning: boolean): DoneRow["how"] {
  const { how, result } = entry;
  if (how === "failed" || how === "cancelled") return how;
  if (typeof result !== "object" || result === null) return isRunning ? "running" : "unknown";
  return "isError" in result && result.isError === true ? "failed" : "done";
}

function allowedBy(decision: ActivityEntry | undefined): DoneRow["allowed"] {
  // Only what a rule decides leaves no decision in the log.
  if (decision === undefined) return "rule";
  const { grant, scope, by } = decision;
  if (by !== "user") return grant === undefined ? "rule" : "grant";
  return scope === "session" || scope === "always" ? scope : "once";
}

/** Why a call failed: what the host says, or the first text of the server's result. */
function reasonOf({ message, result }: ActivityEntry): DoneRow["reason"] {
  if (typeof message === "string") return { by: "host", text: shorten(message) };
  if (typeof result !== "object" || result === null || !("content" in result)) return undefined;
  const content: readonly unknown[] = Array.isArray(result.content) ? result.content : [];
  for (const block of content) {
    if (typeof block !== "object" || block === null || !("text" in block)) continue;
    const { text } = block;
    if (typeof text === "string") return { by: "server", text: shorten(text) };
    if (typeof text === "object" && text !== null && "head" in text && typeof text.head === "string") {
      return { by: "server", text: shorten(text.head) };
    }
  }
  return undefined;
}

function shorten(text: string): string {
  return display(text, { maxChars: maxWordsChars });
}
