import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { sandboxHandler } from "portolan-host/apps/sandbox";
import { onTestFinished } from "vitest";
import { startChromium } from "../../browser/chromium.ts";

/** Listens on a free port of the loopback interface until the test ends. Returns the port. */
export async function serve(listener: RequestListener, onConnection?: () => void): Promise<number> {
  const server = createServer(listener);
  if (onConnection) server.on("connection", onConnection);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return (server.address() as AddressInfo).port;
}

let script: Promise<string> | undefined;

/** The page's script, with the whole host in it. */
export function pageScript(): Promise<string> {
  script ??= build({
    entryPoints: [join(import.meta.dirname, "page.ts")],
    ...{ bundle: true, write: false, format: "iife", platform: "browser", logLevel: "silent" },
  }).then(({ outputFiles }) => outputFiles?.[0]?.text ?? "");
  return script;
}

/** A page with a host, a sandbox on another origin, and a server that listens for whatever gets out. */
export interface BrowserStage {
  readonly page: Page;
  /** The origin of the page, of its sandbox, and of the server that must hear nothing. */
  readonly origin: string;
  readonly sandbox: string;
  readonly outside: string;
  /** The paths that were requested from the outside. */
  readonly heard: string[];
  /** Connections that were made to the outside, with or without a request. */
  readonly connections: { count: number };
  /** Errors of pages and messages of their consoles. */
  readonly console: string[];
}

export async function openStage(startBrowser: () => Promise<Browser> = startChromium): Promise<BrowserStage> {
  const heard: string[] = [];
  const connections = { count: 0 };
  const outsidePort = await serve(
    ({ url = "" }, response) => {
      heard.push(url);
      response.setHeader("access-control-allow-origin", "*");
      if (url.startsWith("/allowed")) heard.pop();
      response.setHeader("content-type", url.endsWith(".js") ? "text/javascript" : "text/html");
      response.end("ok");
    },
    () => {
      connections.count += 1;
    },
  );
  const text = await pageScript();
  let handler: ReturnType<typeof sandboxHandler> | undefined;
  const sandboxPort = await serve((request, response) => handler?.node(request, response));
  const port = await serve(async (request, response) => {
    if (request.url === "/sandbox") {
      const { own, ...grant } = JSON.parse(await read(request));
      const sandbox = `http://localhost:${sandboxPort}`;
      const app = `http://${own}.localhost:${sandboxPort}`;
      response.end(sandbox + handler?.add(grant, own === undefined ? undefined : { app, sandbox }).path);
      return;
    }
    response.setHeader("content-type", request.url === "/page.js" ? "text/javascript" : "text/html");
    response.setHeader("set-cookie", "secret=host; SameSite=Lax");
    response.end(request.url === "/page.js" ? text : page);
  });
  handler = sandboxHandler({ hosts: [`http://127.0.0.1:${port}`] });
  const opened = await (await startBrowser()).newPage();
  opened.setDefaultTimeout(20_000);
  const console: string[] = [];
  opened.on("console", (message) => console.push(message.text()));
  opened.on("pageerror", (error) => console.push(String(error)));
  await opened.goto(`http://127.0.0.1:${port}/`);
  await opened.evaluate(() => localStorage.setItem("secret", "host"));
  return {
    ...{ page: opened, heard, connections, console },
    origin: `http://127.0.0.1:${port}`,
    sandbox: `http://localhost:${sandboxPort}`,
    outside: `http://127.0.0.1:${outsidePort}`,
  };
}

const page = `<!doctype html><title>Host</title><script src="/page.js" defer></script><div id="app" style="width: 400px"></div>`;

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** The document of an app that starts properly and then runs a script. `call` asks the host, `report` writes to its log. */
export function appWith(script: string, head = ""): string {
  return `<!doctype html><html><head>${head}</head><body><p>App</p><script>
    const waiting = new Map();
    let count = 0;
    const received = [];
    const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
    const call = (method, params = {}) => new Promise((resolve) => {
      count += 1;
      waiting.set(count, resolve);
      post({ id: count, method, params });
    });
    const report = (data) => post({ method: "notifications/message", params: { level: "info", data } });
    window.addEventListener("message", ({ data }) => {
      received.push(data);
      if (data.method === "ui/resource-teardown") post({ id: data.id, result: {} });
      else if (waiting.has(data.id)) waiting.get(data.id)(data);
    });
    (async () => {
      await call("ui/initialize", {
        protocolVersion: "2026-01-26", appInfo: { name: "a", version: "1" }, appCapabilities: {},
      });
      post({ method: "ui/notifications/initialized", params: {} });
      ${script}
    })();
  </script></body></html>`;
}
