// Tools that run as tasks, on the official SDK, version 1, over stdio.
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";

const server = new McpServer(
  { name: "sdk-v1-tasks", version: "1.0.0" },
  {
    capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    taskStore: new InMemoryTaskStore(),
    taskMessageQueue: new InMemoryTaskMessageQueue(),
  },
);

const toText = (text) => ({ content: [{ type: "text", text }] });

/** Registers a tool that runs `work` in the background of its task. */
function register(name, taskSupport, work) {
  server.experimental.tasks.registerToolTask(
    name,
    { description: name, execution: { taskSupport } },
    {
      async createTask(extra) {
        const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 250 });
        work(task.taskId, extra).catch((error) =>
          extra.taskStore.updateTaskStatus(task.taskId, "failed", String(error)).catch(() => {}),
        );
        return { task };
      },
      getTask: (extra) => extra.taskStore.getTask(extra.taskId),
      getTaskResult: (extra) => extra.taskStore.getTaskResult(extra.taskId),
    },
  );
}

register("required", "required", (id, { taskStore }) => taskStore.storeTaskResult(id, "completed", toText("done")));
register("optional", "optional", (id, { taskStore }) => taskStore.storeTaskResult(id, "completed", toText("done")));
register("fails", "required", (id, { taskStore }) =>
  taskStore.storeTaskResult(id, "failed", { ...toText("out of ink"), isError: true }),
);
register("endless", "required", async () => {});
register("asks", "required", async (taskId, { taskStore, sendRequest }) => {
  await taskStore.updateTaskStatus(taskId, "input_required");
  const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
  const question = { method: "elicitation/create", params: { message: "Who?", requestedSchema } };
  const { content } = await sendRequest(question, ElicitResultSchema, { relatedTask: { taskId } });
  await taskStore.storeTaskResult(taskId, "completed", toText(`Hello ${content.name}`));
});

await server.connect(new StdioServerTransport());
