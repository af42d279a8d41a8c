import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type IssuerFailure, type ProtectOptions, protect } from "portolan/auth/server";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { expect, onTestFinished, test, vi } from "vitest";
import { send } from "../http/kit.ts";
import { toHeaders, toMeta } from "../http/peer.ts";
import { TestIssuer } from "./issuer.ts";

const resource = "https://mcp.example.com/mcp";

/** An issuer whose metadata always fails, and a server that accepts its tokens. */
async function startWithoutIssuer(options: Partial<ProtectOptions> = {}) {
  let asked = 0;
  const broken = createHttpServer((_, response) => {
    asked += 1;
    response.writeHead(500).end("no");
  });
  await new Promise<void>((resolve) => broken.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void broken.close());
  const issuer = `http://127.0.0.1:${(broken.address() as AddressInfo).port}`;
  const server = createServer({ name: "protected", version: "1.0.0" }).tool("echo", { run: () => "echo" });
  const serving = serveHttp(server, { auth: protect({ resource, issuers: [issuer], ...options }) });
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  const signer = await TestIssuer.start(resource);
  const token = await signer.token({ claims: { iss: issuer } });
  const call = async () => {
    const params = { name: "echo", arguments: {}, _meta: toMeta() };
    const headers = { ...toHeaders("tools/call", "echo"), authorization: `Bearer ${token}` };
    return (await send(url, { headers, body: { jsonrpc: "2.0", id: 1, method: "tools/call", params } })).status;
  };
  return { issuer, call, asked: () => asked };
}

test("an issuer that is down is printed as one line, however many requests name it", async () => {
  const printed = vi.spyOn(console, "error").mockReturnValue();
  onTestFinished(() => printed.mockRestore());
  const { issuer, call } = await startWithoutIssuer();
  for (let request = 0; request < 20; request += 1) expect(await call()).toBe(503);
  const lines = printed.mock.calls.map((parts) => parts.join(" "));
  expect(lines).toEqual([expect.stringContaining(`tokens cannot be verified because ${issuer} fails: `)]);
  expect(lines[0]).toContain("answered 500");
  expect(lines[0]).not.toContain("\n");
});

test("onError gets the issuer and the number of requests", async () => {
  const failures: IssuerFailure[] = [];
  const { issuer, call } = await startWithoutIssuer({ onError: (_, about) => void failures.push(about) });
  await Promise.all(Array.from({ length: 10 }, call));
  expect(failures).toEqual([{ issuer, count: 1 }]);
});

test("keys that could not be fetched are asked for again after five seconds, not with each request", async () => {
  let time = Date.now();
  const { call, asked } = await startWithoutIssuer({ now: () => time, onError: () => {} });
  await call();
  const once = asked();
  for (let request = 0; request < 20; request += 1) await call();
  expect(asked()).toBe(once);
  time += 5_001;
  await call();
  expect(asked()).toBe(2 * once);
});
