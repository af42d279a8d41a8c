import type { Heard, HistoryRecord, RecordedCall, RecordedSubscription } from "./record.ts";
import type { Fault, FaultKind, JournalEntry } from "./world.ts";

/** The circumstances of a history, which its clients do not see. */
export interface Circumstances {
  readonly faults: readonly Fault[];
  /** Faults shortly before the history: what they lead to may come while it runs. */
  readonly earlier: readonly Fault[];
  readonly journal: readonly JournalEntry[];
  /** Ends of processes. */
  readonly killed: readonly { readonly node: string; readonly at: number }[];
  readonly statuses: readonly StatusRecord[];
  /** The time that the processes have after a fault until everything works. */
  readonly recoverMs: number;
  /** The time after which a call hangs, once nothing fails any more. */
  readonly hangMs: number;
}

export interface StatusRecord {
  readonly client: string;
  readonly at: number;
  readonly status: number;
  readonly text: string;
}

/** Something that a history promises and did not hold, with the names that a trace of it has to show. */
export interface Violation {
  readonly text: string;
  readonly about: readonly string[];
}

const redisKinds: readonly FaultKind[] = [
  "redis pause",
  "redis restart",
  "redis flush",
  "redis fail-over",
  "redis cut",
  "stall",
];
const lossKinds: readonly FaultKind[] = ["redis restart", "redis flush", "redis fail-over"];
const closing: readonly FaultKind[] = ["terminate"];
/** After these a stream may have been without a process, and its client is told once that everything may have changed. */
const gapKinds: readonly FaultKind[] = [...redisKinds, "kill", "terminate", "freeze"];

/** Returns everything in a finished history that contradicts docs/scale.md. */
export function checkHistory(record: HistoryRecord, around: Circumstances): Violation[] {
  const found: Violation[] = record.violations.map((text) => ({ text, about: [text.split(":")[0] ?? ""] }));
  const runs = byCall(around.journal);
  for (const call of record.calls) found.push(...checkCall(call, runs.get(call.id) ?? [], record, around));
  for (const one of record.subscriptions) found.push(...checkSubscription(one, record, around));
  for (const { client, at, status, text } of around.statuses) {
    const problem = problemOfStatus(status, at, around);
    if (problem !== undefined) found.push({ text: `${client}: ${problem}: ${status} ${text}`, about: [client] });
  }
  return found;
}

function checkCall(
  call: RecordedCall,
  runs: readonly JournalEntry[],
  record: HistoryRecord,
  around: Circumstances,
): Violation[] {
  const found: Violation[] = [];
  const wrong = (text: string) => found.push({ text: `${call.id} (${call.tool}): ${text}`, about: [call.id] });
  const [end] = call.ends;
  if (call.ends.length !== 1 || !end) wrong(`expected one end, got ${call.ends.length}`);
  const started = runs.filter(({ what }) => what === "started").length;
  const finished = runs.filter(({ what }) => what === "finished").length;
  // Each round of a stateless question runs the handler from its beginning.
  const rounds = call.isStateless && call.tool === "ask" ? call.rounds : 1;
  if (started > rounds) wrong(`expected to be run ${rounds} times at most, was run ${started} times`);
  if (finished > 1) wrong(`expected one effect, got ${finished}`);
  if (!end) return found;
  const calmFrom = Math.max(call.startedAt, ...around.faults.map(({ until }) => until));
  if (end.at - calmFrom > around.hangMs) wrong(`took ${end.at - calmFrom} ms after everything was up again`);
  if (end.result !== undefined) {
    const { call: of, owner, answer } = JSON.parse(end.result);
    if (of !== call.id || owner !== `${record.seed}-${call.client}`)
      wrong(`got the result of another call: ${end.result}`);
    if (answer !== call.answered) wrong(`expected the answer ${call.answered}, got ${answer}`);
    if (finished === 0) wrong("got a result that no handler returned");
    if (call.tool === "work" && call.progress !== workSteps) wrong(`heard progress ${call.progress} of ${workSteps}`);
    if (call.tool === "hold") wrong("got a result although it never ends");
  } else if (call.cancelledAt === undefined) {
    if (!end.reason) wrong("failed without a reason");
    const during = around.faults.filter((fault) => overlaps(fault, call.startedAt, end.at, around.recoverMs));
    if (during.length === 0) wrong(`failed without a fault: ${end.status ?? ""} ${end.reason}`);
  } else if (end.status === 202 && started === 1) {
    const aborted = runs.find(({ what }) => what === "aborted");
    const isCalm = !around.faults.some((fault) =>
      overlaps(fault, call.cancelledAt ?? 0, end.at + cancelMs, around.recoverMs),
    );
    if (isCalm && (!aborted || aborted.at > end.at + cancelMs)) wrong("was cancelled, and runs on");
  }
  return found;
}

/** A cancellation reaches its handler within this time. */
const cancelMs = 1_500;

/** The number of steps of every call of `work`. */
export const workSteps = 6;

function checkSubscription(one: RecordedSubscription, record: HistoryRecord, around: Circumstances): Violation[] {
  const found: Violation[] = [];
  const wrong = (text: string, ...about: string[]) =>
    found.push({ text: `${one.client} at ${one.uri}: ${text}`, about: [one.client, ...about] });
  if (one.confirmedAt === undefined) {
    wrong("the subscription was never confirmed");
    return found;
  }
  const own = record.publications.filter(({ parent }) => parent === one.uri);
  for (const { uri } of own) {
    const times = timesHeard(one, uri);
    if (times > 1) wrong(`heard ${uri} ${times} times`, uri);
  }
  for (const uri of missedBy(one, record, around)) wrong(`did not hear ${uri}`, uri);
  if (!one.isRaw) return found;
  for (const heard of stretchesOf(one)) {
    const order = heard.flatMap(({ uri }) => own.find((publication) => publication.uri === uri) ?? []);
    for (const [at, later] of order.entries()) {
      for (const earlier of order.slice(at + 1)) {
        const isBefore = earlier.node === later.node && (earlier.passedOnAt ?? Number.POSITIVE_INFINITY) < later.at;
        if (isBefore) wrong(`heard ${later.uri} before ${earlier.uri}`, later.uri, earlier.uri);
      }
    }
  }
  const extras = one.heard.filter(({ uri }) => uri === one.uri);
  for (const { at } of extras) {
    if (!isTellingDue(around, at)) wrong("was told that everything may have changed without a cause");
  }
  const losses = [...around.earlier, ...around.faults].filter(({ kind }) => gapKinds.includes(kind)).length;
  // A stream that passes to another process during a fault may be told by both.
  const most = losses + one.connections - 1;
  if (extras.length > most) wrong(`was told ${extras.length} times that everything may have changed, not ${most}`);
  return found;
}

/** Returns the URIs of the changes that a client did not hear, and does not know that it may have missed. */
export function missedBy(
  one: RecordedSubscription,
  { publications }: HistoryRecord,
  around: Pick<Circumstances, "faults" | "earlier" | "recoverMs">,
): string[] {
  const { confirmedAt = Number.POSITIVE_INFINITY } = one;
  return publications
    .filter(({ uri, parent, at, passedOnAt }) => {
      if (parent !== one.uri || passedOnAt === undefined || at <= confirmedAt) return false;
      return timesHeard(one, uri) === 0 && !isTold(one, at, around);
    })
    .map(({ uri }) => uri);
}

/**
 * Returns how often a change was heard on one stream at most. Another stream begins after a gap: when the position of a
 * client was refused, and with each stream of a stateless client.
 */
function timesHeard(one: RecordedSubscription, uri: string): number {
  return Math.max(0, ...streamsOf(one).map((heard) => heard.filter((each) => each.uri === uri).length));
}

/** Returns what was heard, stream by stream. */
function streamsOf({ heard, gaps, uri: parent, isStateless }: RecordedSubscription): (readonly Heard[])[] {
  const told = isStateless ? heard.filter(({ uri }) => uri === parent).map(({ at }) => at) : [];
  const ends = [...gaps, ...told].sort((a, b) => a - b);
  return [...ends, Number.POSITIVE_INFINITY].map((end, at) =>
    heard.filter((each) => each.at < end && each.at >= (ends[at - 1] ?? 0)),
  );
}

/** Returns what was heard without a gap. Redis may pass on later what was published before one. */
function stretchesOf(one: RecordedSubscription): (readonly Heard[])[] {
  return streamsOf({ ...one, isStateless: true });
}

/** Returns whether the client knows that it may have missed a publication of this time. */
function isTold(
  one: RecordedSubscription,
  at: number,
  around: Pick<Circumstances, "faults" | "earlier" | "recoverMs">,
): boolean {
  if (one.gaps.some((gap) => gap >= at)) return true;
  return one.heard.some(
    (heard) => heard.uri === one.uri && heard.at >= at && (!one.isRaw || isTellingDue(around, heard.at)),
  );
}

/** Returns whether a client may be told at this time that everything may have changed. */
function isTellingDue(
  { faults, earlier, recoverMs }: Pick<Circumstances, "faults" | "earlier" | "recoverMs">,
  at: number,
): boolean {
  return isDue({ faults: [...earlier, ...faults], recoverMs }, gapKinds, at);
}

function problemOfStatus(status: number, at: number, around: Circumstances): string | undefined {
  if (status === 404 || status === 400) {
    const isLost = around.faults.some(
      ({ kind, from }) => from <= at && (status === 400 ? redisKinds : lossKinds).includes(kind),
    );
    return isLost ? undefined : "something is lost although Redis has lost nothing";
  }
  if (status >= 500) {
    return isDue(around, [...redisKinds, ...closing], at) ? undefined : "a failure of the server without a cause";
  }
  return "a refusal without a cause";
}

/** Returns whether a fault of one of these kinds explains something at this time. */
function isDue(
  { faults, recoverMs }: Pick<Circumstances, "faults" | "recoverMs">,
  kinds: readonly FaultKind[],
  at: number,
): boolean {
  return faults.some((fault) => kinds.includes(fault.kind) && overlaps(fault, at, at, recoverMs));
}

function overlaps({ from, until }: Fault, start: number, end: number, recoverMs: number): boolean {
  return from <= end && until + recoverMs >= start;
}

function byCall(journal: readonly JournalEntry[]): Map<string, JournalEntry[]> {
  const calls = new Map<string, JournalEntry[]>();
  for (const entry of journal) {
    const entries = calls.get(entry.call);
    if (entries) entries.push(entry);
    else calls.set(entry.call, [entry]);
  }
  return calls;
}

/** Returns the handlers that run although their clients have gone. */
export function checkHandlers(journal: readonly JournalEntry[], killed: Circumstances["killed"]): Violation[] {
  const found: Violation[] = [];
  for (const [call, entries] of byCall(journal)) {
    if (call === "") continue;
    for (const started of entries.filter(({ what }) => what === "started")) {
      const isOver = entries.some(
        ({ node, at, what }) => node === started.node && at >= started.at && what !== "started",
      );
      const isKilled = killed.some(({ node, at }) => node === started.node && at >= started.at);
      if (!isOver && !isKilled)
        found.push({ text: `${call}: its handler still runs in ${started.node}`, about: [call] });
    }
  }
  return found;
}

/** The keys that are documented to stay without an end. */
const lasting = [/^portolan:\{index\}(:gone)?$/, /^portolan:kv:mcp\/keys$/];

/** Returns the keys that should not be there: those without an expiry, and those of sessions that have ended. */
export function checkKeys(
  keys: readonly { readonly key: string; readonly ttlMs: number }[],
  ended: readonly string[],
): Violation[] {
  const found: Violation[] = [];
  for (const { key, ttlMs } of keys) {
    if (lasting.some((pattern) => pattern.test(key))) continue;
    if (ttlMs < 0) found.push({ text: `the key ${key} never expires`, about: [key] });
    const session = ended.find((id) => key.includes(id));
    // The last id of a log stays an hour longer, so that none is given twice.
    if (session === undefined || key.startsWith("portolan:id:")) continue;
    if (ttlMs > maxRestMs) found.push({ text: `the key ${key} outlives its session by ${ttlMs} ms`, about: [key] });
  }
  return found;
}

/** Events and marks of a session may stay for this long after it has ended. */
const maxRestMs = 60_000;
