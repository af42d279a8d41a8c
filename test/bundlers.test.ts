import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import vm from "node:vm";
import { type BuildOptions, build as esbuild } from "esbuild";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { build as rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

const root = join(import.meta.dirname, "..");

const clientProgram = `
  import { connect } from "portolan/client";
  globalThis.run = async (url) => {
    const client = await connect(url);
    const { content } = await client.callTool("add", { a: 1 });
    await client.close();
    return content[0].text;
  };
  globalThis.start = () => connect({ command: "node" });
`;

const serverProgram = `
  import { createServer } from "portolan/server";
  import { serveHttp } from "portolan/server/http";
  const endpoint = serveHttp(createServer({ name: "edge", version: "1.0.0" })
    .tool("add", { input: { type: "object", properties: { a: { type: "number" } }, required: ["a"] }, run: ({ a }) => String(a + 1) }));
  globalThis.handle = endpoint.fetch;
  globalThis.listen = endpoint.listen;
`;

const hostProgram = `
  import { createHost, openActivityFile } from "portolan-host";
  globalThis.run = async (url) => {
    const host = await createHost({ servers: { sums: { url } }, roots: [{ uri: "file:///work" }] });
    const { content } = await host.callTool("sums", "add", { a: 1 }, { by: "user" });
    await host.close();
    return content[0].text;
  };
  globalThis.fromFile = () => createHost({ servers: ".mcp.json" });
  globalThis.logToFile = () => openActivityFile("activity.ndjson");
  globalThis.start = async () => {
    const host = await createHost({ servers: { local: { command: "node" } } });
    return host.callTool("local", "add", {}, { by: "user" }).finally(() => host.close());
  };
`;

/** The globals of a web runtime, without anything of node. */
const webGlobals = () => ({
  ...{ AbortController, AbortSignal, Headers, Request, Response, ReadableStream, TextDecoder, TextEncoder, URL },
  ...{ atob, btoa, clearInterval, clearTimeout, console, crypto, fetch, performance, queueMicrotask, setInterval },
  ...{ setTimeout, structuredClone, DOMException, Event, EventTarget, Uint8Array, ArrayBuffer },
});

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portolan-bundle-"));
  mkdirSync(join(folder, "node_modules"));
  for (const name of ["portolan", "portolan-host", "jose", "oauth4webapi"]) {
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const withEsbuild = async (program: string, options: BuildOptions): Promise<string> => {
  const { outputFiles, warnings } = await esbuild({
    stdin: { contents: program, resolveDir: folder },
    ...{ bundle: true, write: false, format: "iife", logLevel: "silent", ...options },
  });
  expect(warnings).toEqual([]);
  return outputFiles![0]!.text;
};

const withRolldown = async (program: string, platform: "browser" | "neutral"): Promise<string> => {
  const file = join(folder, `${platform}-${program.length}.mjs`);
  writeFileSync(file, program);
  const warnings: string[] = [];
  const { output } = await rolldown({
    input: file,
    platform,
    onLog: (_, { code, message }) => code === "UNRESOLVED_IMPORT" && warnings.push(message),
    write: false,
  });
  expect(warnings).toEqual([]);
  return output.map((file) => (file.type === "chunk" ? file.code : "")).join("\n");
};

/** Programs for browsers and edge runtimes, and the conditions under which esbuild resolves packages for them. */
const bundleFor = (platform: "browser" | "neutral", program: string) =>
  withEsbuild(program, { platform, conditions: platform === "neutral" ? ["workerd", "worker"] : [] });

test.each([
  ["portolan/client for a browser", clientProgram, "browser"],
  ["portolan-host for a browser", hostProgram, "browser"],
  ["portolan/server/http for an edge runtime", serverProgram, "neutral"],
] as const)("rolldown bundles %s without anything of node", async (_, program, platform) => {
  expect(await withRolldown(program, platform)).not.toMatch(/["']node:/);
});

describe("a bundle of esbuild", () => {
  test("of portolan/client for a browser has nothing of node, and calls a tool", async () => {
    const code = await bundleFor("browser", clientProgram);
    expect(code).not.toMatch(/["']node:/);
    const page = vm.createContext(webGlobals());
    vm.runInContext(code, page);
    expect(await page["run"](await listenAnywhere())).toBe("2");
    await expect(page["start"]()).rejects.toThrow("this runtime cannot start processes");
  });

  test("of portolan-host for a browser has nothing of node, and calls a tool", async () => {
    const code = await bundleFor("browser", hostProgram);
    expect(code).not.toMatch(/["']node:/);
    const page = vm.createContext(webGlobals());
    vm.runInContext(code, page);
    expect(await page["run"](await listenAnywhere())).toBe("2");
    await expect(page["fromFile"]()).rejects.toThrow(
      "createHost: this runtime is not Node; pass `servers` as an object",
    );
    await expect(page["logToFile"]()).rejects.toThrow("openActivityFile: this runtime is not Node");
    await expect(page["start"]()).rejects.toThrow("this runtime cannot start processes");
  });

  test("of portolan/server/http for an edge runtime has nothing of node, and answers a request", async () => {
    const code = await bundleFor("neutral", serverProgram);
    expect(code).not.toMatch(/["']node:/);
    const worker = vm.createContext(webGlobals());
    vm.runInContext(code, worker);
    const request = { jsonrpc: "2.0", id: 1, method: "initialize", params: {} };
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const call = {
      ...{ ...request, method: "tools/call" },
      params: {
        ...{ name: "add", arguments: { a: 1 } },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    };
    const response: Response = await worker["handle"](
      new Request("http://localhost/mcp", {
        ...{ method: "POST", body: JSON.stringify(call) },
        headers: {
          ...headers,
          ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "add" },
        },
      }),
    );
    expect(await response.json()).toMatchObject({ id: 1, result: { content: [{ text: "2" }] } });
    await expect(worker["listen"]()).rejects.toThrow("this runtime cannot open a port");
  });
});

/** Serves a tool `add` until the test ends; returns the address. */
async function listenAnywhere(): Promise<string> {
  const endpoint = serveHttp(
    createServer({ name: "s", version: "1.0.0" }).tool("add", {
      input: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
      run: ({ a }) => String(Number(a) + 1),
    }),
  );
  onTestFinished(() => endpoint.close(0));
  const { url } = await endpoint.listen();
  return url;
}
