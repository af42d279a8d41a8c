import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { ToolResultContent } from "portolan";
import { createServer } from "portolan/server";
import type { ApprovalQuestion, Rule, RunOptions, RunState } from "portolan-host";
import { describe, expect, test, vi } from "vitest";
import { allow, createModel, inMemory, makeFolder, makeHost, type Step } from "./kit.ts";

const program = fileURLToPath(new URL("fixtures/checkpoint-host.mjs", import.meta.url));
const ids = ["w1", "r1", "r2", "w2", "w3"];

/** Runs or continues the task in a process of its own; undefined if the process was killed. */
async function runProcess(folder: string, killAt = 0, deadly = "") {
  const child = spawn(process.execPath, [program, folder, `${killAt}`, deadly], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output, [code, signal]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  // The server may work on for a moment.
  await expect.poll(() => countServers(folder), { interval: 10, timeout: 20_000 }).toBe(0);
  if (signal === "SIGKILL") return undefined;
  expect(code).toBe(0);
  return JSON.parse(output) as { reason: string; text: string; moments: number };
}

function readState(folder: string): RunState {
  return JSON.parse(readFileSync(join(folder, "state.json"), "utf8"));
}

function readNotes(folder: string): string[] {
  const file = join(folder, "calls");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
}

/** Returns the number of servers that run. */
function countServers(folder: string): number {
  const notes = readNotes(folder);
  return notes.filter((note) => note === "begin").length - notes.filter((note) => note === "end").length;
}

/** Returns how often the server got each call. */
function countCalls(folder: string): number[] {
  const calls = readNotes(folder);
  return ids.map((id) => calls.filter((call) => call === id).length);
}

/** Checks a run that was continued to its end: no call was made twice, and the model knows which may not have been made. */
function checkEnd(folder: string) {
  const { messages, pending } = readState(folder);
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : [content]));
  const results = blocks.filter((block): block is ToolResultContent => block.type === "tool_result");
  const counts = countCalls(folder);
  expect(pending).toEqual([]);
  expect(results.map(({ toolUseId }) => toolUseId)).toEqual(ids);
  expect(counts.filter((count) => count > 1)).toEqual([]);
  const uncertain = results.filter(({ isError }) => isError);
  for (const result of uncertain) expect(JSON.stringify(result)).toContain("It may have taken effect");
  for (const [at, { isError, content }] of results.entries()) {
    if (isError) continue;
    expect([counts[at], JSON.stringify(content)]).toEqual([1, expect.stringContaining(`did ${ids[at]}`)]);
  }
  return uncertain.map(({ toolUseId }) => toolUseId);
}

describe("a run in a process that is killed", () => {
  test("makes no call twice, before and after each checkpoint", async () => {
    const whole = await makeFolder();
    const complete = await runProcess(whole);
    expect(complete).toMatchObject({ reason: "done", text: "turn 2" });
    expect(checkEnd(whole)).toEqual([]);
    const { moments = 0 } = complete ?? {};
    expect(moments).toBeGreaterThanOrEqual(24);
    const uncertain: string[][] = [];
    for (let first = 1; first <= moments; first += 1) {
      const folder = await makeFolder();
      // Two results that come together may share a checkpoint.
      if (await runProcess(folder, first)) expect(first).toBeGreaterThan(24);
      expect(await runProcess(folder)).toMatchObject({ reason: "done", text: "turn 2" });
      uncertain.push(checkEnd(folder));
    }
    // Nothing is uncertain but the calls that were about to be sent, or had no stored result.
    expect(uncertain.filter((calls) => calls.length === 0).length).toBeGreaterThanOrEqual(8);
    expect(uncertain.flat().sort()).toEqual(expect.arrayContaining(ids));
  }, 120_000);

  test("makes no call twice if it is killed again and again", async () => {
    for (const killAt of [4, 5]) {
      const folder = await makeFolder();
      let kills = 0;
      for (; (await runProcess(folder, killAt)) === undefined; kills += 1) expect(kills).toBeLessThan(20);
      expect(kills).toBeGreaterThan(2);
      checkEnd(folder);
    }
  }, 60_000);

  test.each(ids)(
    "makes no call twice if it is killed while the server works on %s",
    async (deadly) => {
      const folder = await makeFolder();
      expect(await runProcess(folder, 0, deadly)).toBe(undefined);
      expect(
        readState(folder)
          .pending.filter(({ begun }) => begun)
          .map(({ id }) => id),
      ).toContain(deadly);
      expect(await runProcess(folder)).toMatchObject({ reason: "done" });
      expect(checkEnd(folder)).toContain(deadly);
      expect(countCalls(folder)[ids.indexOf(deadly)]).toBe(1);
    },
    30_000,
  );
});

/** Creates a server that records its actions in `did`. */
function createWorker() {
  const did: string[] = [];
  const input = { type: "object", properties: { id: { type: "string" } } } as const;
  const run = ({ id = "" }: { id?: string }) => {
    did.push(id);
    return `did ${id}`;
  };
  const server = createServer({ name: "worker", version: "1.0.0" })
    .tool("read", { input, annotations: { readOnlyHint: true, openWorldHint: false }, run })
    .tool("write", { input, run })
    .resource("worker://a", {
      name: "a",
      read() {
        did.push("resource");
        return "a";
      },
    });
  return { did, server };
}

async function workerHost(steps: Step[], rules: readonly Rule[] = allow) {
  const { did, server } = createWorker();
  const model = createModel(...steps);
  const asked: ApprovalQuestion[] = [];
  const states: RunState[] = [];
  const host = await makeHost({
    servers: { w: inMemory(server, { trustContent: true }) },
    model,
    policy: rules,
    answers: {
      approve: (question) => {
        asked.push(question);
        return true;
      },
    },
  });
  const checkpoint = async (state: RunState) => void states.push(JSON.parse(JSON.stringify(state)));
  return { host, did, model, asked, states, checkpoint };
}

const pendingOf = (state: RunState) => state.pending.map(({ id, begun = false }) => [id, begun]);

test("a checkpoint is stored before each call is sent, after each result and after each turn", async () => {
  const calls: [string, object][] = [
    ["w__write", { id: "1" }],
    ["w__read", { id: "2" }],
    ["w__read", { id: "3" }],
  ];
  const { host, states, checkpoint, did } = await workerHost([{ call: calls }, { say: "end" }]);
  const before: string[][] = [];
  const run = host.run("go", {
    async checkpoint(state) {
      before.push([...did]);
      await checkpoint(state);
    },
  });
  expect((await run.result).reason).toBe("done");
  expect(pendingOf(states[0] as RunState)).toEqual([]);
  expect(states[0]?.messages).toMatchObject([{ role: "user" }]);
  expect(states.slice(1).map(pendingOf).slice(0, 4)).toEqual([
    [
      ["t1.0", false],
      ["t1.1", false],
      ["t1.2", false],
    ],
    [
      ["t1.0", true],
      ["t1.1", false],
      ["t1.2", false],
    ],
    [
      ["t1.1", false],
      ["t1.2", false],
    ],
    [
      ["t1.1", true],
      ["t1.2", true],
    ],
  ]);
  expect(before.slice(1, 5)).toEqual([[], [], ["1"], ["1"]]);
  expect(states.at(-1)).toMatchObject({ turns: 2, calls: 3, pending: [], results: [] });
  expect(states.at(-1)?.messages).toHaveLength(4);
});

test("a call that waits for the user has not begun", async () => {
  const { host, states, checkpoint, asked, did } = await workerHost([{ call: [["w__write", { id: "1" }]] }], []);
  let stored = 0;
  const run = host.run("go", {
    checkpoint,
    answers: {
      approve: (question) => {
        asked.push(question);
        stored = states.length;
        return true;
      },
    },
  });
  expect((await run.result).reason).toBe("done");
  expect(states.slice(0, stored).some(({ pending }) => pending.some(({ begun }) => begun))).toBe(false);
  expect(pendingOf(states[stored] as RunState)).toEqual([["t1.0", true]]);
  expect([asked.length, did]).toEqual([1, ["1"]]);
});

test("the calls of a group do not wait for one that the user is asked about", async () => {
  const policy: Rule[] = [{ match: "w.read", args: { id: { equals: "2" } }, then: "ask" }, { then: "allow" }];
  const { did, server } = createWorker();
  const call: [string, object][] = ["1", "2", "3"].map((id) => ["w__read", { id }]);
  const host = await makeHost({
    servers: { w: inMemory(server, { trustContent: true }) },
    model: createModel({ call }, { say: "end" }),
    policy,
    answers: { approve: "later" },
  });
  const states: RunState[] = [];
  const run = host.run("go", { checkpoint: async (state) => void states.push(state) });
  await vi.waitFor(() => expect(did).toEqual(["1", "3"]));
  await vi.waitFor(() => expect(host.questions).toHaveLength(1));
  await vi.waitFor(() => expect(states.at(-1)?.pending).toEqual([{ id: "t1.1", name: "w__read", input: { id: "2" } }]));
  await host.answer(host.questions[0]?.id ?? "", true);
  expect(await run.result).toMatchObject({ reason: "done", state: { calls: 3 } });
  const results = (await run.result).state.messages[2]?.content as ToolResultContent[];
  expect(results.map(({ toolUseId }) => toolUseId)).toEqual(["t1.0", "t1.1", "t1.2"]);
});

test("a run whose checkpoint fails sends no call and ends as failed", async () => {
  const call: [string, object][] = [
    ["w__read", { id: "1" }],
    ["w__read", { id: "2" }],
  ];
  const { host, did } = await workerHost([{ call }]);
  const run = host.run("go", {
    async checkpoint({ pending }) {
      if (pending.some(({ begun }) => begun)) throw new Error("the disk is full");
    },
  });
  const done = await run.result;
  expect(done).toMatchObject({ reason: "failed", error: { code: "store-failed" } });
  expect(done.error?.message).toContain("the disk is full");
  expect(pendingOf(done.state)).toEqual([
    ["t1.0", false],
    ["t1.1", false],
  ]);
  expect(did).toEqual([]);
});

test("a run can be cancelled while its checkpoint is being stored, and sends nothing then", async () => {
  const { host, did } = await workerHost([{ call: [["w__write", { id: "1" }]] }]);
  let isBegun = false;
  const run = host.run("go", {
    checkpoint({ pending }) {
      isBegun = pending.some(({ begun }) => begun);
      return isBegun ? new Promise(() => {}) : Promise.resolve();
    },
  });
  await vi.waitFor(() => expect(isBegun).toBe(true));
  run.cancel();
  const { reason, state } = await run.result;
  expect([reason, pendingOf(state), did]).toEqual(["cancelled", [["t1.0", false]], []]);
});

/** Returns the state of a run that was interrupted when its first call had begun. */
async function interrupted(call: [string, object][]): Promise<RunState> {
  const { host, states, checkpoint } = await workerHost([{ call }]);
  await host.run("go", { checkpoint }).result;
  const state = states.find(({ pending }) => pending[0]?.begun);
  if (!state) throw new Error("no state has a call that has begun");
  return state;
}

const twoWrites: [string, object][] = [
  ["w__write", { id: "1" }],
  ["w__write", { id: "2" }],
];

test("the model hears of a call that may have run, and the call is not sent again", async () => {
  const state = await interrupted(twoWrites);
  const { host, did, model } = await workerHost([{ say: "end" }]);
  const run = host.run(state);
  const results: unknown[] = [];
  for await (const event of run.events()) if (event.type === "tool" && event.stage === "result") results.push(event);
  expect((await run.result).reason).toBe("done");
  expect(did).toEqual(["2"]);
  expect(results).toMatchObject([{ id: "t1.0", mayHaveRun: true, result: { isError: true } }, { id: "t1.1" }]);
  const [first, second] = (model.asked[0]?.messages.at(-1)?.content ?? []) as ToolResultContent[];
  expect(JSON.stringify(first)).toMatch(/its end is not known. It may have taken effect: check before you repeat it/);
  expect(second?.isError).toBe(undefined);
});

test("a conversation that goes on with another text says which call may have run", async () => {
  const state = await interrupted(twoWrites);
  const { host, did, model } = await workerHost([{ say: "end" }]);
  await host.run("never mind", { history: state }).result;
  const [first, second] = (model.asked[0]?.messages.at(-2)?.content ?? []) as ToolResultContent[];
  expect(JSON.stringify(first)).toContain("It may have taken effect");
  expect(JSON.stringify(second)).toContain("was not made");
  expect(did).toEqual([]);
});

test("with ask-again the user is asked even if a rule or a grant allows the call, and the answer counts once", async () => {
  const state = await interrupted(twoWrites);
  const { host, did, asked } = await workerHost([{ say: "end" }]);
  await host.run(state, { uncertain: "ask-again" }).result;
  expect(asked).toMatchObject([{ callId: "t1.0", mayHaveRun: true, isOnce: true }]);
  expect(asked[0]?.reason).toMatch(/^The call was sent before, and its end is not known: it may have taken effect\./);
  expect(did).toEqual(["1", "2"]);

  const other = await workerHost([{ call: [["w__write", { id: "0" }]] }, { say: "granted" }, { say: "end" }], []);
  const grantAll: RunOptions["answers"] = { approve: () => ({ allow: true, for: "session" }) };
  await other.host.run("go", { answers: grantAll }).result;
  expect(other.host.grants.list()).toHaveLength(1);
  await other.host.run(state, { uncertain: "ask-again" }).result;
  expect(other.asked.map(({ callId }) => callId)).toEqual(["t1.0"]);
  expect(other.did).toEqual(["0", "1", "2"]);
});

test("with ask-again a denying rule still denies, a no is told with the doubt, and nobody to ask means no", async () => {
  const state = await interrupted([["w__write", { id: "1" }]]);
  const doubt = /It was sent before the run was interrupted, and may have taken effect then/;
  const denying = await workerHost([{ say: "end" }], [{ then: "deny" }]);
  const answerNo = await workerHost([{ say: "end" }]);
  const { server, did } = createWorker();
  const model = createModel({ say: "end" });
  const mute = await makeHost({ servers: { w: inMemory(server) }, model, policy: allow });
  await denying.host.run(state, { uncertain: "ask-again" }).result;
  await answerNo.host.run(state, { uncertain: "ask-again", answers: { approve: () => false } }).result;
  await mute.run(state, { uncertain: "ask-again" }).result;
  expect([denying.did, answerNo.did, did, denying.asked]).toEqual([[], [], [], []]);
  for (const { asked } of [denying.model, answerNo.model, model]) {
    expect(JSON.stringify(asked[0]?.messages.at(-1))).toMatch(doubt);
  }
});

test("a decision from before a call began does not count for it", async () => {
  const state = await interrupted([["w__write", { id: "1" }]]);
  const { host, did } = await workerHost([{ say: "end" }]);
  const pausing: RunOptions = { uncertain: "ask-again", approvals: "pause" };
  expect(() => host.run(state, { ...pausing, decisions: { "t1.0": true } })).toThrow('the call "t1.0" has begun since');
  const paused = await host.run(state, pausing).result;
  expect(paused).toMatchObject({ reason: "approval", state: { pending: [{ begun: true }] } });
  expect(did).toEqual([]);
  const done = await host.run(paused.state, { ...pausing, decisions: { "t1.0": true } }).result;
  expect([done.reason, did]).toEqual(["done", ["1"]]);
});

test("a run that continues from the checkpoint of its last turn is done, and asks the model nothing", async () => {
  const { host, model, states, checkpoint } = await workerHost([{ say: "the end" }, { say: "more" }]);
  await host.run("go", { checkpoint }).result;
  const done = await host.run(states.at(-1) as RunState).result;
  expect(done).toMatchObject({ reason: "done", text: "the end", state: { turns: 1 } });
  expect([states.at(-1)?.isDone, done.state.isDone, model.asked.length]).toEqual([true, undefined, 1]);
  expect((await host.run("and now", { history: states.at(-1) as RunState }).result).text).toBe("more");
});

test("a resource that was being read is not read again by itself", async () => {
  const state = await interrupted([["read_resource", { server: "w", uri: "worker://a" }]]);
  const told = await workerHost([{ say: "end" }]);
  await told.host.run(state).result;
  expect([told.did, told.asked]).toEqual([[], []]);
  const again = await workerHost([{ say: "end" }]);
  await again.host.run(state, { uncertain: "ask-again" }).result;
  expect(again.asked).toMatchObject([{ action: { kind: "resource" }, isOnce: true }]);
  expect(again.did).toEqual(["resource"]);
});

test("beforeSend holds a call back until it resolves, and a rejection makes no call", async () => {
  const { host, did } = await workerHost([]);
  const failing = host.callTool("w", "write", { id: "1" }, { beforeSend: () => Promise.reject(new Error("not yet")) });
  await expect(failing).rejects.toThrow("not yet");
  let seen: string[] = ["nothing"];
  const beforeSend = async () => {
    seen = [...did];
  };
  await host.callTool("w", "write", { id: "2" }, { beforeSend });
  expect([seen, did]).toEqual([[], ["2"]]);
});
