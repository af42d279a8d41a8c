// The official view and the official host of apps, over any pair of functions.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge";
import { App } from "@modelcontextprotocol/ext-apps/app-with-deps";

/** A transport that posts with a function. Call `receive` for each message of the other side. */
function transportTo(post) {
  return {
    async start() {},
    async send(message) {
      post(message);
    },
    async close() {
      this.onclose?.();
    },
    receive(message) {
      this.onmessage?.(message);
    },
  };
}

/** Starts the official view on a channel of ours. Returns it, and what it was told. */
export async function connectView(channel) {
  const view = new App(
    { name: "official", version: "1.0.0" },
    { availableDisplayModes: ["inline", "fullscreen"] },
    { autoResize: false },
  );
  const told = [];
  view.ontoolinputpartial = (params) => told.push(["partial", params]);
  view.ontoolinput = (params) => told.push(["input", params]);
  view.ontoolresult = (params) => told.push(["result", params]);
  view.ontoolcancelled = (params) => told.push(["cancelled", params]);
  view.onhostcontextchanged = (params) => told.push(["surroundings", params]);
  view.onteardown = (params) => {
    told.push(["teardown", params]);
    return {};
  };
  const transport = transportTo((message) => channel.send(message));
  channel.onPost = (message) => transport.receive(message);
  await view.connect(transport);
  return { view, told };
}

/** Connects the official client to a server, and returns the official host of one of its tools. */
export async function openBridge(url, tool, post) {
  const client = new Client(
    { name: "official", version: "1.0.0" },
    {
      capabilities: {
        extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
      },
    },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  const uri = getToolUiResourceUri(tools.find(({ name }) => name === tool));
  const { contents } = await client.readResource({ uri });
  const bridge = new AppBridge(
    client,
    { name: "official", version: "1.0.0" },
    { serverTools: {}, serverResources: {} },
  );
  const initialized = new Promise((resolve) => {
    bridge.oninitialized = resolve;
  });
  const transport = transportTo(post);
  await bridge.connect(transport);
  return {
    uri,
    content: contents[0],
    receive: (message) => transport.receive(message),
    /** Calls the tool, and shows the call to the view. */
    async show(args) {
      await initialized;
      await bridge.sendToolInput({ arguments: args });
      await bridge.sendToolResult(await client.callTool({ name: tool, arguments: args }));
    },
    teardown: () => bridge.teardownResource({}),
    close: () => client.close(),
  };
}
