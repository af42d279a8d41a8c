import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import { protect } from "portolan/auth/server";
import { createServer as createMcpServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { expect, onTestFinished, test } from "vitest";
import { send } from "../http/kit.ts";
import { toHeaders, toMeta } from "../http/peer.ts";
import { TestIssuer } from "./issuer.ts";

const resource = "https://mcp.example.com/mcp";

/** A server with foreign keys that counts its requests. */
async function startAttacker() {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const jwk = { ...(await exportJWK(publicKey)), kid: "evil", alg: "ES256" };
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ keys: [jwk] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  return { privateKey, jwk, url, asked: () => asked };
}

test.each(["jwk", "jku", "x5u", "kid"])("T56: a token cannot choose its own keys by its %s", async (name) => {
  const issuer = await TestIssuer.start(resource);
  const attacker = await startAttacker();
  const mcp = createMcpServer({ name: "protected", version: "1.0.0" }).tool("open", { run: () => "opened" });
  const serving = serveHttp(mcp, { auth: protect({ resource, issuers: [issuer.url] }) });
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  const call = async (token: string) => {
    const headers = { ...toHeaders("tools/call", "open"), authorization: `Bearer ${token}` };
    const params = { name: "open", arguments: {}, _meta: toMeta() };
    return (await send(url, { headers, body: { jsonrpc: "2.0", id: 1, method: "tools/call", params } })).status;
  };
  const said = { jwk: attacker.jwk, jku: attacker.url, x5u: attacker.url, kid: `${attacker.url}#evil` }[name];
  expect(await call(await issuer.token({ key: attacker.privateKey, header: { [name]: said } }))).toBe(401);
  expect(attacker.asked()).toBe(0);
  expect(await call(await issuer.token())).toBe(200);
});
