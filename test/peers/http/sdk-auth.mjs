// An authorization server on the official SDK, version 1: its demonstration provider, completed.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { DemoInMemoryAuthProvider } from "@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js";
import { InvalidGrantError, InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { mcpAuthRouter } from "@modelcontextprotocol/sdk/server/auth/router.js";
import express from "express";

/** The demonstration provider with tokens that can be refreshed, revoked, and expired by a test. */
export class Provider extends DemoInMemoryAuthProvider {
  #refreshTokens = new Map();

  async exchangeAuthorizationCode(client, code, ...rest) {
    const { resource, scopes } = this.codes.get(code)?.params ?? {};
    const answer = await super.exchangeAuthorizationCode(client, code, ...rest);
    return { ...answer, refresh_token: this.#remember({ clientId: client.client_id, resource, scopes }) };
  }

  async exchangeRefreshToken(client, refreshToken, _scopes, resource) {
    const granted = this.#refreshTokens.get(refreshToken);
    this.#refreshTokens.delete(refreshToken);
    if (granted?.clientId !== client.client_id) throw new InvalidGrantError("unknown refresh token");
    if (resource?.href !== granted.resource?.href) throw new InvalidGrantError("another resource");
    const token = randomUUID();
    const expiresAt = Date.now() + 3_600_000;
    this.tokens.set(token, { ...granted, token, expiresAt, scopes: granted.scopes ?? [], type: "access" });
    return { access_token: token, token_type: "bearer", expires_in: 3_600, refresh_token: this.#remember(granted) };
  }

  async revokeToken(_client, { token }) {
    this.#refreshTokens.delete(token);
    this.tokens.delete(token);
  }

  async verifyAccessToken(token) {
    return super.verifyAccessToken(token).catch((cause) => {
      throw new InvalidTokenError("unknown token", { cause });
    });
  }

  #remember(granted) {
    const refreshToken = randomUUID();
    this.#refreshTokens.set(refreshToken, granted);
    return refreshToken;
  }
}

/** Listens on loopback; `serve` gets the application and its URL before the first request. */
export async function listenApart(serve) {
  const app = express();
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = new URL(`http://127.0.0.1:${server.address().port}`);
  await serve(app, origin);
  return origin;
}

/** A separate authorization server; a POST to /end expires all access tokens, for the test. */
export async function startAuthority(provider) {
  return listenApart((app, issuerUrl) => {
    app.post("/end", (_request, response) => {
      provider.tokens.clear();
      response.end();
    });
    app.use(mcpAuthRouter({ provider, issuerUrl, scopesSupported: ["mcp:tools"] }));
  });
}
