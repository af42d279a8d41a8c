// A host of another project in a page: it connects to a server of ours, calls a tool, and shows the tool's app.
import { AppRenderer, UI_EXTENSION_CAPABILITIES } from "@mcp-ui/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createElement } from "react";
import { createRoot } from "react-dom/client";

/** What the host was told, for the test. */
const told = { links: [], messages: [], sizes: [], errors: [] };

window.showTool = async ({ url, tool, args, sandbox }) => {
  const info = { name: "mcp-ui", version: "1.0.0" };
  const client = new Client(info, { capabilities: { extensions: UI_EXTENSION_CAPABILITIES } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  const toolResult = await client.callTool({ name: tool, arguments: args });
  const element = createElement(AppRenderer, {
    client,
    toolName: tool,
    sandbox: { url: new URL(sandbox) },
    toolInput: args,
    toolResult,
    hostContext: { theme: "dark", locale: "de" },
    onOpenLink: async ({ url: link }) => {
      told.links.push(link);
      return {};
    },
    onMessage: async ({ content }) => {
      told.messages.push(content);
      return {};
    },
    onSizeChanged: (size) => told.sizes.push(size),
    onError: (error) => told.errors.push(String(error)),
  });
  createRoot(document.querySelector("#app")).render(element);
  return tools.map(({ name }) => name);
};
window.told = told;
