// Large requests whose schema or handler keeps the process busy: their time counts for their caller, and is reported.
import type { PortolanError } from "portolan";
import { createServer, type ErrorReport } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";

const version = "2026-07-28";

async function start({ bodyBytesPerMinute }: { readonly bodyBytesPerMinute: number }) {
  const reports: { readonly error: PortolanError; readonly about: ErrorReport | undefined }[] = [];
  const onError = (error: unknown, about?: ErrorReport) => reports.push({ error: error as PortolanError, about });
  const server = createServer({ name: "test", version: "1.0.0" }, { onError }).tool("work", {
    input: z.object({ ms: z.number(), text: z.string() }),
    run({ ms }) {
      for (const end = performance.now() + ms; performance.now() < end; );
      return "done";
    },
  });
  const endpoint = serveHttp(server, {
    caller: (request) => request.header("x-caller"),
    limits: { bodyBytesPerMinute },
  });
  onTestFinished(() => endpoint.close(0));
  const { url } = await endpoint.listen();
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
