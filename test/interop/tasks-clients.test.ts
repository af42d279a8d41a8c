import { fileURLToPath } from "node:url";
import { createServer, form, ToolError } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { tasks } from "portolan/server/tasks";
import { expect, onTestFinished, test } from "vitest";
import { run } from "../examples/example.ts";

const program = fileURLToPath(new URL("../peers/clients/tasks.mjs", import.meta.url));
const name = form({ type: "object", properties: { name: { type: "string" } }, required: ["name"] });

/** Serves tools that end in every way a task can end. */
async function serve(): Promise<string> {
  const server = createServer({ name: "tasks", version: "1.0.0" }, { onError() {} })
    .extend(tasks({ pollMs: 20 }))
    .tool("required", {
      task: "required",
      async run(_, ctx) {
        ctx.status("under way");
        await new Promise((resolve) => setTimeout(resolve, 30));
        return "done";
      },
    })
    .tool("asks", {
      task: "optional",
      async run(_, ctx) {
        const answer = await ctx.elicit("name", { message: "Which name?", form: name });
        return `Hello ${answer.action === "accept" ? answer.content["name"] : answer.action}`;
      },
    })
    .tool("fails", {
      task: "optional",
      run() {
        throw new ToolError("out of ink");
      },
    })
    .tool("endless", {
      task: "optional",
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
  const served = serveHttp(server);
  const { url } = await served.listen(0);
  onTestFinished(() => served.close(0));
  return url;
}

async function drive(client: string): Promise<{ [tool: string]: unknown }> {
  const { code, stdout, stderr } = await run(program, [client, await serve()]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

test("the official SDK, version 1, drives tasks of 2025-11-25", async () => {
  expect(await drive("sdk-v1")).toEqual({
    required: "done",
    asks: "Hello Ada",
    // This client shows a failed task without its result.
    fails: expect.stringMatching(/failed|out of ink/),
    endless: "cancelled",
    found: "cancelled",
  });
});

test("the official client of the extension drives tasks of 2025-11-25", async () => {
  expect(await drive("ext-tasks-legacy")).toEqual({
    "required kind": "task",
    required: "done",
    "asks kind": "task",
    asks: "Hello Ada",
    "fails kind": "task",
    fails: "out of ink",
    "endless kind": "task",
    endless: "cancelled",
  });
});

test("the official client of the extension drives tasks of 2026-07-28", async () => {
  expect(await drive("ext-tasks")).toEqual({
    "required kind": "task",
    required: "done",
    "asks kind": "task",
    asks: "Hello Ada",
    "fails kind": "task",
    fails: "out of ink",
    "endless kind": "task",
    endless: "cancelled",
  });
});
