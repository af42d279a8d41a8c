// @ts-check
// Runs the one client scenario that the conformance suite names in its environment variables:
//   npm run --silent conformance:client -- http://localhost:3000/mcp
import { clientCredentials, enterpriseManaged, oauth, workloadIdentity } from "portolan/auth/client";
import { connect } from "portolan/client";
import { listSkills, openSkill, readSkillFile, SkillError } from "portolan/client/skills";

/** @typedef {import("portolan/client").Client} Client */
/** @typedef {(client: Client) => Promise<unknown>} Scenario */

const {
  MCP_CONFORMANCE_SCENARIO: name = "initialize",
  MCP_CONFORMANCE_PROTOCOL_VERSION: version = "2025-11-25",
  MCP_CONFORMANCE_CONTEXT: context = "{}",
} = process.env;
const url = process.argv.at(-1) ?? "";
console.log(`Using ${url} with Node ${process.version}`);

/** @type {{ [scenario: string]: Scenario }} */
const scenarios = {
  initialize: (client) => client.listTools(),
  async tools_call(client) {
    await client.listTools();
    await client.callTool("add_numbers", { a: 5, b: 3 });
  },
  "elicitation-sep1034-client-defaults": (client) => client.callTool("test_client_elicitation_defaults"),
  "sse-retry": (client) => client.callTool("test_reconnection"),
  async "json-schema-2020-12-preservation"(client) {
    const tools = await client.listTools();
    const schema = tools.find((tool) => tool.name === "json_schema_2020_12_tool")?.inputSchema;
    await client.callTool("json_schema_echo", { schema });
  },
  "json-schema-ref-no-deref": (client) => client.listTools(),
  "request-metadata": (client) => client.listTools(),
  async "sep-2322-client-request-state"(client) {
    await client.callTool("test_mrtr_echo_state");
    await client.callTool("test_mrtr_no_state");
    await client.callTool("test_mrtr_unrelated");
    await client.callTool("test_mrtr_no_result_type");
  },
  async "http-standard-headers"(client) {
    await callEveryTool(client);
    for (const { uri } of await client.listResources()) await client.readResource(uri);
    for (const { name } of await client.listPrompts()) await client.getPrompt(name);
  },
  async "http-custom-headers"(client) {
    await client.listTools();
    for (const { name, arguments: args } of JSON.parse(context).toolCalls) await client.callTool(name, args);
  },
  "http-invalid-tool-headers": callEveryTool,
  "sep-2640-client-no-prefetch": (client) => listSkills(client),
  "sep-2640-client-verify-digest": useSkill,
  "sep-2640-client-verify-size": useSkill,
  "sep-2640-client-verify-frontmatter": useSkill,
};

async function callEveryTool(/** @type {Client} */ client) {
  for (const { name } of await client.listTools()) await client.callTool(name);
}

/** Reads a whole skill, as long as all of it is what the entry says. @param {Client} client */
async function useSkill(client) {
  for (const skill of await listSkills(client)) {
    try {
      const { resources } = (await openSkill(client, skill)).skill;
      for (const { uri } of resources === "dynamic" ? [] : resources) await readSkillFile(client, skill, uri);
    } catch (error) {
      if (!(error instanceof SkillError)) throw error;
      console.log(error.message);
    }
  }
}

/** Runs the steps of every authorization scenario. @param {Client} client */
async function useTestTool(client) {
  await client.listTools();
  await client.callTool("test-tool");
}

/** A redirect handler that follows every redirect: the suite's authorization servers show no pages. */
const redirect = {
  begin: async () => ({
    redirectUri: "http://127.0.0.1:3000/callback",
    async visit(/** @type {URL} */ page) {
      const response = await fetch(page, { redirect: "manual" });
      return new URL(response.headers.get("location") ?? "");
    },
    close: async () => {},
  }),
};

/** Returns the OAuth options that each scenario expects. @returns {import("portolan/auth/client").OAuthOptions} */
function authorization() {
  const given = JSON.parse(context);
  const client = { clientId: given.client_id, clientSecret: given.client_secret };
  switch (name) {
    case "auth/pre-registration":
      return { redirect, client: { ...client, issuer: given.issuer } };
    case "auth/client-credentials-jwt": {
      const { private_key_pem: privateKey, signing_algorithm: algorithm } = given;
      return { grant: clientCredentials({ clientId: client.clientId, privateKey, algorithm }) };
    }
    case "auth/client-credentials-basic":
      return { grant: clientCredentials(client) };
    case "auth/enterprise-managed-authorization": {
      const { idp_issuer: issuer, idp_token_endpoint: tokenEndpoint, idp_id_token: idToken } = given;
      const identityProvider = { issuer, tokenEndpoint, idToken, clientId: given.idp_client_id };
      return { grant: enterpriseManaged({ ...client, identityProvider }) };
    }
    case "auth/wif-jwt-bearer":
      return { grant: workloadIdentity({ clientId: client.clientId, assertion: given.valid_jwt }) };
    default:
      return { redirect, clientMetadataUrl: "https://conformance-test.local/client-metadata.json" };
  }
}

const client = await connect(url, {
  ...(name.startsWith("auth/") && { auth: oauth(authorization()) }),
  info: { name: "portolan-conformance", version: "1.0.0" },
  era: version >= "2026-07-28" ? "stateless" : "stateful",
  // The suite stops waiting after 30 s without ending this process, so the client must time out earlier.
  connectMs: 10_000,
  idleMs: 10_000,
  answers: {
    // The library fills in the defaults of missing fields.
    elicit: ({ requestedSchema }) => ({
      action: "accept",
      content: "confirmed" in requestedSchema.properties ? { confirmed: true } : {},
    }),
    sample: () => ({ role: "assistant", content: { type: "text", text: "Hello" }, model: "none" }),
    roots: [{ uri: "file:///tmp", name: "tmp" }],
  },
});
await (scenarios[name] ?? useTestTool)(client);
await client.close();
