// Large requests whose schema or handler keeps the process busy: their time counts for their caller, and is reported.
import type { PortolanError } from "portolan";
import { createServer, type ErrorReport } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createMemoryStorage } from "portolan/storage";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";

const version = "2026-07-28";

interface Report {
  readonly error: PortolanError;
  readonly about: ErrorReport | undefined;
}

/** Starts processes that share a storage, or one alone. */
async function listen(bodyBytesPerMinute: number, processes = 1) {
  const reports: Report[] = [];
  const onError = (error: unknown, about?: ErrorReport) => reports.push({ error: error as PortolanError, about });
  const storage = processes > 1 ? { storage: createMemoryStorage() } : {};
  const urls: string[] = [];
  for (let count = 0; count < processes; count += 1) {
    const server = createServer({ name: "test", version: "1.0.0" }, { onError }).tool("work", {
      input: z.object({ ms: z.number(), text: z.string() }),
      run({ ms }) {
        for (const end = performance.now() + ms; performance.now() < end; );
        return "done";
      },
    });
    const endpoint = serveHttp(server, {
      ...storage,
      caller: (request) => request.header("x-caller"),
      limits: { bodyBytesPerMinute },
    });
    onTestFinished(() => endpoint.close(0));
    urls.push((await endpoint.listen()).url);
  }
  return { urls, reports };
}

/** Begins a session whose revision has batches, and returns a function that sends something to any of the processes. */
async function beginSession(url: string, caller: string) {
  const headers = {
    ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
    "x-caller": caller,
  };
  const post = (to: string, body: unknown, session?: string) =>
    fetch(to, {
      method: "POST",
      headers: { ...headers, ...(session !== undefined && { "mcp-session-id": session }) },
      body: JSON.stringify(body),
    });
  const client = { capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const params = { protocolVersion: "2025-03-26", ...client };
  const begun = await post(url, { jsonrpc: "2.0", id: 0, method: "initialize", params });
  const session = begun.headers.get("mcp-session-id") ?? "";
  return (to: string, body: unknown) => post(to, body, session);
}

function work(ms: number, text: string) {
  return { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "work", arguments: { ms, text } } };
}

async function start({ bodyBytesPerMinute }: { readonly bodyBytesPerMinute: number }) {
  const {
    urls: [url = ""],
    reports,
  } = await listen(bodyBytesPerMinute);
  const call = (caller: string, ms: number, characters: number) =>
    fetch(url, {
      method: "POST",
      headers: {
        ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
        ...{ "mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": "work", "x-caller": caller },
      },
      body: JSON.stringify({
        ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
        params: {
          name: "work",
          arguments: { ms, text: "x".repeat(characters) },
          _meta: {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        },
      }),
    });
  return { call, reports };
}

test("a large request that keeps the process busy counts for its caller as the bytes it had time for", async () => {
  const { call } = await start({ bodyBytesPerMinute: 4 * 1024 * 1024 });
  expect((await call("slow", 1_200, 70_000)).status).toBe(200);
  // The time is counted after the answer.
  await vi.waitUntil(async () => (await call("slow", 0, 10)).status === 429);
  expect((await call("other", 0, 10)).status).toBe(200);
});

test("reports who kept the process busy, and with which tool, once a minute", async () => {
  const { call, reports } = await start({ bodyBytesPerMinute: 1024 * 1024 * 1024 });
  for (let count = 0; count < 2; count++) expect((await call("slow", 1_200, 70_000)).status).toBe(200);
  await vi.waitUntil(() => reports.length > 0);
  expect(reports).toHaveLength(1);
  expect(reports[0]?.about).toMatchObject({ method: "tools/call", name: "work", caller: "caller slow" });
  expect(reports[0]?.error.message).toMatch(/^One request of \d+ KiB kept the process busy for \d\.\d s/);
});

test("small requests are not measured", async () => {
  const { call, reports } = await start({ bodyBytesPerMinute: 1024 * 1024 });
  expect((await call("slow", 1_200, 10)).status).toBe(200);
  expect((await call("slow", 0, 10)).status).toBe(200);
  expect(reports).toEqual([]);
});

test("the time of a batch counts for its caller, and is reported with its first tool", async () => {
  const {
    urls: [url = ""],
    reports,
  } = await listen(4 * 1024 * 1024);
  const send = await beginSession(url, "slow");
  expect((await send(url, [work(1_200, "x".repeat(70_000))])).status).toBe(200);
  await vi.waitUntil(async () => (await send(url, work(0, ""))).status === 429);
  expect(reports[0]?.about).toMatchObject({ method: "tools/call", name: "work", caller: "caller slow" });
});

test("the time of a request whose session is read from the storage first counts for its caller", async () => {
  const {
    urls: [first = "", second = ""],
    reports,
  } = await listen(4 * 1024 * 1024, 2);
  const send = await beginSession(first, "slow");
  expect((await send(second, work(1_200, "x".repeat(70_000)))).status).toBe(200);
  await vi.waitUntil(async () => (await send(second, work(0, ""))).status === 429);
  expect(reports[0]?.about).toMatchObject({ method: "tools/call", name: "work", caller: "caller slow" });
});

test("the report names the size of the body, however much memory its values take", async () => {
  const {
    urls: [url = ""],
    reports,
  } = await listen(1024 * 1024 * 1024);
  const send = await beginSession(url, "slow");
  const call = work(1_200, "");
  const body = { ...call, params: { ...call.params, _meta: { list: Array.from({ length: 40_000 }, () => ({})) } } };
  expect((await send(url, body)).status).toBe(200);
  await vi.waitUntil(() => reports.length > 0);
  const kilobytes = Math.ceil(JSON.stringify(body).length / 1024);
  expect(reports[0]?.error.message).toContain(`One request of ${kilobytes} KiB `);
});
