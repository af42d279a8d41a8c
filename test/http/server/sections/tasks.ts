import { createServer } from "portolan/server";
import { type ServerTasksOptions, tasks } from "portolan/server/tasks";
import { expect } from "vitest";
import type { RawResponse } from "../../../kit/raw-peer.ts";
import { type Headers, start } from "../../kit.ts";
import { begin, StatelessPeer } from "../../peer.ts";
import { byUser } from "../../users.ts";
import type { HttpRequirement } from "../requirement.ts";

const id = "io.modelcontextprotocol/tasks";
const core = "2025-11-25";

/** Serves a tool that works until its task ends. */
async function serve(options: Parameters<typeof start>[1], own: ServerTasksOptions = {}): Promise<string> {
  const server = createServer({ name: "callers", version: "1.0.0" })
    .extend(tasks(own))
    .tool("wait", {
      task: "optional",
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    })
    .tool("done", { task: "optional", run: () => "done" });
  return (await start(server, options)).url;
}

/** A client of one user, in either dialect. */
interface TaskPeer {
  start(name: string): Promise<RawResponse & { taskId: string }>;
  ask(method: string, taskId: string): Promise<RawResponse>;
}

function stateless(url: string, headers: Headers): TaskPeer {
  const peer = new StatelessPeer(url, { headers, capabilities: { extensions: { [id]: {} } } });
  return {
    async start(name) {
      const response = await (await peer.call(name)).response();
      return { ...response, taskId: response.result?.taskId };
    },
    async ask(method, taskId) {
      const params = { taskId, ...(method === "tasks/update" && { inputResponses: {} }) };
      return (await peer.request(method, params, 1, { "mcp-name": taskId })).response();
    },
  };
}

async function stateful(url: string, headers: Headers): Promise<TaskPeer> {
  const peer = await begin(url, core, { headers });
  return {
    async start(name) {
      const response = await (await peer.request("tools/call", { name, task: {} })).response();
      return { ...response, taskId: response.result?.task.taskId };
    },
    ask: async (method, taskId) => (await peer.request(method, { taskId })).response(),
  };
}

const dialects = {
  "2026-07-28": [async (url: string, headers: Headers) => stateless(url, headers), ["get", "update", "cancel"]],
  "2025-11-25": [stateful, ["get", "result", "cancel"]],
} as const;

/** Requirements on tasks that need several callers or the headers of HTTP. The others run over HTTP as they do on channels. */
export const tasksOfCallers: readonly HttpRequirement[] = [
  {
    row: "X26",
    says: "a foreign task is answered like one that never was",
    async test(revision) {
      const [open, methods] = dialects[revision as keyof typeof dialects];
      const url = await serve({ verify: byUser });
      const [ada, bob] = [await open(url, { authorization: "ada" }), await open(url, { authorization: "bob" })];
      const { taskId } = await ada.start("wait");
      for (const method of methods) {
        const unknown = await bob.ask(`tasks/${method}`, `${taskId.slice(0, -1)}!`);
        expect(unknown.error?.code).toBe(-32_602);
        expect(await bob.ask(`tasks/${method}`, taskId)).toEqual(unknown);
      }
      expect((await ada.ask("tasks/get", taskId)).result.status).toBe("working");
    },
  },
  {
    row: "X26",
    says: "a list has the caller's own tasks, whatever session made them",
    on: ["2025-11-25"],
    async test() {
      const url = await serve({ verify: byUser });
      const of = async (user: string) => begin(url, core, { headers: { authorization: user } });
      const [one, two, bob] = [await of("ada"), await of("ada"), await of("bob")];
      const created = await (await one.request("tools/call", { name: "wait", task: {} })).response();
      const idsOf = async (peer: typeof one) => {
        const { result } = await (await peer.request("tasks/list")).response();
        return result.tasks.map((task: { taskId: string }) => task.taskId);
      };
      expect(await idsOf(two)).toEqual([created.result.task.taskId]);
      expect(await idsOf(bob)).toEqual([]);
    },
  },
  {
    row: "X58",
    says: "a listener hears of its principal's tasks alone",
    async test() {
      const url = await serve({ verify: byUser });
      const { taskId } = await stateless(url, { authorization: "ada" }).start("wait");
      const listen = async (user: string) => {
        const options = { headers: { authorization: user }, capabilities: { extensions: { [id]: {} } } };
        const filter = { notifications: { taskIds: [taskId] } };
        const stream = await new StatelessPeer(url, options).request("subscriptions/listen", filter);
        return stream.message();
      };
      expect((await listen("ada")).params).toMatchObject({ notifications: { taskIds: [taskId] } });
      expect((await listen("bob")).params?.["notifications"]).toEqual({ taskIds: [] });
    },
  },
  {
    row: "X26",
    says: "anonymous callers have no list; an id is enough for them, and each has limits of its own",
    async test() {
      const url = await serve({ caller: (request) => request.header("x-name") }, { perCaller: { open: 2 } });
      const peer = await begin(url, core, { headers: { "x-name": "ada" } });
      expect(peer.initialized.result.capabilities.tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
      expect((await (await peer.request("tasks/list")).response()).error?.code).toBe(-32_601);
      const [ada, bob] = [stateless(url, { "x-name": "ada" }), stateless(url, { "x-name": "bob" })];
      const first = await ada.start("wait");
      await ada.start("wait");
      expect((await ada.start("wait")).error?.code).toBe(-31_429);
      expect((await bob.start("wait")).result.resultType).toBe("task");
      expect((await bob.ask("tasks/get", first.taskId)).result.status).toBe("working");
    },
  },
  {
    row: "X29",
    says: "the stored text of a caller's tasks is limited, and a result beyond it fails its task",
    async test() {
      const server = createServer({ name: "large", version: "1.0.0" })
        .extend(tasks({ perCaller: { chars: 40_000 } }))
        .tool("large", { task: "optional", run: () => "x".repeat(50_000) });
      const peer = stateless((await start(server)).url, {});
      const { taskId } = await peer.start("large");
      let state = (await peer.ask("tasks/get", taskId)).result;
      while (state.status === "working") state = (await peer.ask("tasks/get", taskId)).result;
      expect(state).toMatchObject({
        status: "failed",
        error: { message: expect.stringContaining("40000 characters") },
      });
    },
  },
  {
    row: "X56",
    says: "Mcp-Name repeats the id of the task",
    async test() {
      const url = await serve({});
      const peer = new StatelessPeer(url, { capabilities: { extensions: { [id]: {} } } });
      const { taskId } = (await (await peer.call("wait")).response()).result;
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
        for (const name of ["another", undefined]) {
          const answer = await peer.request(method, { taskId, inputResponses: {} }, 1, { "mcp-name": name });
          expect(answer.status).toBe(400);
          expect((await answer.response()).error?.code).toBe(-32_020);
        }
      }
      expect((await peer.request("tasks/get", { taskId }, 1, { "mcp-name": taskId })).status).toBe(200);
    },
  },
  {
    row: "X21",
    says: "tasks/get is answered without a stream",
    async test() {
      const url = await serve({});
      const peer = await begin(url, core);
      const { result } = await (await peer.request("tools/call", { name: "wait", task: {} })).response();
      expect((await peer.request("tasks/get", { taskId: result.task.taskId })).isStream).toBe(false);
    },
  },
  {
    row: "X63",
    says: "a client of 2026-07-28 without the extension looks at and cancels its tasks of 2025-11-25, and no others",
    async test() {
      const url = await serve({ verify: byUser });
      const headers = { authorization: "ada" };
      const { taskId } = await (await stateful(url, headers)).start("wait");
      const newer = await stateless(url, headers).start("wait");
      const plain = new StatelessPeer(url, { headers });
      const ask = async (method: string, of: string, params = {}) =>
        (await plain.request(method, { taskId: of, ...params }, 1, { "mcp-name": of })).response();
      expect((await ask("tasks/get", taskId)).result).toMatchObject({ taskId, status: "working", ttlMs: 3_600_000 });
      expect((await ask("tasks/get", newer.taskId)).error?.code).toBe(-32_021);
      expect((await ask("tasks/update", taskId, { inputResponses: {} })).error?.code).toBe(-32_021);
      expect((await ask("tasks/cancel", taskId)).result.resultType).toBe("complete");
      expect((await ask("tasks/get", taskId)).result.status).toBe("cancelled");
    },
  },
  {
    row: "X26",
    says: "the status of a task reaches the session that made it, and no other anonymous one",
    on: ["2025-11-25"],
    async test() {
      const url = await serve({});
      const [maker, other] = [await begin(url, core), await begin(url, core)];
      const [heard, unheard] = [await maker.get(), await other.get()];
      const { result } = await (await maker.request("tools/call", { name: "done", task: {} })).response();
      const { taskId } = result.task;
      const message = await heard.message();
      expect(message).toMatchObject({ method: "notifications/tasks/status", params: { taskId, status: "completed" } });
      const own = await (await other.request("tools/call", { name: "done", task: {} })).response();
      expect((await unheard.message()).params).toMatchObject({ taskId: own.result.task.taskId });
    },
  },
];
