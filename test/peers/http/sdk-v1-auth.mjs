// A server on the official SDK, version 1, that requires tokens: of an authorization server `apart`, or of its `own`.
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import {
  createOAuthMetadata,
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter,
  mcpAuthRouter,
} from "@modelcontextprotocol/sdk/server/auth/router.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { toText } from "./listen.mjs";
import { listenApart, Provider, startAuthority } from "./sdk-auth.mjs";

const [habit = "apart"] = process.argv.slice(2);
const scopesSupported = ["mcp:tools"];
const provider = new Provider();

async function serve(request, response) {
  const server = new McpServer({ name: "sdk-v1-auth", version: "1.0.0" });
  server.registerTool("whoami", {}, ({ authInfo }) => toText(`${authInfo.clientId} ${authInfo.scopes.join(" ")}`));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

const origin = await listenApart(async (app, own) => {
  const resourceServerUrl = new URL("/mcp", own);
  if (habit === "own") {
    app.post("/end", (_request, response) => {
      provider.tokens.clear();
      response.end();
    });
    app.use(mcpAuthRouter({ provider, issuerUrl: own, resourceServerUrl, scopesSupported }));
  } else {
    const issuerUrl = await startAuthority(provider);
    const oauthMetadata = createOAuthMetadata({ provider, issuerUrl, scopesSupported });
    app.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl, scopesSupported }));
  }
  const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(resourceServerUrl);
  app.use(
    "/mcp",
    requireBearerAuth({ verifier: provider, requiredScopes: scopesSupported, resourceMetadataUrl }),
    serve,
  );
});
process.stdout.write(`${origin.origin}/mcp\n`);
