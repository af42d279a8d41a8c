import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { quickServer } from "../kit/quick-servers.mjs";
import { ChildChannel, RawPeer, type RawResponse } from "../kit/raw-peer.ts";
import { isStateless, type RevisionDate } from "../kit/revisions.ts";

const program = quickServer(fileURLToPath(new URL("fixtures/killed-tasks.mjs", import.meta.url)));
const declared = { extensions: { "io.modelcontextprotocol/tasks": {} }, elicitation: { form: {} } };
const ada = { action: "accept", content: { name: "Ada" } };

/** Each way a tool runs as a task, on both revisions. */
export const killedTasks: readonly (readonly [tool: string, revision: RevisionDate])[] = (
  ["2025-11-25", "2026-07-28"] as const
).flatMap((revision) => ["resumed", "once", "single"].map((tool) => [tool, revision] as const));

/** The storage that two processes share. */
export interface SharedStorage {
  readonly port: number;
  command(line: string): Promise<string>;
}

/** Starts the server on a folder or a Redis. It dies at a write, if one is named. */
async function start(
  folder: string,
  redis: SharedStorage | undefined,
  revision: RevisionDate,
  ...kill: string[]
): Promise<RawPeer> {
  const channel = new ChildChannel(process.execPath, [program, folder, String(redis?.port ?? "file"), ...kill]);
  onTestFinished(async () => {
    channel.child.kill("SIGKILL");
    await channel.exited;
  });
  const peer = new RawPeer(channel, { revision, capabilities: declared, answer: () => ada });
  return peer.start();
}

// biome-ignore lint/suspicious/noExplicitAny: both dialects are read
type State = any;

/** Sends a request. Undefined if the server died before it answered. */
async function ask(peer: RawPeer, method: string, params: object): Promise<RawResponse | undefined> {
  if (peer.isClosed) return undefined;
  const response = await peer.request(method, { ...params });
  return response.error?.code === 0 ? undefined : response;
}

/** Drives a task to its end. Undefined if the server died meanwhile. */
async function drive(peer: RawPeer, taskId: string): Promise<State | undefined> {
  for (;;) {
    const response = await ask(peer, "tasks/get", { taskId });
    if (!response) return undefined;
    if (response.error) throw new Error(`the task is lost: ${response.error.message}`);
    const state: State = response.result;
    if (/completed|failed|cancelled/.test(state.status)) return state;
    if (state.status !== "input_required") continue;
    if (!isStateless(peer.revision)) await ask(peer, "tasks/result", { taskId });
    else {
      const inputResponses = Object.fromEntries(Object.keys(state.inputRequests).map((key) => [key, ada]));
      await ask(peer, "tasks/update", { taskId, inputResponses });
    }
  }
}

async function textOf(peer: RawPeer, taskId: string, state: State): Promise<string | undefined> {
  if (isStateless(peer.revision)) return state.result?.content[0].text;
  return (await peer.request("tasks/result", { taskId })).result?.content[0].text;
}

function effectsIn(folder: string): Map<string, number> {
  const counts = new Map<string, number>();
  let text = "";
  try {
    text = readFileSync(join(folder, "effects"), "utf8");
  } catch {
    // Nothing ran.
  }
  for (const line of text.split("\n")) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

/** Lets the leases of all processes run out. */
async function endLeases(redis: SharedStorage): Promise<void> {
  const script = "for _, k in ipairs(redis.call('KEYS', '*task-process/*')) do redis.call('DEL', k) end";
  expect(await redis.command(`EVAL "${script}" 0`)).toContain("$-1");
}

/**
 * Calls a tool as a task on a server that dies at a write, and returns what became of the task. A folder is opened by another
 * process afterwards; on Redis the other process runs all the time.
 */
async function killed(tool: string, redis: SharedStorage | undefined, revision: RevisionDate, ...kill: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "portolan-tasks-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  await redis?.command("FLUSHALL");
  const other = redis && (await start(folder, redis, revision));
  const first = await start(folder, redis, revision, ...kill);
  const called = await ask(first, "tools/call", { name: tool, ...(!isStateless(revision) && { task: {} }) });
  const handle: string | undefined = called?.result?.taskId ?? called?.result?.task?.taskId;
  if (handle !== undefined) await drive(first, handle);
  const writes = Number((await ask(first, "tools/call", { name: "writes" }))?.result.content[0].text ?? Number.NaN);
  const isKilled = first.isClosed;
  if (!isKilled) await first.close();
  if (redis) await endLeases(redis);
  const second = other ?? (await start(folder, undefined, revision));
  // A client that never got the id finds its task in the list, where there is one.
  const listed: State[] = isStateless(revision) ? [] : (await second.request("tasks/list")).result.tasks;
  const taskId = handle ?? listed[0]?.taskId;
  const state = taskId === undefined ? undefined : await drive(second, taskId);
  const text = state && (await textOf(second, taskId, state));
  await second.close();
  return { isKilled, handle, taskId, state, text, writes, effects: effectsIn(folder) };
}

/**
 * Kills the server of a task before and after each write to its storage, which is a folder, or a Redis if one is given. Expects
 * that the task is neither lost nor run twice.
 */
export async function expectNoneLost(tool: string, revision: RevisionDate, redis?: SharedStorage): Promise<void> {
  const { writes, text: expected } = await killed(tool, redis, revision);
  expect(writes).toBeGreaterThanOrEqual(redis ? 5 : 4);
  expect(expected).toBe(tool === "single" ? "single result" : "Ada 1 2");
  let kills = 0;
  let resumed = 0;
  for (let write = 1; write <= writes; write += 1) {
    for (const when of ["before", "after"]) {
      const outcome = await killed(tool, redis, revision, String(write), when);
      const { isKilled, handle, taskId, state, text, effects } = outcome;
      const about = `killed ${when} write ${write}: ${JSON.stringify({ ...outcome, effects: [...effects] })}`;
      // A change that meets another one is written again, so that a run may have fewer writes than the one before.
      if (!isKilled && outcome.writes < write) continue;
      expect(isKilled, about).toBe(true);
      kills += 1;
      for (const [effect, times] of effects) {
        // A tool runs again from the top after a question, and where it said that it may.
        const most = effect === "resumed runs" ? 4 : effect === "once runs" ? 2 : 1;
        expect(times, `${effect}, ${about}`).toBeLessThanOrEqual(most);
      }
      // Without an id the client may call again. Nothing of the tool has run unless the task is there.
      if (taskId === undefined) {
        if (!isStateless(revision)) expect(effects.size, about).toBeLessThanOrEqual(1);
        expect(handle, about).toBeUndefined();
        continue;
      }
      expect(["completed", "failed"], about).toContain(state.status);
      if (state.status === "completed") expect(text, about).toBe(expected);
      else expect(state.statusMessage, about).toMatch(/^The process that ran the task has ended/);
      if (tool !== "resumed") continue;
      // It fails only if an effect may have happened that it does not know of.
      if (state.status === "failed") expect(state.statusMessage, about).toContain("during the effect");
      else resumed += 1;
    }
  }
  expect(kills).toBeGreaterThan(writes);
  if (tool === "resumed") expect(resumed).toBeGreaterThan(writes);
}
