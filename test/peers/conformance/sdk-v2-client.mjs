// Runs the one client scenario that the conformance suite names in its environment variables, on the official SDK,
// version 2: the same steps as test/conformance/client.mjs, with its documented API.
import { Client, SdkErrorCode, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { createProvider } from "./sdk-v2-provider.mjs";

const {
  MCP_CONFORMANCE_SCENARIO: name = "initialize",
  MCP_CONFORMANCE_PROTOCOL_VERSION: version = "2025-11-25",
  MCP_CONFORMANCE_CONTEXT: context = "{}",
} = process.env;
const url = new URL(process.argv.at(-1));
console.log(`Using ${url} with Node ${process.version}`);

const callTool = (client, tool, args = {}) => client.callTool({ name: tool, arguments: args });

const scenarios = {
  initialize: (client) => client.listTools(),
  async tools_call(client) {
    await client.listTools();
    await callTool(client, "add_numbers", { a: 5, b: 3 });
  },
  "elicitation-sep1034-client-defaults": (client) => callTool(client, "test_client_elicitation_defaults"),
  "sse-retry": (client) => callTool(client, "test_reconnection"),
  async "json-schema-2020-12-preservation"(client) {
    const { tools } = await client.listTools();
    const schema = tools.find((tool) => tool.name === "json_schema_2020_12_tool")?.inputSchema;
    await callTool(client, "json_schema_echo", { schema });
  },
  "json-schema-ref-no-deref": (client) => client.listTools(),
  "request-metadata": (client) => client.listTools(),
  async "sep-2322-client-request-state"(client) {
    await callTool(client, "test_mrtr_echo_state");
    await callTool(client, "test_mrtr_no_state");
    await callTool(client, "test_mrtr_unrelated");
    // It may reject a result without a type; the suite checks only the messages that it sends.
    await callTool(client, "test_mrtr_no_result_type").catch((error) => {
      if (error.code !== SdkErrorCode.InvalidResult) throw error;
    });
  },
  async "http-standard-headers"(client) {
    await callEveryTool(client);
    for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri });
    for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name });
  },
  async "http-custom-headers"(client) {
    await client.listTools();
    for (const { name, arguments: args } of JSON.parse(context).toolCalls) await callTool(client, name, args);
  },
  "http-invalid-tool-headers": callEveryTool,
};

async function callEveryTool(client) {
  for (const { name } of (await client.listTools()).tools) await callTool(client, name);
}

/** The steps of every authorization scenario. */
async function useTestTool(client, transport) {
  await withConsent(transport, () => client.listTools());
  await withConsent(transport, () => callTool(client, "test-tool"));
}

function createClient() {
  const client = new Client(
    { name: "sdk-v2-conformance", version: "1.0.0" },
    {
      capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
      versionNegotiation: { mode: version >= "2026-07-28" ? { pin: version } : "legacy" },
    },
  );
  client.setRequestHandler("elicitation/create", ({ params }) => ({
    action: "accept",
    content: "confirmed" in params.requestedSchema.properties ? { confirmed: true } : {},
  }));
  client.setRequestHandler("sampling/createMessage", () => ({
    role: "assistant",
    content: { type: "text", text: "Hello" },
    model: "none",
  }));
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///tmp", name: "tmp" }] }));
  return client;
}

const provider = createProvider(JSON.parse(context));
const toTransport = () => new StreamableHTTPClientTransport(url, { authProvider: provider });

/** Connects; if the user has to authorize first, does so and connects again, as the SDK requires. */
async function connect() {
  const transport = toTransport();
  const client = createClient();
  try {
    await client.connect(transport);
    return { client, transport };
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await transport.finishAuth(provider.callback());
    const again = createClient();
    const authorized = toTransport();
    await again.connect(authorized);
    return { client: again, transport: authorized };
  }
}

/** Runs an action; if the user has to authorize more scopes first, does so and runs it again. */
async function withConsent(transport, act) {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await transport.finishAuth(provider.callback());
    return act();
  }
}

const { client, transport } = await connect();
await (scenarios[name] ?? useTestTool)(client, transport);
await client.close();
