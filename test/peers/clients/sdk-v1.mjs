// The official SDK, version 1, behind the interface of peer.d.mts.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { capabilities, createRecorder, watchExit } from "./recorder.mjs";

const notificationSchemas = [
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
  PromptListChangedNotificationSchema,
  ElicitationCompleteNotificationSchema,
];

export async function connect({ name, version, answers, declares = capabilities, ...target }) {
  const client = new Client({ name, version: "1.0.0" }, { capabilities: declares });
  const recorder = createRecorder();
  client.onerror = (error) => recorder.errors.push(error.message);
  const current = { ...answers };
  const serve = (schema, answer) =>
    client.setRequestHandler(schema, ({ method, params }, { signal }) => {
      recorder.asked.push({ method, params });
      return answer(params, signal);
    });
  if (declares.elicitation) serve(ElicitRequestSchema, (params, signal) => current.elicit(params, signal));
  if (declares.sampling) serve(CreateMessageRequestSchema, (params) => current.sample(params));
  if (declares.roots) serve(ListRootsRequestSchema, () => current.roots());
  for (const schema of notificationSchemas) {
    client.setNotificationHandler(schema, ({ method, params }) => recorder.hear(method, params));
  }

  const transport = createTransport(target);
  let negotiated;
  const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (agreed) => {
    negotiated = agreed;
    setProtocolVersion?.(agreed);
  };
  // This client always offers its newest version, so an older one is set in outgoing messages.
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (message.method !== "initialize") return send(message, options);
    return send({ ...message, params: { ...message.params, protocolVersion: version } }, options);
  };
  await client.connect(transport);
  const exit = watchExit(target.url === undefined ? transport._process : undefined);
  const listAll = async (list, member) => {
    const all = [];
    let cursor;
    let pages = 0;
    do {
      const page = await list(cursor === undefined ? {} : { cursor });
      all.push(...page[member]);
      cursor = page.nextCursor;
      pages += 1;
    } while (cursor !== undefined);
    return { all, pages };
  };

  return {
    name,
    version: negotiated,
    pid: transport.pid,
    exit,
    answers: current,
    errors: recorder.errors,
    heard: recorder.heard,
    asked: recorder.asked,
    hears: recorder.hears,
    server: {
      info: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    },
    callTool: (tool, args = {}, { signal, onProgress } = {}) =>
      client.callTool({ name: tool, arguments: args }, CallToolResultSchema, {
        ...(signal && { signal }),
        ...(onProgress && { onprogress: onProgress }),
      }),
    listTools: () => listAll((params) => client.listTools(params), "tools"),
    listResources: () => listAll((params) => client.listResources(params), "resources"),
    listTemplates: () => listAll((params) => client.listResourceTemplates(params), "resourceTemplates"),
    listPrompts: () => listAll((params) => client.listPrompts(params), "prompts"),
    listToolsFrom: (cursor) => client.listTools({ cursor }),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (prompt, args = {}) => client.getPrompt({ name: prompt, arguments: args }),
    complete: (params) => client.complete(params),
    ping: () => client.ping(),
    setLogLevel: (level) => client.setLoggingLevel(level),
    follow: async (uri) => {
      await client.subscribeResource({ uri });
      return { stop: () => client.unsubscribeResource({ uri }) };
    },
    followLists: async () => ({ stop: async () => {} }),
    close: () => client.close(),
  };
}

function createTransport({ script, env = {}, url, httpSse }) {
  if (httpSse) return new SSEClientTransport(new URL("/sse", url));
  if (url !== undefined) return new StreamableHTTPClientTransport(new URL(url));
  return new StdioClientTransport({
    command: process.execPath,
    args: [script],
    env: { ...process.env, ...env },
    stderr: "ignore",
  });
}
