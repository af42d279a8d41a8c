import { type JsonObject, RpcError } from "portolan";
import { resumeTask, startTool, storedTasks, type TaskRef, tasks } from "portolan/client/tasks";
import { createMemoryStorage } from "portolan/storage";
import { createClock } from "portolan/testing";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import { everyCall, text, textOf } from "../kit/calls.ts";
import { refusal } from "../kit/scripted-server.ts";
import { passing, question, relatedQuestion, stateOf, taskId, taskServer, tasksId } from "../kit/tasks.ts";
import type { Requirement } from "../requirement.ts";

const never = 10 ** 9;

/** Options of every test: time stands still unless the test lets it pass. */
function timed() {
  const clock = createClock();
  return { clock, idleMs: never, totalMs: never, extensions: [tasks()], expected: /taskIds/ };
}

export const taskRequirements: Requirement[] = [
  {
    row: "C-X3",
    says: "all requests about a task declare the extension, with settings directly under its id",
    async test({ open, revision }) {
      const options = timed();
      const { client, server } = await open({
        ...options,
        ...taskServer(revision, { steps: [{ status: "completed" }] }),
      });
      await passing(options.clock, client.callTool("render"));
      const sent = server.sent.filter(({ method }) => method !== undefined && !method.startsWith("notifications/"));
      expect(sent.map(({ method }) => method)).toContain("tasks/get");
      for (const { params } of sent) {
        expect(params._meta[metaKey("clientCapabilities")].extensions).toEqual({ [tasksId]: {} });
      }
    },
  },
  {
    row: "C-X6",
    says: "a client without the extension never names tasks",
    async test({ open, revision }) {
      const { client, server } = await open();
      await everyCall(client, revision);
      expect(JSON.stringify(server.sent)).not.toContain("task");
    },
  },
  {
    row: "C-X11",
    says: "a tool whose support is absent or forbidden is called plainly, also by startTool",
    async test({ open, revision }) {
      for (const taskSupport of ["forbidden", ""]) {
        const script = taskServer(revision, { steps: [], taskSupport });
        const { client, server } = await open({ ...timed(), ...script });
        expect(textOf(await client.callTool("render"))).toBe("a plain result");
        const task = await startTool(client, "render");
        expect(task.ref).toBeUndefined();
        expect(textOf(await task.result)).toBe("a plain result");
        for (const { params } of server.of("tools/call")) expect(params).not.toHaveProperty("task");
      }
    },
  },
  {
    row: "C-X11",
    says: "nothing is augmented without the capability of the server, whatever the tool says",
    async test({ open, revision }) {
      for (const offers of [{ tools: {} }, { tools: {}, tasks: {} }, { tools: {}, tasks: { requests: {} } }]) {
        const script = taskServer(revision, { steps: [], offers });
        const { client, server } = await open({ ...timed(), ...script });
        await startTool(client, "render");
        expect(server.of("tools/call")[0]!.params).not.toHaveProperty("task");
        expect(server.of("tools/list")).toEqual([]);
      }
    },
  },
  {
    row: "C-X11",
    says: "callTool calls an optional tool plainly, startTool as a task with the wanted lifetime",
    async test({ open, revision }) {
      const options = timed();
      const script = taskServer(revision, { steps: [{ status: "completed" }], taskSupport: "optional" });
      const { client, server } = await open({ ...options, ...script });
      expect(textOf(await client.callTool("render"))).toBe("a plain result");
      const task = await startTool(client, "render", {}, { ttlMs: 60_000 });
      expect(textOf(await passing(options.clock, task.result))).toBe("the result");
      const plain = await startTool(client, "render", {}, { optional: false });
      expect(plain.ref).toBeUndefined();
      expect(server.of("tools/call").map(({ params }) => params.task)).toEqual([undefined, { ttl: 60_000 }, undefined]);
    },
  },
  {
    row: "C-X11",
    says: "the support of tools is read again after the list has changed",
    async test({ open, revision }) {
      let taskSupport = "forbidden";
      const tool = () => ({ name: "render", inputSchema: { type: "object" }, execution: { taskSupport } });
      const script = taskServer(revision, { steps: [], on: { "tools/list": () => ({ tools: [tool()] }) } });
      const { client, server, settled } = await open({ ...timed(), ...script });
      await client.callTool("render");
      taskSupport = "optional";
      server.notify("notifications/tools/list_changed");
      await settled();
      const task = await startTool(client, "render");
      expect(task.ref?.taskId).toBe(taskId);
    },
  },
  {
    row: "C-X13",
    says: "callTool runs a tool that requires a task as one, and returns its result",
    async test({ open, revision }) {
      const options = timed();
      const script = taskServer(revision, { steps: [{ status: "working" }, { status: "completed" }] });
      const { client, server } = await open({ ...options, ...script });
      expect(textOf(await passing(options.clock, client.callTool("render", { size: 3 })))).toBe("the result");
      const [call] = server.of("tools/call");
      expect(call!.params).toMatchObject({ name: "render", arguments: { size: 3 }, task: {} });
      expect(server.of("tasks/get")).toHaveLength(2);
      expect(server.of("tasks/result")).toHaveLength(1);
    },
  },
  {
    row: "C-X18",
    says: "the text of a failed tool reaches the caller, and an error is the error of the call",
    async test({ open, revision }) {
      const options = timed();
      const result = { ...text("out of paint"), isError: true };
      const script = taskServer(revision, { steps: [{ status: "failed" }], result });
      const { client } = await open({ ...options, ...script });
      expect(await passing(options.clock, client.callTool("render"))).toMatchObject(result);
      const refused = taskServer(revision, {
        steps: [{ status: "failed" }],
        on: {
          "tasks/result": () => {
            throw refusal(-32602, "no such scene");
          },
        },
      });
      const other = await open({ ...options, ...refused });
      await expect(passing(options.clock, other.client.callTool("render"))).rejects.toMatchObject({
        code: -32602,
        message: "no such scene",
      });
    },
  },
  {
    row: "C-X20",
    says: "questions on the response of tasks/result are answered, while polls go on",
    async test({ open, revision }) {
      const options = timed();
      let polls = 0;
      let isAnswered = false;
      const script = taskServer(revision, {
        steps: [],
        on: {
          "tasks/get": () => {
            polls += 1;
            return stateOf(revision, { status: isAnswered ? "completed" : "input_required" });
          },
          "tasks/result": async (_, server) => {
            await server.until(() => polls >= 3);
            if (!isAnswered) {
              const { result } = await server.ask("elicitation/create", relatedQuestion("Which look?"));
              expect(result).toEqual({ action: "accept", content: { name: "noir" } });
              isAnswered = true;
            }
            return text("a film noir");
          },
        },
      });
      const asked: unknown[] = [];
      const { client, server } = await open({
        ...options,
        ...script,
        answers: { elicit: () => ({ action: "cancel" }) },
      });
      const called = client.callTool(
        "render",
        {},
        {
          answers: {
            elicit: ({ message }, { during }) => {
              asked.push(message, during);
              return { action: "accept", content: { name: "noir" } };
            },
          },
        },
      );
      expect(textOf(await passing(options.clock, called))).toBe("a film noir");
      expect(asked).toEqual(["Which look?", { method: "tools/call", name: "render" }]);
      expect(server.of("tasks/result").length).toBeLessThanOrEqual(2);
    },
  },
  {
    row: "C-X22",
    says: "get, result and cancel carry the id in their params alone",
    async test({ open, revision }) {
      const options = timed();
      const script = taskServer(revision, { steps: [{ status: "working" }, { status: "completed" }] });
      const { client, server } = await open({ ...options, ...script });
      await passing(options.clock, client.callTool("render"));
      const task = await startTool(client, "render");
      await task.cancel();
      for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
        for (const { params } of server.of(method)) expect(params).toEqual({ taskId });
      }
      expect(server.of("tasks/cancel")).toHaveLength(1);
    },
  },
  {
    row: "C-X28",
    says: "progress of the first request reaches the caller while the task runs",
    async test({ open, revision }) {
      const options = timed();
      const script = taskServer(revision, {
        steps: [],
        on: {
          "tasks/get": (_, server) => {
            const progressToken = server.of("tools/call")[0]!.params._meta.progressToken;
            server.notify("notifications/progress", { progressToken, progress: 3, total: 40 });
            return stateOf(revision, { status: "completed" });
          },
        },
      });
      const { client } = await open({ ...options, ...script });
      const heard: unknown[] = [];
      await passing(options.clock, client.callTool("render", {}, { onProgress: (progress) => heard.push(progress) }));
      expect(heard).toEqual([{ progress: 3, total: 40 }]);
    },
  },
  {
    row: "C-X30",
    says: "a task ends although no notification comes",
    async test({ open, revision }) {
      const options = timed();
      const script = taskServer(revision, { steps: [{ status: "working" }, { status: "completed" }] });
      const { client, server } = await open({ ...options, ...script });
      expect(textOf(await passing(options.clock, client.callTool("render")))).toBe("the result");
      expect(server.of("tasks/get")).toHaveLength(2);
    },
  },
  {
    row: "C-X42",
    says: "a plain result is accepted as well",
    async test({ open, revision }) {
      const script = taskServer(revision, { steps: [], on: { "tools/call": () => text("at once") } });
      const { client } = await open({ ...timed(), ...script });
      expect(textOf(await client.callTool("render"))).toBe("at once");
      const task = await startTool(client, "render");
      expect(task.ref).toBeUndefined();
      expect(textOf(await task.result)).toBe("at once");
    },
  },
  {
    row: "C-X42",
    says: "a task as the answer to another request is invalid",
    async test({ open, revision }) {
      const asTask = () => ({ resultType: "task", ...stateOf(revision, { status: "working" }) });
      const offers = { prompts: {}, resources: {}, tools: {} };
      const script = taskServer(revision, {
        steps: [],
        offers,
        on: { "prompts/get": asTask, "resources/read": asTask },
      });
      const { client, server } = await open({ ...timed(), ...script });
      await expect(client.getPrompt("p")).rejects.toMatchObject({ code: "answer-invalid" });
      await expect(client.readResource("note://a")).rejects.toMatchObject({ code: "answer-invalid" });
      expect(server.of("tasks/get")).toEqual([]);
    },
  },
  {
    row: "C-X42",
    says: "a task without an id, or with an endless one, is invalid",
    async test({ open, revision }) {
      for (const wrong of ["", "x".repeat(5_000), 7]) {
        const more = { taskId: wrong } as JsonObject;
        const script = taskServer(revision, { steps: [], begin: { status: "working", more } });
        const { client } = await open({ ...timed(), ...script });
        await expect(client.callTool("render")).rejects.toMatchObject({ code: "answer-invalid" });
      }
    },
  },
  {
    row: "C-X42",
    says: "an answer to tasks/get about another task is invalid",
    async test({ open, revision }) {
      const options = timed();
      const script = taskServer(revision, { steps: [{ status: "working", more: { taskId: "another" } }] });
      const { client } = await open({ ...options, ...script });
      await expect(passing(options.clock, client.callTool("render"))).rejects.toMatchObject({ code: "answer-invalid" });
    },
  },
  {
    row: "C-X48",
    says: "the error of a failed task is the error of the call",
    async test({ open, revision }) {
      const options = timed();
      const error = { code: -32050, message: "no paint", data: { left: 0 } };
      const script = taskServer(revision, { steps: [{ status: "failed", error }] });
      const { client } = await open({ ...options, ...script });
      const failure = await passing(options.clock, client.callTool("render")).catch((reason) => reason);
      expect(failure).toBeInstanceOf(RpcError);
      expect(failure).toMatchObject(error);
    },
  },
  {
    row: "C-X48",
    says: "a completed task returns its result, with or without a type of its own, also if the tool failed",
    async test({ open, revision }) {
      for (const more of [{}, { resultType: "complete" }]) {
        const options = timed();
        const result = { ...text("out of paint"), isError: true, ...more };
        const script = taskServer(revision, { steps: [{ status: "completed" }], result });
        const { client } = await open({ ...options, ...script });
        expect(await passing(options.clock, client.callTool("render"))).toMatchObject(result);
      }
    },
  },
  {
    row: "C-X50",
    says: "the call fails, and nobody is asked the second question",
    async test({ open, revision }) {
      const options = timed();
      const script = taskServer(revision, {
        steps: [
          { status: "input_required", inputRequests: { q1: question("First?") } },
          { status: "input_required", inputRequests: { q1: question("Second?") } },
        ],
      });
      const asked: string[] = [];
      const { client } = await open({
        ...options,
        ...script,
        answers: {
          elicit: ({ message }) => {
            asked.push(message);
            return { action: "decline" };
          },
        },
      });
      await expect(passing(options.clock, client.callTool("render"))).rejects.toMatchObject({ code: "answer-invalid" });
      expect(asked).toEqual(["First?"]);
    },
  },
  {
    row: "C-X51",
    says: "an answer is sent while another question is still open",
    async test({ open, revision }) {
      const options = timed();
      let isOver = false;
      const script = taskServer(revision, {
        steps: [],
        on: {
          "tasks/get": (_, server) => {
            if (isOver) return { ...stateOf(revision, { status: "completed" }), result: text("done") };
            const updates = server.of("tasks/update").flatMap(({ params }) => Object.keys(params.inputResponses));
            const left = ["slow", "quick"].filter((key) => !updates.includes(key));
            isOver = updates.includes("quick");
            return {
              ...stateOf(revision, { status: "input_required" }),
              inputRequests: Object.fromEntries(left.map((key) => [key, question(key)])),
            };
          },
        },
      });
      let wasEnded = false;
      const { client, server } = await open({
        ...options,
        ...script,
        answers: {
          elicit: ({ message }, { signal }) => {
            if (message === "quick") return { action: "accept", content: { name: "q" } };
            return new Promise((_, reject) => {
              signal.addEventListener("abort", () => {
                wasEnded = true;
                reject(signal.reason);
              });
            });
          },
        },
      });
      expect(textOf(await passing(options.clock, client.callTool("render")))).toBe("done");
      expect(server.of("tasks/update").map(({ params }) => params.inputResponses)).toEqual([
        { quick: { action: "accept", content: { name: "q" } } },
      ]);
      // The task has ended, so the other question needs no answer any more.
      expect(wasEnded).toBe(true);
    },
  },
  {
    row: "C-X53",
    says: "the abort of a call cancels its task, and sends no notification",
    async test({ open, revision }) {
      const options = timed();
      const script = taskServer(revision, { steps: [{ status: "working" }] });
      const { client, server, settled } = await open({ ...options, ...script });
      const controller = new AbortController();
      const called = client.callTool("render", {}, { signal: controller.signal });
      called.catch(() => {});
      await passing(options.clock, server.arrival("tasks/get"));
      await settled();
      controller.abort();
      await expect(called).rejects.toMatchObject({ code: "cancelled" });
      await server.arrival("tasks/cancel");
      await settled();
      expect(server.of("tasks/cancel").map(({ params }) => params.taskId)).toEqual([taskId]);
      const cancelled = server.of("notifications/cancelled").map(({ params }) => params.requestId);
      expect(cancelled).not.toContain(server.of("tools/call")[0]!.id);
    },
  },
  {
    row: "C-X53",
    says: "cancel asks the server and fails the call, detach leaves the task alone",
    async test({ open, revision }) {
      const script = taskServer(revision, { steps: [{ status: "working" }] });
      const { client, server, settled } = await open({ ...timed(), ...script });
      const first = await startTool(client, "render");
      await first.cancel();
      await expect(first.result).rejects.toMatchObject({ code: "cancelled" });
      expect(server.of("tasks/cancel")).toHaveLength(1);
      const second = await startTool(client, "render");
      second.detach();
      await expect(second.result).rejects.toMatchObject({ code: "task-detached" });
      await settled();
      expect(server.of("tasks/cancel")).toHaveLength(1);
    },
  },
  {
    row: "C-X54",
    says: "no poll comes before the interval has passed, and the interval may change",
    async test({ open, revision }) {
      const options = timed();
      const name = isStateless(revision) ? "pollIntervalMs" : "pollInterval";
      const at: number[] = [];
      const script = taskServer(revision, {
        steps: [],
        begin: { status: "working", more: { [name]: 5_000 } },
        on: {
          "tasks/get": () => {
            at.push(options.clock.now());
            const more = { [name]: at.length === 1 ? 1 : 10 ** 8 };
            return stateOf(revision, { status: "working", more });
          },
        },
      });
      const { client, server } = await open({ ...options, ...script });
      const begin = options.clock.now();
      const task = await startTool(client, "render");
      await passing(options.clock, server.arrival("tasks/get", 3));
      const [first = 0, second = 0, third = 0] = at;
      expect(first - begin).toBeGreaterThanOrEqual(5_000);
      // The server's wish of one millisecond is not taken literally, nor that of a day.
      expect(second - first).toBeGreaterThanOrEqual(250);
      expect(third - second).toBeGreaterThanOrEqual(60_000);
      expect(third - second).toBeLessThan(10 ** 7);
      task.detach();
    },
  },
  {
    row: "C-X54",
    says: "the ref is stored before startTool resolves, outlives the client, and is deleted at the end",
    async test({ stage, revision }) {
      const store = createMemoryStorage().kv;
      const options = { ...timed(), extensions: [tasks({ store })] };
      const script = taskServer(revision, { steps: [{ status: "completed" }] });
      const { connect } = await stage({ ...options, ...script });
      const first = await connect();
      const { ref } = await startTool(first, "render");
      const dialect = isStateless(revision) ? "extension" : "core";
      expect(ref).toEqual({ server: "scripted", taskId, dialect, tool: "render" });
      expect((await store.list("task/")).map(({ value }) => JSON.parse(value))).toEqual([ref]);
      await first.close();
      const { connect: again } = await stage({
        ...options,
        ...taskServer(revision, { steps: [{ status: "completed" }] }),
      });
      const second = await again();
      const [stored] = await storedTasks(second);
      const resumed = resumeTask(second, JSON.parse(JSON.stringify(stored)) as TaskRef);
      expect(textOf(await passing(options.clock, resumed.result))).toBe("the result");
      expect(resumed.state?.status).toBe("completed");
      expect(await store.list("task/")).toEqual([]);
    },
  },
  {
    row: "C-X55",
    says: "a question is asked once across polls, about the call of its task",
    on: ["2026-07-28"],
    async test({ open, revision }) {
      const options = timed();
      const q1 = question("Which look?");
      let polls = 0;
      const script = taskServer(revision, {
        steps: [],
        on: {
          "tasks/get": (_, server) => {
            polls += 1;
            if (polls > 3 && server.of("tasks/update").length > 0)
              return { ...stateOf(revision, { status: "completed" }), result: text("done") };
            return { ...stateOf(revision, { status: "input_required" }), inputRequests: { q1 } };
          },
        },
      });
      const asked: unknown[] = [];
      const { client, server } = await open({
        ...options,
        ...script,
        answers: {
          elicit: ({ message }, { during }) => {
            asked.push(message, during);
            return { action: "accept", content: { name: "noir" } };
          },
        },
      });
      await passing(options.clock, client.callTool("render"));
      expect(asked).toEqual(["Which look?", { method: "tools/call", name: "render" }]);
      expect(server.of("tasks/update").map(({ params: { _meta, ...params } }) => params)).toEqual([
        { taskId, inputResponses: { q1: { action: "accept", content: { name: "noir" } } } },
      ]);
    },
  },
  {
    row: "C-X55",
    says: "an answer that does not fit its form is not sent, and the call fails",
    on: ["2026-07-28"],
    async test({ open, revision }) {
      const options = timed();
      const script = taskServer(revision, {
        steps: [{ status: "input_required", inputRequests: { q1: question("Which look?") } }],
      });
      const { client, server } = await open({
        ...options,
        ...script,
        answers: { elicit: () => ({ action: "accept", content: { name: 7 } }) },
      });
      await expect(passing(options.clock, client.callTool("render"))).rejects.toMatchObject({ code: "answer-invalid" });
      await server.arrival("tasks/cancel");
      expect(server.of("tasks/update")).toEqual([]);
    },
  },
  {
    row: "C-X55",
    says: "a question that the client does not support is refused as in any call",
    async test({ open, revision }) {
      const options = timed();
      const isNew = isStateless(revision);
      let refused: unknown;
      const script = taskServer(revision, {
        steps: [{ status: "input_required", inputRequests: { q1: question("Which look?") } }],
        ...(!isNew && {
          on: {
            "tasks/result": async (_, server) => {
              refused = (await server.ask("elicitation/create", relatedQuestion("Which look?"))).error;
              return text("without an answer");
            },
          },
        }),
      });
      const { client } = await open({ ...options, ...script });
      const called = passing(options.clock, client.callTool("render"));
      if (isNew) await expect(called).rejects.toMatchObject({ code: -32601 });
      else {
        expect(textOf(await called)).toBe("without an answer");
        expect(refused).toMatchObject({ code: -32601 });
      }
    },
  },
  {
    row: "C-X57",
    says: "the result arrives by the stream, long before the next poll",
    async test({ open, revision }) {
      const options = timed();
      const script = taskServer(revision, { steps: [{ status: "working" }] });
      const { client, server, settled } = await open({ ...options, ...script });
      const task = await startTool(client, "render");
      const { id, params } = await passing(options.clock, server.arrival("subscriptions/listen"));
      expect(params.notifications).toEqual({ taskIds: [taskId] });
      await settled();
      // The pause that had begun before the stream was open is a short one.
      await options.clock.advance(2_000);
      await settled();
      const polls = server.of("tasks/get").length;
      await options.clock.advance(20_000);
      expect(server.of("tasks/get")).toHaveLength(polls);
      const _meta = { [metaKey("subscriptionId")]: id };
      const seen: string[] = [];
      const reading = (async () => {
        for await (const { status, message = "" } of task.events) seen.push(`${status} ${message}`);
      })();
      server.notify("notifications/tasks", {
        ...stateOf(revision, { status: "working", more: { statusMessage: "3 of 40" } }),
        _meta,
      });
      await settled();
      server.notify("notifications/tasks", {
        ...stateOf(revision, { status: "completed" }),
        result: text("by the stream"),
        _meta,
      });
      expect(textOf(await task.result)).toBe("by the stream");
      await reading;
      expect(seen).toContain("working 3 of 40");
      expect(seen.at(-1)).toBe("completed ");
      expect(server.of("tasks/get")).toHaveLength(polls);
    },
  },
  {
    row: "C-X57",
    says: "a server without a stream is polled, and asked for one only once",
    async test({ open, revision }) {
      const options = timed();
      const script = taskServer(revision, {
        steps: [{ status: "working" }, { status: "working" }, { status: "completed" }],
        on: {
          "subscriptions/listen": () => {
            throw refusal(-32601, "Method not found");
          },
        },
      });
      const { client, server } = await open({ ...options, ...script });
      await passing(options.clock, client.callTool("render"));
      await passing(options.clock, client.callTool("render"));
      expect(server.of("subscriptions/listen")).toHaveLength(1);
    },
  },
  {
    row: "C-X62",
    says: "neither the handshake nor a call names it",
    async test({ open }) {
      const { client, server } = await open({ extensions: [tasks()] });
      await client.callTool("a");
      const task = await startTool(client, "a");
      expect(task.ref).toBeUndefined();
      expect(JSON.stringify(server.sent)).not.toContain("tasks");
    },
  },
  {
    row: "C-X66",
    says: "a task that the server does not know fails the call with task-lost",
    async test({ open, revision }) {
      const options = timed();
      const on = {
        "tasks/get": () => {
          throw refusal(-32602, "Task not found");
        },
      };
      const { client } = await open({ ...options, ...taskServer(revision, { steps: [], on }) });
      await expect(passing(options.clock, client.callTool("render"))).rejects.toMatchObject({ code: "task-lost" });
    },
  },
  {
    row: "C-X66",
    says: "errors of the server pass by themselves, unless too many follow each other",
    async test({ open, revision }) {
      let failures = 3;
      const on = {
        "tasks/get": () => {
          failures -= 1;
          if (failures >= 0) throw refusal(-32603, "Internal error");
          return {
            ...stateOf(revision, { status: "completed" }),
            ...(isStateless(revision) && { result: text("done") }),
          };
        },
      };
      const script = taskServer(revision, { steps: [], on, result: text("done") });
      const options = timed();
      const { client } = await open({ ...options, ...script });
      expect(textOf(await passing(options.clock, client.callTool("render")))).toBe("done");
      failures = 100;
      await expect(passing(options.clock, client.callTool("render"))).rejects.toMatchObject({ code: -32603 });
    },
  },
  {
    row: "C-X66",
    says: "polls that time out are repeated until the ttl has passed, then the task is lost",
    async test({ open, revision }) {
      const name = isStateless(revision) ? "ttlMs" : "ttl";
      let isSilent = true;
      let polls = 0;
      const script = taskServer(revision, {
        steps: [],
        begin: { status: "working", more: { [name]: 600_000 } },
        on: {
          "tasks/get": () => {
            polls += 1;
            if (isSilent && polls !== 3) return undefined;
            return stateOf(revision, { status: "working", more: { [name]: 600_000 } });
          },
        },
      });
      const options = { ...timed(), idleMs: 20_000 };
      const { client } = await open({ ...options, ...script });
      const { result } = await startTool(client, "render");
      await expect(passing(options.clock, result)).rejects.toMatchObject({ code: "task-lost" });
      expect(polls).toBeGreaterThan(5);
      isSilent = false;
    },
  },
];
