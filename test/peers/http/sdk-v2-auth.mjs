// A server on the official SDK, version 2, that requires tokens; the authorization server is that of version 1.

import { createOAuthMetadata } from "@modelcontextprotocol/sdk/server/auth/router.js";
import {
  createMcpHandler,
  getOAuthProtectedResourceMetadataUrl,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  oauthMetadataResponse,
  requireBearerAuth,
} from "@modelcontextprotocol/server";
import { serveWeb, toText } from "./listen.mjs";
import { listenApart, Provider, startAuthority } from "./sdk-auth.mjs";

const scopesSupported = ["mcp:tools"];
const provider = new Provider();
const verifier = {
  verifyAccessToken: (token) =>
    provider.verifyAccessToken(token).catch(() => {
      throw new OAuthError(OAuthErrorCode.InvalidToken, "unknown token");
    }),
};

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: "sdk-v2-auth", version: "1.0.0" });
  server.registerTool("whoami", {}, ({ http }) =>
    toText(`${http.authInfo.clientId} ${http.authInfo.scopes.join(" ")}`),
  );
  return server;
});

const origin = await listenApart(async (app, own) => {
  const resourceServerUrl = new URL("/mcp", own);
  const issuerUrl = await startAuthority(provider);
  const oauthMetadata = createOAuthMetadata({ provider, issuerUrl, scopesSupported });
  const gate = requireBearerAuth({
    verifier,
    requiredScopes: scopesSupported,
    resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resourceServerUrl),
    expectedResource: resourceServerUrl,
  });
  const answer = async (request) => {
    const document = oauthMetadataResponse(request, { oauthMetadata, resourceServerUrl, scopesSupported });
    if (document) return document;
    const authInfo = await gate(request);
    return authInfo instanceof Response ? authInfo : handler.fetch(request, { authInfo });
  };
  app.use((request, response) => serveWeb(answer, request, response));
});
process.stdout.write(`${origin.origin}/mcp\n`);
