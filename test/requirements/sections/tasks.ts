import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { metaKey, type RawPeer, type RawPeerOptions } from "../../kit/raw-peer.ts";
import { isStateless } from "../../kit/revisions.ts";
import type { Open, Requirement } from "../requirement.ts";
import { type Entry, listAll, listedTool, offeredBy } from "../results.ts";

const server = new URL("../servers/tasks.mjs", import.meta.url);
const id = "io.modelcontextprotocol/tasks";
const related = metaKey("related-task");
const questions = { elicitation: { form: {} }, sampling: {} };
const declared = { extensions: { [id]: {} } };

/** Opens a peer that knows tasks in the form of its revision. */
const openPeer = (open: Open, more: Partial<RawPeerOptions> = {}) =>
  open({ server, capabilities: { ...declared, ...questions }, ...more });

/** Calls a tool as a task, and returns the task. */
async function start(peer: RawPeer, name: string, args: JsonObject = {}, task: JsonObject = {}): Promise<Entry> {
  const params = { name, arguments: args, ...(!isStateless(peer.revision) && { task }) };
  const { result, error } = await peer.request("tools/call", params);
  if (error) throw new Error(`${name}: ${error.message}`);
  return isStateless(peer.revision) ? result : result.task;
}

async function get(peer: RawPeer, taskId: string): Promise<Entry> {
  const { result, error } = await peer.request("tasks/get", { taskId });
  if (error) throw new Error(`tasks/get: ${error.message}`);
  return result;
}

/** Polls until the state fits. */
async function until(peer: RawPeer, taskId: string, fits: (state: Entry) => boolean): Promise<Entry> {
  for (;;) {
    const state = await get(peer, taskId);
    if (fits(state)) return state;
  }
}

const hasStatus = (peer: RawPeer, taskId: string, status: string) => until(peer, taskId, (s) => s.status === status);
const answered = (name: string) => ({ action: "accept", content: { name } });
const update = (peer: RawPeer, taskId: string, inputResponses: JsonObject) =>
  peer.request("tasks/update", { taskId, inputResponses });
const release = (peer: RawPeer, key: string) => peer.request("tools/call", { name: "open", arguments: { key } });
/** Waits for an event of the server. */
async function happened(peer: RawPeer, event: string): Promise<void> {
  for (;;) {
    const { result } = await peer.request("tools/call", { name: "events" });
    if (JSON.parse(result.content[0].text).includes(event)) return;
  }
}
const isoDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Requirements on servers with tasks. */
export const tasks: readonly Requirement[] = [
  {
    row: "X10",
    says: "the server declares calls, cancel and list, and each tool its support",
    async test(open) {
      const peer = await openPeer(open);
      const capabilities = await offeredBy(peer);
      expect(capabilities.tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } });
      expect((await listedTool(peer, "render")).execution).toEqual({ taskSupport: "optional" });
      expect((await listedTool(peer, "choose")).execution).toEqual({ taskSupport: "optional" });
      expect((await listedTool(peer, "must")).execution).toEqual({ taskSupport: "required" });
      expect(await listedTool(peer, "plain")).not.toHaveProperty("execution");
    },
  },
  {
    row: "X12",
    says: "a tool without tasks is not called as one, and an unknown tool stays unknown",
    async test(open) {
      const peer = await openPeer(open);
      const call = (name: string) => peer.request("tools/call", { name, task: {} });
      expect((await call("plain")).error).toMatchObject({ code: -32_601, message: expect.stringContaining("plain") });
      expect((await call("nowhere")).error?.code).toBe(-32_602);
    },
  },
  {
    row: "X13",
    says: "a tool that requires a task is called as one only, an optional one in both ways",
    async test(open) {
      const peer = await openPeer(open);
      expect((await peer.request("tools/call", { name: "must" })).error?.code).toBe(-32_601);
      expect((await start(peer, "must")).status).toBe("working");
      await release(peer, "x13");
      const plain = await peer.request("tools/call", { name: "render", arguments: { key: "x13" } });
      expect(plain.result.content).toEqual([{ type: "text", text: "rendered x13" }]);
    },
  },
  {
    row: "X14",
    says: "an older revision has plain calls, and no tools that need more",
    async test(open) {
      const peer = await openPeer(open);
      expect(await offeredBy(peer)).not.toHaveProperty("tasks");
      const tools = await listAll(peer, "tools/list", "tools");
      expect(tools.map((tool) => tool.name)).toContain("render");
      expect(tools.map((tool) => tool.name)).not.toContain("must");
      for (const tool of tools) expect(tool).not.toHaveProperty("execution");
      expect((await peer.request("tools/call", { name: "must", task: {} })).error).toMatchObject({
        code: -32_602,
        message: "Unknown tool: must",
      });
      await release(peer, "x14");
      const { result } = await peer.request("tools/call", { name: "render", arguments: { key: "x14" }, task: {} });
      expect(result.content[0].text).toBe("rendered x14");
      expect((await peer.request("tasks/get", { taskId: "x" })).error?.code).toBe(-32_601);
    },
  },
  {
    row: "X15",
    says: "a call as a task is answered before its work is done, with an id of its own",
    async test(open) {
      const peer = await openPeer(open);
      const [one, two] = [await start(peer, "render", { key: "x15" }), await start(peer, "render", { key: "x15" })];
      for (const task of [one, two]) expect(task).toMatchObject({ taskId: expect.any(String), status: "working" });
      expect(one.taskId).not.toBe(two.taskId);
    },
  },
  {
    row: "X16",
    says: "every task has dates, its actual ttl and a poll interval",
    async test(open) {
      const peer = await openPeer(open);
      const created = await start(peer, "render", { key: "x16" }, { ttl: 5_000 });
      expect(created).toMatchObject({ ttl: 5_000, pollInterval: 20, createdAt: expect.stringMatching(isoDate) });
      expect((await start(peer, "render", { key: "x16" })).ttl).toBe(3_600_000);
      expect((await start(peer, "render", { key: "x16" }, { ttl: 10 ** 12 })).ttl).toBe(3_600_000);
      const state = await get(peer, created.taskId);
      expect(state).toMatchObject({ ttl: 5_000, createdAt: created.createdAt });
      expect(state.lastUpdatedAt).toMatch(isoDate);
      const wrong = await peer.request("tools/call", { name: "render", task: { ttl: "long" } });
      expect(wrong.error?.code).toBe(-32_602);
    },
  },
  {
    row: "X17",
    says: "tasks/result waits, and answers the result or the error of the call itself",
    async test(open) {
      const peer = await openPeer(open);
      const { taskId } = await start(peer, "render", { key: "x17" });
      const waiting = peer.request("tasks/result", { taskId });
      const before = await start(peer, "must");
      await hasStatus(peer, before.taskId, "completed");
      expect((await get(peer, taskId)).status).toBe("working");
      await release(peer, "x17");
      const expected = { content: [{ type: "text", text: "rendered x17" }], structuredContent: { key: "x17" } };
      expect((await waiting).result).toMatchObject(expected);
      expect((await peer.request("tasks/result", { taskId })).result).toMatchObject(expected);
      const refused = await start(peer, "refuse");
      const { error } = await peer.request("tasks/result", { taskId: refused.taskId });
      expect(error).toEqual({ code: -31_000, message: "The scene is refused", data: { scene: 7 } });
    },
  },
  {
    row: "X18",
    says: "a failed tool and an error are failed tasks, whose message says why",
    async test(open) {
      const peer = await openPeer(open);
      const failed = await start(peer, "fail");
      const state = await hasStatus(peer, failed.taskId, "failed");
      expect(state.statusMessage).toBe("The farm is closed");
      const { result } = await peer.request("tasks/result", { taskId: failed.taskId });
      expect(result).toMatchObject({ isError: true, content: [{ type: "text", text: "The farm is closed" }] });
      const refused = await start(peer, "refuse");
      expect((await hasStatus(peer, refused.taskId, "failed")).statusMessage).toBe("The scene is refused");
    },
  },
  {
    row: "X19",
    says: "a question waits for tasks/result, names its task, and the task goes on with the answer",
    async test(open) {
      const peer = await openPeer(open, { answer: () => answered("Ada") });
      const { taskId } = await start(peer, "ask", { key: "x19" });
      await hasStatus(peer, taskId, "input_required");
      expect(peer.questions).toEqual([]);
      const { result } = await peer.request("tasks/result", { taskId });
      expect(result.content[0].text).toBe("Ada, effects: 1");
      expect(peer.questions).toHaveLength(1);
      expect(peer.questions[0]).toMatchObject({ method: "elicitation/create", params: { message: "Question name" } });
      expect(Object(peer.questions[0]!.params)._meta).toEqual({ [related]: { taskId } });
      expect((await get(peer, taskId)).status).toBe("completed");
    },
  },
  {
    row: "X19",
    says: "several questions are asked together, a model is asked too, and a handler may wait in memory",
    async test(open) {
      const model = { role: "assistant", content: { type: "text", text: "Hi" }, model: "m" };
      const peer = await openPeer(open, {
        answer: ({ method, params }) =>
          method === "sampling/createMessage" ? model : answered(String(Object(params).message).slice(-1)),
      });
      const resultOf = async (name: string, args: JsonObject = {}) => {
        const { taskId } = await start(peer, name, args);
        return (await peer.request("tasks/result", { taskId })).result.content[0].text;
      };
      expect(await resultOf("ask-both")).toBe("a and b");
      expect(await resultOf("sample")).toBe("Hi");
      expect(await resultOf("park", { key: "x19" })).toBe("t and d, runs: 1");
    },
  },
  {
    row: "X19",
    says: "a client that refuses to show a form has cancelled it, and one that refuses its model fails the task",
    async test(open) {
      const peer = await openPeer(open, {
        answer: () => {
          throw { code: -1, message: "No, thank you" };
        },
      });
      const form = await start(peer, "ask", { key: "refused" });
      const { result } = await peer.request("tasks/result", { taskId: form.taskId });
      expect(result.content[0].text).toBe("cancel, effects: 1");
      const model = await start(peer, "sample");
      const { error } = await peer.request("tasks/result", { taskId: model.taskId });
      expect(error?.message).toBe("No, thank you");
      expect((await get(peer, model.taskId)).status).toBe("failed");
    },
  },
  {
    row: "X19",
    says: "a client that goes on polling without tasks/result is asked all the same, once, on its session",
    async test(open) {
      const peer = await openPeer(open, { answer: () => answered("Ada") });
      const { taskId } = await start(peer, "ask", { key: "polled" });
      await hasStatus(peer, taskId, "completed");
      expect(peer.questions).toMatchObject([{ method: "elicitation/create", params: { message: "Question name" } }]);
      expect(Object(peer.questions[0]!.params)._meta).toEqual({ [related]: { taskId } });
      const { result } = await peer.request("tasks/result", { taskId });
      expect(result.content[0].text).toBe("Ada, effects: 1");
    },
  },
  {
    row: "X19",
    says: "a question on the session is withdrawn when its task is cancelled",
    async test(open) {
      const peer = await openPeer(open, { answer: () => new Promise(() => {}) });
      const { taskId } = await start(peer, "ask", { key: "withdrawn" });
      while (peer.questions.length === 0) await hasStatus(peer, taskId, "input_required");
      await hasStatus(peer, taskId, "input_required");
      await peer.request("tasks/cancel", { taskId });
      const { params } = await peer.notification("notifications/cancelled");
      expect(params).toMatchObject({ requestId: peer.questions[0]!.id });
      expect(peer.questions).toHaveLength(1);
    },
  },
  {
    row: "X22",
    says: "the result names its task; states and lists do not",
    async test(open) {
      const peer = await openPeer(open);
      const created = await start(peer, "must");
      const { taskId } = created;
      const { result } = await peer.request("tasks/result", { taskId });
      expect(result._meta).toEqual({ [related]: { taskId } });
      const other = await start(peer, "render", { key: "x22" });
      const { result: cancelled } = await peer.request("tasks/cancel", { taskId: other.taskId });
      const { result: list } = await peer.request("tasks/list");
      const shown = JSON.stringify([created, await get(peer, taskId), cancelled, list]);
      expect(shown).not.toContain(related);
    },
  },
  {
    row: "X23",
    says: "a cancelled task is so at once, its work is stopped, and a second cancel is refused",
    async test(open) {
      const peer = await openPeer(open);
      const { taskId } = await start(peer, "render", { key: "x23" });
      await until(peer, taskId, (state) => state.statusMessage === "1 of 2");
      const { result } = await peer.request("tasks/cancel", { taskId });
      expect(result).toMatchObject({ taskId, status: "cancelled" });
      await release(peer, "x23");
      expect((await get(peer, taskId)).status).toBe("cancelled");
      await happened(peer, "stopped x23");
      expect((await peer.request("tasks/cancel", { taskId })).error?.code).toBe(-32_602);
      expect((await peer.request("tasks/result", { taskId })).error?.code).toBe(-32_602);
    },
  },
  {
    row: "X24",
    says: "an unknown id and a foreign cursor are invalid params, a masked failure is an internal error",
    async test(open) {
      const peer = await openPeer(open);
      for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
        expect((await peer.request(method, { taskId: "unknown" })).error?.code).toBe(-32_602);
        expect((await peer.request(method, {})).error?.code).toBe(-32_602);
      }
      expect((await peer.request("tasks/list", { cursor: "unknown" })).error?.code).toBe(-32_602);
    },
  },
  {
    row: "X25",
    says: "the list has every task once, over several pages",
    async test(open) {
      const peer = await openPeer(open);
      const ids: string[] = [];
      for (let count = 0; count < 55; count += 1) ids.push((await start(peer, "render", { key: "x25" })).taskId);
      const { result } = await peer.request("tasks/list");
      expect(result.nextCursor).toEqual(expect.any(String));
      const listed = await listAll(peer, "tasks/list", "tasks");
      expect(listed.map((task) => task.taskId).sort()).toEqual([...ids].sort());
      const state = await get(peer, ids[0]!);
      expect(listed.find((task) => task.taskId === ids[0])).toEqual(state);
    },
  },
  {
    row: "X27",
    says: "a task fails at the end of its ttl, and its work is stopped",
    async test(open) {
      const peer = await openPeer(open);
      const { taskId, ttl } = await start(peer, "brief", { key: "x27" });
      expect(ttl).toBe(30);
      expect((await hasStatus(peer, taskId, "failed")).statusMessage).toContain("lifetime of 30 ms");
    },
  },
  {
    row: "X28",
    says: "progress of the task has the token of the call, and names the task",
    async test(open) {
      const peer = await openPeer(open);
      const { taskId } = await start(peer, "report", { key: "x28", _meta: {} }, {});
      await peer.request("tasks/cancel", { taskId });
      const { result } = await peer.request("tools/call", {
        name: "report",
        arguments: { key: "x28" },
        task: {},
        _meta: { progressToken: "token" },
      });
      await release(peer, "x28");
      const fits = (params: JsonObject) => params["progressToken"] === "token" && params["progress"] === 2;
      const progress = await peer.notification("notifications/progress", fits);
      expect(progress.params?.["_meta"]).toEqual({ [related]: { taskId: result.task.taskId } });
    },
  },
  {
    row: "X29",
    says: "a caller with too many open tasks gets an error, until one of them has ended",
    async test(open) {
      const peer = await openPeer(open);
      const ids: string[] = [];
      for (let count = 0; count < 60; count += 1) ids.push((await start(peer, "render", { key: "x29" })).taskId);
      const params = { name: "render", arguments: {}, ...(!isStateless(peer.revision) && { task: {} }) };
      const { error } = await peer.request("tools/call", params);
      expect(error).toMatchObject({ code: -31_429, message: expect.stringContaining("60 tasks") });
      await peer.request("tasks/cancel", { taskId: ids[0] });
      expect((await start(peer, "must")).status).toBe("working");
    },
  },
  {
    row: "X40",
    says: "a request without the declaration gets a plain result, whatever earlier ones said",
    async test(open) {
      const [knows, plain] = [await openPeer(open), await open({ server, capabilities: questions })];
      expect((await start(knows, "render", { key: "x40" })).resultType).toBe("task");
      await release(plain, "x40");
      await release(knows, "x40");
      for (const peer of [plain, knows]) {
        const _meta = { [metaKey("clientCapabilities")]: {} };
        const params = { name: "render", arguments: { key: "x40" }, _meta };
        const { result } = await peer.request("tools/call", params);
        expect(result).toMatchObject({ resultType: "complete", content: [{ type: "text", text: "rendered x40" }] });
      }
    },
  },
  {
    row: "X41",
    says: "a tool that requires a task names the extension to a client without it",
    async test(open) {
      const peer = await open({ server });
      const { error } = await peer.request("tools/call", { name: "must" });
      expect(error).toMatchObject({ code: -32_021, data: { requiredCapabilities: { extensions: { [id]: {} } } } });
    },
  },
  {
    row: "X43",
    says: "the creating result is a flat task; every other result is complete",
    async test(open) {
      const peer = await openPeer(open);
      const created = await start(peer, "render", { key: "x43" });
      expect(created).toMatchObject({ resultType: "task", status: "working", ttlMs: 3_600_000, pollIntervalMs: 20 });
      expect(created.createdAt).toMatch(isoDate);
      const foreign = ["task", "result", "error", "inputRequests", "requestState", "ttl", "pollInterval"];
      for (const member of foreign) expect(created).not.toHaveProperty(member);
      const { taskId } = created;
      const others = [
        await peer.request("tasks/get", { taskId }),
        await update(peer, taskId, {}),
        await peer.request("tasks/cancel", { taskId }),
        await peer.request("tools/call", { name: "plain" }),
      ];
      for (const { result } of others) expect(result.resultType).toBe("complete");
    },
  },
  {
    row: "X43",
    says: "the server decides: by the arguments, and by the time that the call takes",
    async test(open) {
      const peer = await openPeer(open);
      const choose = async (size: unknown) =>
        (await peer.request("tools/call", { name: "choose", arguments: { size } })).result;
      expect(await choose(3)).toMatchObject({ resultType: "complete", content: [{ text: "size 3" }] });
      expect((await choose(30)).resultType).toBe("task");
      expect(await choose("large")).toMatchObject({ resultType: "complete", isError: true });
    },
  },
  {
    row: "X44",
    says: "a task is found as soon as its id is told",
    async test(open) {
      const peer = await openPeer(open);
      for (let count = 0; count < 5; count += 1) {
        const { taskId } = await start(peer, "render", { key: "x44" });
        expect((await get(peer, taskId)).taskId).toBe(taskId);
      }
    },
  },
  {
    row: "X45",
    says: "a question before the task is a round of the call, and its answer counts in the task",
    async test(open) {
      const peer = await openPeer(open);
      const params = { name: "round-then-task", arguments: { key: "x45" } };
      const { result: round } = await peer.request("tools/call", params);
      expect(round).toMatchObject({ resultType: "input_required", inputRequests: { name: expect.any(Object) } });
      expect(round).not.toHaveProperty("taskId");
      const { requestState } = round;
      const { result: task } = await peer.request("tools/call", {
        ...params,
        inputResponses: { name: answered("Ada") },
        requestState,
      });
      expect(task.resultType).toBe("task");
      await release(peer, "x45");
      const done = await hasStatus(peer, task.taskId, "completed");
      expect(done.result.content[0].text).toBe("Ada");
      expect(JSON.stringify([task, done])).not.toContain("requestState");
    },
  },
  {
    row: "X45",
    says: "a call that ends after its rounds never becomes a task",
    async test(open) {
      const peer = await openPeer(open, { answer: () => answered("Ada") });
      const { result } = await peer.callTool("round-first");
      expect(result).toMatchObject({ resultType: "complete", content: [{ text: "Ada" }] });
    },
  },
  {
    row: "X46",
    says: "a task shows all of its open questions, and those alone",
    async test(open) {
      const peer = await openPeer(open);
      const { taskId } = await start(peer, "ask-both");
      const { inputRequests } = await hasStatus(peer, taskId, "input_required");
      expect(Object.keys(inputRequests).sort()).toEqual(["a", "b"]);
      expect(inputRequests.a).toMatchObject({ method: "elicitation/create", params: { message: "Question a" } });
    },
  },
  {
    row: "X47",
    says: "get, update and cancel need the declaration, and an unknown id is invalid",
    async test(open) {
      const [knows, plain] = [await openPeer(open), await open({ server })];
      const { taskId } = await start(knows, "render", { key: "x47" });
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
        for (const each of [taskId, "unknown"]) {
          const { error } = await plain.request(method, { taskId: each, inputResponses: {} });
          expect(error).toMatchObject({ code: -32_021, data: { requiredCapabilities: { extensions: { [id]: {} } } } });
        }
        const { error } = await knows.request(method, { taskId: "unknown", inputResponses: {} });
        expect(error?.code).toBe(-32_602);
      }
      expect((await get(knows, taskId)).status).toBe("working");
    },
  },
  {
    row: "X48",
    says: "a failed tool has completed its task, an error has failed it",
    async test(open) {
      const peer = await openPeer(open);
      const failed = await start(peer, "fail");
      const completed = await hasStatus(peer, failed.taskId, "completed");
      expect(completed.result).toMatchObject({ isError: true });
      expect(completed).not.toHaveProperty("error");
      const refused = await start(peer, "refuse");
      const state = await hasStatus(peer, refused.taskId, "failed");
      expect(state.error).toEqual({ code: -31_000, message: "The scene is refused", data: { scene: 7 } });
      expect(state.statusMessage).toBe("The scene is refused");
      expect(state).not.toHaveProperty("result");
      const crashed = await start(peer, "crash");
      expect(JSON.stringify(await hasStatus(peer, crashed.taskId, "completed"))).not.toContain("secret");
    },
  },
  {
    row: "X49",
    says: "the result is that of the plain call, with its own type",
    async test(open) {
      const peer = await openPeer(open);
      await release(peer, "x49");
      const { taskId } = await start(peer, "render", { key: "x49" });
      const { result } = await hasStatus(peer, taskId, "completed");
      const plain = await open({ server });
      await release(plain, "x49");
      const { result: expected } = await plain.request("tools/call", { name: "render", arguments: { key: "x49" } });
      expect(result).toEqual(expected);
      expect(result.resultType).toBe("complete");
      expect(JSON.stringify(result)).not.toContain(related);
    },
  },
  {
    row: "X50",
    says: "a question with other words gets another key",
    async test(open) {
      const peer = await openPeer(open);
      const { taskId } = await start(peer, "ask-again", { key: "x50" });
      const { inputRequests } = await hasStatus(peer, taskId, "input_required");
      expect(Object.keys(inputRequests)).toEqual(["name"]);
      await update(peer, taskId, { name: answered("Ada") });
      const again = await until(peer, taskId, (state) => state.inputRequests && !state.inputRequests.name);
      expect(Object.keys(again.inputRequests)).toEqual(["name-2"]);
      await update(peer, taskId, { name: answered("Ada"), "name-2": answered("Bob") });
      expect((await hasStatus(peer, taskId, "completed")).result.content[0].text).toBe("Bob");
    },
  },
  {
    row: "X51",
    says: "answers may come one by one, unknown and second ones are ignored, effects are not repeated",
    async test(open) {
      const peer = await openPeer(open);
      const { taskId } = await start(peer, "ask-both");
      await hasStatus(peer, taskId, "input_required");
      const { result } = await update(peer, taskId, { a: answered("Ada"), c: answered("nobody") });
      expect(Object.keys(result).sort()).toEqual(["_meta", "resultType"]);
      const state = await get(peer, taskId);
      expect([state.status, Object.keys(state.inputRequests)]).toEqual(["input_required", ["b"]]);
      await update(peer, taskId, { a: answered("another"), b: answered("Bob") });
      expect((await hasStatus(peer, taskId, "completed")).result.content[0].text).toBe("Ada and Bob");
      await update(peer, taskId, { b: answered("late") });
      const one = await start(peer, "ask", { key: "x51" });
      await hasStatus(peer, one.taskId, "input_required");
      expect((await update(peer, one.taskId, { name: { action: "perhaps" } })).error?.code).toBe(-32_602);
      await update(peer, one.taskId, { name: answered("Cid") });
      expect((await hasStatus(peer, one.taskId, "completed")).result.content[0].text).toBe("Cid, effects: 1");
    },
  },
  {
    row: "X51",
    says: "a handler that waits in memory goes on with each answer",
    async test(open) {
      const peer = await openPeer(open);
      const { taskId } = await start(peer, "park", { key: "x51" });
      const first = await hasStatus(peer, taskId, "input_required");
      const [key] = Object.keys(first.inputRequests);
      await update(peer, taskId, { [key!]: answered("Ada") });
      const second = await until(peer, taskId, ({ inputRequests }) => inputRequests && !inputRequests[key!]);
      const [other] = Object.keys(second.inputRequests);
      await update(peer, taskId, { [other!]: answered("Bob") });
      const { result } = await hasStatus(peer, taskId, "completed");
      expect(result.content[0].text).toBe("Ada and Bob, runs: 1");
    },
  },
  {
    row: "X52",
    says: "cancel is acknowledged each time, and stops the work",
    async test(open) {
      const peer = await openPeer(open);
      for (const [name, status] of [
        ["render", "working"],
        ["ask", "input_required"],
      ] as const) {
        const { taskId } = await start(peer, name, { key: "x52" });
        await hasStatus(peer, taskId, status);
        for (let times = 0; times < 2; times += 1) {
          const { result } = await peer.request("tasks/cancel", { taskId });
          expect(Object.keys(result).sort()).toEqual(["_meta", "resultType"]);
        }
        expect((await get(peer, taskId)).status).toBe("cancelled");
      }
    },
  },
  {
    row: "X57",
    says: "a listener without the declaration is refused, and so is a filter that is no list of ids",
    async test(open) {
      const plain = await open({ server });
      const listen = (peer: RawPeer, taskIds: unknown) =>
        peer.request("subscriptions/listen", { notifications: { taskIds } });
      expect((await listen(plain, ["x"])).error).toMatchObject({ code: -32_021 });
      const knows = await openPeer(open);
      expect((await listen(knows, "x")).error?.code).toBe(-32_602);
      const many = Array.from({ length: 101 }, (_, index) => `id ${index}`);
      expect((await listen(knows, many)).error?.code).toBe(-32_602);
    },
  },
  {
    row: "X58",
    says: "a listener gets what tasks/get shows at every change, of the tasks that it has",
    async test(open) {
      const peer = await openPeer(open);
      const { taskId } = await start(peer, "ask", { key: "x58" });
      const other = await start(peer, "render", { key: "other" });
      await hasStatus(peer, taskId, "input_required");
      peer.request("subscriptions/listen", { notifications: { taskIds: [taskId, "unknown"] } });
      const acknowledged = await peer.notification("notifications/subscriptions/acknowledged");
      expect(acknowledged.params).toMatchObject({ notifications: { taskIds: [taskId] } });
      await peer.request("tasks/cancel", { taskId: other.taskId });
      await update(peer, taskId, { name: answered("Ada") });
      const { params } = await peer.notification("notifications/tasks", ({ status }) => status === "completed");
      const { _meta: _, resultType: __, ...state } = await get(peer, taskId);
      const { _meta, ...told } = params as JsonObject;
      expect(told).toEqual(state);
      expect(_meta).toEqual({ [metaKey("subscriptionId")]: expect.anything() });
      const ids = peer.notifications.filter(({ method }) => method === "notifications/tasks");
      expect(new Set(ids.map((one) => one.params?.["taskId"]))).toEqual(new Set([taskId]));
    },
  },
  {
    row: "X59",
    says: "progress and log messages of a task go nowhere; the message becomes its status",
    async test(open) {
      const peer = await openPeer(open, { meta: { [metaKey("logLevel")]: "debug" } });
      const params = { name: "report", arguments: { key: "x59" }, _meta: { progressToken: "token" } };
      const { taskId } = (await peer.request("tools/call", params)).result;
      const state = await until(peer, taskId, ({ statusMessage }) => statusMessage !== undefined);
      expect(state.statusMessage).toBe("half");
      await release(peer, "x59");
      await hasStatus(peer, taskId, "completed");
      await peer.settled();
      const told = peer.notifications.filter(({ method }) => /progress|message/.test(method));
      expect(told).toEqual([]);
    },
  },
  {
    row: "X60",
    says: "an id has at least 128 random bits",
    async test(open) {
      const peer = await openPeer(open);
      const ids = new Set<string>();
      for (let count = 0; count < 20; count += 1) ids.add((await start(peer, "must")).taskId);
      expect(ids.size).toBe(20);
      for (const each of ids) expect(each).toMatch(/^[\w-]{22,}$/);
      // Were one character of the ids always the same, it would not be random.
      const [first = ""] = ids;
      for (let at = 0; at < first.length; at += 1)
        expect(new Set([...ids].map((one) => one[at])).size).toBeGreaterThan(1);
    },
  },
  {
    row: "X62",
    says: "each revision knows its own declaration alone",
    async test(open, { revision }) {
      const peer = await openPeer(open, { capabilities: isStateless(revision) ? { tasks: {} } : declared });
      const { extensions, tasks } = await offeredBy(peer);
      if (isStateless(revision)) {
        expect(tasks).toBeUndefined();
        expect(extensions).toEqual({ [id]: {} });
        expect((await listedTool(peer, "must")).execution).toBeUndefined();
        expect((await peer.request("tools/call", { name: "must" })).error?.code).toBe(-32_021);
      } else {
        expect(extensions).toBeUndefined();
        await release(peer, "x62");
        const { result } = await peer.request("tools/call", { name: "render", arguments: { key: "x62" } });
        expect(result).not.toHaveProperty("task");
        expect((await peer.request("tasks/update", { taskId: "x", inputResponses: {} })).error?.code).toBe(-32_601);
      }
    },
  },
  {
    row: "X64",
    says: "tasks/result and tasks/list do not exist, and a task param means nothing",
    async test(open) {
      const peer = await openPeer(open);
      for (const method of ["tasks/result", "tasks/list"]) {
        expect((await peer.request(method, { taskId: "x" })).error?.code).toBe(-32_601);
      }
      for (const name of ["plain", "must"]) {
        const { result } = await peer.request("tools/call", { name, task: { ttl: 5 } });
        expect(result.resultType).toBe(name === "plain" ? "complete" : "task");
        if (name === "must") expect(result.ttlMs).toBe(3_600_000);
      }
    },
  },
  {
    row: "X65",
    says: "a task fails when its lifetime is over, and its work is stopped",
    async test(open) {
      const peer = await openPeer(open);
      const { taskId, ttlMs, createdAt } = await start(peer, "brief", { key: "x65" });
      expect(ttlMs).toBe(30);
      const state = await hasStatus(peer, taskId, "failed");
      expect(state.error.message).toContain("lifetime of 30 ms");
      expect(Date.parse(state.lastUpdatedAt) - Date.parse(createdAt)).toBeGreaterThanOrEqual(30);
      await happened(peer, "stopped x65");
    },
  },
];
