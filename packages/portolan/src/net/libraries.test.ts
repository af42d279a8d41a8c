import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import * as jose from "jose";
import * as oauth from "oauth4webapi";
import { describe, expect, onTestFinished, test } from "vitest";
import type { FetchPolicy } from "./policy.ts";
import { createSafeFetch } from "./safe-fetch.ts";

const local: FetchPolicy = { privateHosts: ["localhost"], lookup: async () => ["127.0.0.1"] };

interface Seen {
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

async function startServer(handle: (seen: Seen, response: ServerResponse) => void): Promise<{ readonly url: string }> {
  const server = createServer(async (request, response) => {
    handle({ body: await text(request), headers: request.headers }, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://localhost:${(server.address() as AddressInfo).port}` };
}

describe("a safe fetch works as the fetch of", () => {
  test("jose, for keys", async () => {
    const { publicKey, privateKey } = await jose.generateKeyPair("ES256");
    const keys = [{ ...(await jose.exportJWK(publicKey)), alg: "ES256" }];
    const server = await startServer((_, response) => response.end(JSON.stringify({ keys })));
    const keySet = jose.createRemoteJWKSet(new URL(server.url), { [jose.customFetch]: createSafeFetch(local) });
    const token = await new jose.SignJWT({ sub: "ada" }).setProtectedHeader({ alg: "ES256" }).sign(privateKey);
    expect((await jose.jwtVerify(token, keySet)).payload.sub).toBe("ada");
  });

  test("oauth4webapi, for metadata and tokens", async () => {
    const server = await startServer(({ body, headers }, response) => {
      const metadata = { issuer: `${server.url}/as`, token_endpoint: `${server.url}/token` };
      const token = { access_token: `${body} ${headers["content-type"]}`, token_type: "bearer" };
      response.setHeader("content-type", "application/json").end(JSON.stringify(body === "" ? metadata : token));
    });
    const options = { [oauth.customFetch]: createSafeFetch(local), [oauth.allowInsecureRequests]: true } as const;
    const issuer = new URL(`${server.url}/as`);
    const found = await oauth.discoveryRequest(issuer, { ...options, algorithm: "oauth2" });
    const metadata = await oauth.processDiscoveryResponse(issuer, found);
    const client = { client_id: "me" };
    const answer = await oauth.clientCredentialsGrantRequest(metadata, client, oauth.None(), { scope: "a b" }, options);
    const { access_token } = await oauth.processClientCredentialsResponse(metadata, client, answer);
    expect(access_token).toContain("scope=a+b");
    expect(access_token).toContain("application/x-www-form-urlencoded");
  });
});
