// The MCP client of the AI SDK behind the interface of peer.d.mts. It ignores notifications, so progress, logging and
// subscriptions are missing.
import { createMCPClient, ElicitationRequestSchema } from "@ai-sdk/mcp";
import { StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";
import { createRecorder, watchExit } from "./recorder.mjs";

/** Connects: with the mode `auto` the client detects the version, else it offers the given one. */
export async function connect({ name, mode, version, answers, declares = { elicitation: {} }, ...target }) {
  const recorder = createRecorder();
  const transport = createTransport(target, mode === "auto" ? undefined : version);
  let child;
  const start = transport.start?.bind(transport);
  if (start) {
    transport.start = async () => {
      await start();
      child = transport.process;
    };
  }
  const client = await createMCPClient({
    transport,
    clientName: name,
    capabilities: declares,
    protocolVersionDiscovery: mode === "auto",
    onUncaughtError: (error) => recorder.errors.push(error.message),
  });
  const current = { ...answers };
  if (declares.elicitation) {
    client.onElicitationRequest(ElicitationRequestSchema, ({ method, params }) => {
      recorder.asked.push({ method, params });
      return current.elicit(params, new AbortController().signal);
    });
  }
  const listAll = async (list, member) => {
    const all = [];
    let cursor;
    let pages = 0;
    do {
      const page = await list(cursor === undefined ? {} : { params: { cursor } });
      all.push(...page[member]);
      cursor = page.nextCursor;
      pages += 1;
    } while (cursor !== undefined);
    return { all, pages };
  };
  const { protocolVersion, serverInfo, capabilities, instructions } = client.initializeResult;

  return {
    name,
    version: protocolVersion,
    pid: child?.pid,
    exit: watchExit(child),
    answers: current,
    errors: recorder.errors,
    heard: recorder.heard,
    asked: recorder.asked,
    hears: recorder.hears,
    server: { info: serverInfo, capabilities, instructions },
    callTool: (tool, args = {}, { signal } = {}) =>
      client.callTool({ name: tool, arguments: args, ...(signal && { options: { signal } }) }),
    listTools: () => listAll((options) => client.listTools(options), "tools"),
    listResources: () => listAll((options) => client.listResources(options), "resources"),
    listTemplates: async () => ({ all: (await client.listResourceTemplates()).resourceTemplates, pages: 1 }),
    listPrompts: () => listAll((options) => client.listPrompts(options), "prompts"),
    listToolsFrom: (cursor) => client.listTools({ params: { cursor } }),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (prompt, args = {}) => client.getPrompt({ name: prompt, arguments: args }),
    complete: (params) => client.complete(params),
    ping: () => lacking("ping"),
    setLogLevel: () => lacking("set a log level"),
    follow: () => lacking("follow a resource"),
    followLists: () => lacking("follow lists"),
    close: () => client.close(),
  };
}

/** Creates a transport. This client always offers its newest version, so another one is set in outgoing messages. */
function createTransport({ script, env = {}, url, httpSse }, version) {
  if (url !== undefined) {
    const send = (address, init) => fetch(address, init?.body ? { ...init, body: offer(init.body, version) } : init);
    return httpSse ? { type: "sse", url: new URL("/sse", url).href, fetch: send } : { type: "http", url, fetch: send };
  }
  const transport = new StdioMCPTransport({
    command: process.execPath,
    args: [script],
    env: { ...process.env, ...env },
    stderr: "ignore",
  });
  // Without this, a server that starts slowly on a busy machine would miss the timeout of the first request.
  transport.waitsForProtocolVersionDiscovery = true;
  const send = transport.send.bind(transport);
  transport.send = (message) => send(JSON.parse(offer(JSON.stringify(message), version)));
  return transport;
}

function offer(body, version) {
  const message = JSON.parse(body);
  if (version === undefined || message.method !== "initialize") return body;
  return JSON.stringify({ ...message, params: { ...message.params, protocolVersion: version } });
}

function lacking(what) {
  return Promise.reject(new Error(`the client of the AI SDK cannot ${what}`));
}
