// Drives tasks of a server with other clients, and prints what came of them as JSON:
//   node tasks.mjs sdk-v1|ext-tasks-legacy|ext-tasks <url>
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [kind, url = ""] = process.argv.slice(2);
const ada = { action: "accept", content: { name: "Ada" } };
const textOf = (result) => result?.content?.[0]?.text;
/** @type {{ [tool: string]: unknown }} */
const outcomes = {};

if (kind === "sdk-v1") {
  const info = { name: "sdk-v1", version: "1.0.0" };
  const client = new ClientV1(info, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler(ElicitRequestSchema, () => ada);
  await client.connect(new TransportV1(new URL(url)));
  const { tools } = await client.listTools();
  for (const { name } of tools.filter((tool) => tool.name !== "endless")) {
    const seen = [];
    const stream = client.experimental.tasks.callToolStream({ name, arguments: {} }, CallToolResultSchema, {
      task: {},
    });
    for await (const message of stream) {
      if (message.type === "taskStatus") seen.push(message.task.status);
      if (message.type === "result") outcomes[name] = textOf(message.result);
      if (message.type === "error") outcomes[name] = message.error.message;
    }
  }
  const call = { name: "endless", arguments: {} };
  for await (const message of client.experimental.tasks.callToolStream(call, CallToolResultSchema, { task: {} })) {
    if (message.type !== "taskCreated") continue;
    const { taskId } = message.task;
    const cancelled = await client.experimental.tasks.cancelTask(taskId);
    outcomes.endless = cancelled.status;
    outcomes.found = (await client.experimental.tasks.getTask(taskId)).status;
    break;
  }
  await client.close();
} else {
  const isModern = kind === "ext-tasks";
  const clientInfo = { name: "ext-tasks", version: "1.0.0" };
  const extensions = { "io.modelcontextprotocol/tasks": {} };
  const clientCapabilities = { elicitation: { form: {} }, ...(isModern && { extensions }) };
  const protocolVersion = "2026-07-28";
  const client = new ClientV2(clientInfo, {
    capabilities: clientCapabilities,
    versionNegotiation: { mode: isModern ? { pin: protocolVersion } : "legacy" },
  });
  await client.connect(new TransportV2(new URL(url)));
  /** Sends a request with the headers of the protocol. */
  const rawDispatch = async (request) => {
    const { method, params } = request;
    const named = params.name ?? params.taskId;
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": protocolVersion,
        "mcp-method": method,
        ...(named !== undefined && { "mcp-name": named }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: crypto.randomUUID(), ...request }),
    });
    const text = await response.text();
    const data = /^data: (.+)$/gm;
    const last = [...text.matchAll(data)].at(-1)?.[1];
    const { result, error } = JSON.parse(last ?? text);
    return error ? { kind: "error", error } : { kind: "result", result };
  };
  const { tools } = await client.listTools();
  const session = createTaskSessionFromClient(client, {
    endpointId: "tests",
    onInputRequest: async () => ada,
    ...(isModern && { rawDispatch, v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities } }),
  });
  // On 2025-11-25 this client polls and never asks for the result before the end: questions come on the stream of its session.
  if (!isModern) client.setRequestHandler("elicitation/create", () => ada);
  for (const { name, execution } of tools) {
    const declaration = {
      name,
      inputSchema: { type: "object" },
      ...(execution && { taskSupport: execution.taskSupport }),
    };
    const started = await session.callTool(name, {}, { declaration, task: { preference: "prefer" } });
    outcomes[`${name} kind`] = started.kind;
    if (name === "endless") {
      await started.cancel();
      outcomes[name] = (await session.task(started.handle.taskId).snapshot()).status;
      await started.detach();
      continue;
    }
    const { outcome } = await started.settle();
    outcomes[name] =
      outcome.status === "completed" ? textOf(outcome.result) : (outcome.error?.message ?? outcome.status);
  }
  await session.close();
  await client.close();
}
console.log(JSON.stringify(outcomes));
