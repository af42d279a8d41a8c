import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "portolan/client";
import { http } from "portolan/client/http";
import { expect, onTestFinished, test } from "vitest";
import { revisions } from "../kit/revisions.ts";
import { importGuide } from "./guide.ts";

const guide = await importGuide("http");
const someTotal = { total: expect.any(Number) };

async function portOf(server: import("node:http").Server): Promise<number> {
  if (!server.listening) await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Serves a web-standard handler on a real socket, as a runtime does. */
function overFetch(handle: (request: Request) => Promise<Response> | Response) {
  return createServer(async (req, res) => {
    const body = req.method === "GET" ? undefined : Buffer.concat(await req.toArray());
    const headers = new Headers(Object.entries(req.headers).map(([name, value]) => [name, String(value)]));
    const request = new Request(`http://${req.headers.host}${req.url}`, {
      method: req.method ?? "GET",
      headers,
      ...(body && { body }),
    });
    const response = await handle(request);
    res.writeHead(response.status, Object.fromEntries(response.headers));
    for await (const chunk of response.body ?? []) res.write(chunk);
    res.end();
  });
}

const frameworks: [name: string, open: () => Promise<number>][] = [
  ["node:http", () => portOf(guide.overNode())],
  ["express", () => portOf(createServer(guide.overExpress()))],
  [
    "fastify",
    async () => {
      const app = guide.overFastify();
      await app.listen({ port: 0, host: "127.0.0.1" });
      onTestFinished(() => app.close());
      return (app.server.address() as AddressInfo).port;
    },
  ],
  ["hono", () => portOf(overFetch((request) => guide.overHono().fetch(request)))],
  ["Next", () => portOf(overFetch((request) => guide[request.method](request)))],
];

test.each(frameworks)("answers a call behind %s", async (_, open) => {
  expect(await guide.roll(`http://127.0.0.1:${await open()}/mcp`)).toEqual(someTotal);
});

test("the card and its catalog are read where the endpoint listens, and behind a framework", async () => {
  const listening = guide.withCard();
  onTestFinished(() => listening.close(0));
  const { port: own } = await listening.listen();
  const origins = [own, await portOf(createServer(guide.cardOverExpress()))].map((port) => `http://127.0.0.1:${port}`);
  for (const origin of origins) {
    const card = await fetch(`${origin}/mcp/server-card`);
    expect(await card.json()).toMatchObject({ name: "com.example/dice", version: "1.0.0", description: "Rolls dice" });
    const catalog = await fetch(`${origin}/.well-known/ai-catalog.json`);
    expect((await catalog.json()).entries[0].url).toBe("https://mcp.example.com/mcp/server-card");
    expect(await guide.roll(`${origin}/mcp`)).toEqual(someTotal);
  }
});

test.each(frameworks.slice(0, 3))("serves clients of every revision behind %s", async (_, open) => {
  const port = await open();
  for (const era of revisions) {
    const client = await connect(http(`http://127.0.0.1:${port}/mcp`), { era });
    const reported: number[] = [];
    await client.callTool("roll", { dice: 3 }, { onProgress: ({ progress }) => reported.push(progress) });
    expect([client.server.version, reported]).toEqual([era, [1, 2, 3]]);
    await client.close();
  }
});

test("serves when examples/http/server.mjs runs as a program", async () => {
  const { createServer: reserve } = await import("node:net");
  const held = reserve().listen(0, "127.0.0.1");
  await once(held, "listening");
  const { port } = held.address() as AddressInfo;
  held.close();
  await once(held, "close");
  const { spawn } = await import("node:child_process");
  const child = spawn(process.execPath, ["examples/http/server.mjs", String(port)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill());
  const [line] = await once(child.stdout, "data");
  expect(String(line)).toBe(`Serving http://127.0.0.1:${port}/mcp\n`);
  expect(await guide.roll(`http://127.0.0.1:${port}/mcp`)).toEqual(someTotal);
});

test("refuses a caller without a valid token on the restricted server", async () => {
  const mcp = guide.restricted(async (token: string | undefined) => (token === "sesame" ? "ada" : undefined));
  const port = await portOf(createServer(mcp.node));
  const url = `http://127.0.0.1:${port}/mcp`;
  const host = { host: "mcp.example.com" };
  await expect(connect(http(url, { headers: host }))).rejects.toMatchObject({ code: "unauthorized" });
  const headers = { ...host, authorization: "Bearer sesame" };
  const client = await connect(http(url, { headers }));
  expect((await client.callTool("roll")).structuredContent).toEqual(someTotal);
  await client.close();
  await mcp.close();
});

test("answers 401 with the address of the metadata that names the authorization server", async () => {
  const mcp = guide.withTokens("https://auth.example.com");
  const post = new Request("https://mcp.example.com/mcp", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  const refused = await mcp.fetch(post);
  expect(refused.status).toBe(401);
  const address = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "")?.[1];
  const document = await mcp.fetch(new Request(String(address)));
  expect(await document.json()).toMatchObject({ authorization_servers: ["https://auth.example.com"] });
  await mcp.close();
});
