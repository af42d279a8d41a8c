import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { createProxyFetch } from "./fetch.ts";

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    if ("closeAllConnections" in server) server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns a fetch through a proxy with this handler. */
async function by(answer: RequestListener): Promise<typeof fetch> {
  return createProxyFetch({ all_proxy: await listen(createServer(answer)) });
}

test("streams a response body", async () => {
  let finish = () => {};
  const send = await by((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream", "set-cookie": ["a=1", "b=2"] }).write("first");
    finish = () => response.end("last");
  });
  const response = await send("http://a.example/");
  expect([response.status, response.headers.getSetCookie()]).toEqual([200, ["a=1", "b=2"]]);
  const reader = response.body!.getReader();
  expect(Buffer.from((await reader.read()).value!).toString()).toBe("first");
  finish();
  expect(Buffer.from((await reader.read()).value!).toString()).toBe("last");
  expect((await reader.read()).done).toBe(true);
});

test("sends the request unchanged and returns redirects", async () => {
  const seen: unknown[] = [];
  const send = await by((request, response) => {
    const { method, url, headers } = request;
    request.setEncoding("utf8").on("data", (body: string) => seen.push({ method, url, body, headers }));
    request.on("end", () => response.writeHead(307, { location: "http://b.example/" }).end());
  });
  const url = new URL("http://a.example/x?y=1#z");
  const response = await send(url, { method: "POST", body: "é", headers: { "x-a": "b" }, redirect: "manual" });
  expect([response.status, response.headers.get("location")]).toEqual([307, "http://b.example/"]);
  expect(seen).toEqual([
    {
      method: "POST",
      url: "http://a.example/x?y=1",
      body: "é",
      headers: expect.objectContaining({ host: "a.example", "x-a": "b", "content-length": "2" }),
    },
  ]);
});

test.each([204, 304])("returns no body for status %i", async (status) => {
  const send = await by((_, response) => response.writeHead(status).end());
  expect(await send("http://a.example/")).toMatchObject({ status, body: null });
});

test("an abort during the response rejects the read and closes the connection", async () => {
  const closed = vi.fn();
  const send = await by((_, response) => {
    response.on("close", closed).writeHead(200).write("first");
  });
  const stop = new AbortController();
  const response = await send("http://a.example/", { signal: stop.signal });
  const reader = response.body!.getReader();
  await reader.read();
  const next = reader.read();
  stop.abort();
  await expect(next).rejects.toThrow();
  await vi.waitUntil(() => closed.mock.calls.length > 0);
});

test.each(["http", "https"])("an abort before the proxy answers for %s rejects with its reason", async (scheme) => {
  const sockets: Socket[] = [];
  const place = await listen(createTcpServer((socket) => void sockets.push(socket.resume().on("error", () => {}))));
  const stop = new AbortController();
  const asked = createProxyFetch({ all_proxy: place })(`${scheme}://a.example/`, { signal: stop.signal });
  await vi.waitUntil(() => sockets.length > 0);
  const reason = new Error("enough");
  stop.abort(reason);
  await expect(asked).rejects.toBe(reason);
  await vi.waitUntil(() => sockets.every(({ destroyed }) => destroyed));
  await expect(createProxyFetch({})("http://a.example/", { signal: stop.signal })).rejects.toBe(reason);
});

test("an abort during the TLS handshake leaves no connection", async () => {
  const sockets: Socket[] = [];
  const proxy = createServer().on("connect", (_, socket: Socket) => {
    sockets.push(socket.resume().on("error", () => {}));
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
  });
  const stop = new AbortController();
  const send = createProxyFetch({ all_proxy: await listen(proxy) });
  const asked = send("https://a.example/", { signal: stop.signal });
  await vi.waitUntil(() => sockets.some(({ bytesRead }) => bytesRead > 300));
  stop.abort();
  await expect(asked).rejects.toBe(stop.signal.reason);
  await vi.waitUntil(() => sockets.every(({ readableEnded, destroyed }) => readableEnded || destroyed));
});

test("reaches an address in NO_PROXY directly", async () => {
  const place = await listen(createServer((request, response) => response.end(request.url)));
  const response = await createProxyFetch({ all_proxy: "127.0.0.1:1" })(`http://${place}/here`);
  expect(await response.text()).toBe("/here");
});

test("rejects a response that breaks off", async () => {
  const send = await by((_, response) => {
    response.writeHead(200, { "content-length": "10" }).write("half");
    response.socket?.destroySoon();
  });
  const response = await send("http://a.example/");
  await expect(response.text()).rejects.toThrow();
});
