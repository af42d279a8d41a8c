// The official SDK, version 2, behind the interface of peer.d.mts: one client for both eras.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { capabilities, createRecorder, notifications, watchExit } from "./recorder.mjs";

const logLevelKey = "io.modelcontextprotocol/logLevel";

/** Connects; `mode` is `legacy`, `auto` or `pin`, and `version` is the offered or pinned one. */
export async function connect({ name, mode, version, answers, declares = capabilities, ...target }) {
  const negotiation = mode === "pin" ? { pin: version } : mode;
  const options = { capabilities: declares, versionNegotiation: { mode: negotiation } };
  if (mode === "legacy") options.supportedProtocolVersions = [version];
  const client = new Client({ name, version: "1.0.0" }, options);
  const recorder = createRecorder();
  client.onerror = (error) => recorder.errors.push(error.message);
  const current = { ...answers };
  const serve = (method, answer) =>
    client.setRequestHandler(method, ({ params }, { mcpReq }) => {
      recorder.asked.push({ method, params });
      return answer(params, mcpReq.signal);
    });
  if (declares.elicitation) serve("elicitation/create", (params, signal) => current.elicit(params, signal));
  if (declares.sampling) serve("sampling/createMessage", (params) => current.sample(params));
  if (declares.roots) serve("roots/list", () => current.roots());
  for (const method of notifications) {
    client.setNotificationHandler(method, ({ params }) => recorder.hear(method, params));
  }

  const transport = createTransport(target);
  let child;
  const start = transport.start.bind(transport);
  transport.start = async () => {
    await start();
    child = transport._process;
  };
  await client.connect(transport);
  const exit = watchExit(child);
  const isModern = client.getProtocolEra() === "modern";
  let logLevel;
  const meta = () => (logLevel === undefined ? {} : { _meta: { [logLevelKey]: logLevel } });
  // Without a cursor this client reads all pages by itself.
  const countPages = async (method, member, list) => {
    let pages = 0;
    const send = transport.send;
    transport.send = (message, ...rest) => {
      if (message.method === method) pages += 1;
      return send.call(transport, message, ...rest);
    };
    try {
      const result = await list();
      return { all: result[member], pages };
    } finally {
      transport.send = send;
    }
  };

  return {
    name,
    version: client.getNegotiatedProtocolVersion(),
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
      client.callTool(
        { name: tool, arguments: args, ...meta() },
        { ...(signal && { signal }), ...(onProgress && { onprogress: onProgress }) },
      ),
    listTools: () => countPages("tools/list", "tools", () => client.listTools()),
    listResources: () => countPages("resources/list", "resources", () => client.listResources()),
    listTemplates: () =>
      countPages("resources/templates/list", "resourceTemplates", () => client.listResourceTemplates()),
    listPrompts: () => countPages("prompts/list", "prompts", () => client.listPrompts()),
    listToolsFrom: (cursor) => client.listTools({ cursor }),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (prompt, args = {}) => client.getPrompt({ name: prompt, arguments: args }),
    complete: (params) => client.complete(params),
    ping: () => client.ping(),
    setLogLevel: async (level) => {
      if (isModern) logLevel = level;
      else await client.setLoggingLevel(level);
    },
    follow: async (uri) => {
      if (isModern) {
        return toFollowing(await client.listen({ resourceSubscriptions: [uri] }));
      }
      await client.subscribeResource({ uri });
      return { stop: () => client.unsubscribeResource({ uri }) };
    },
    followLists: async () => {
      if (!isModern) return { stop: async () => {} };
      const filter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
      return toFollowing(await client.listen(filter));
    },
    close: () => client.close(),
  };
}

function toFollowing(subscription) {
  return { stop: () => subscription.close(), ended: subscription.closed };
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
