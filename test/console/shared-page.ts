import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { type RunningConsole, startConsole } from "portolan-console";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { bundleConsole } from "../../scripts/bundle-console.mjs";
import { launchChromium } from "../browser/chromium.ts";
import { type ConsoleTestOptions, consoleOptions } from "./kit.ts";
import { watch } from "./page.ts";

/** One browser and one built page for all tests of a file. */
export interface SharedPage {
  readonly browser: Browser;
  /** Starts a console with the built page until the test ends. */
  start(options: ConsoleTestOptions): Promise<RunningConsole>;
  /** Opens a console in a new window, which is closed after the test. */
  open(running: RunningConsole, problems: string[], options?: BrowserContextOptions): Promise<Page>;
  /** Opens an empty window. */
  window(options?: BrowserContextOptions): Promise<Page>;
}

/** Starts a browser before the tests of this file, and ends it after them. */
export function sharePage(...args: readonly string[]): SharedPage {
  let browser: Browser | undefined;
  let assets = "";
  beforeAll(async () => {
    assets = await mkdtemp(join(tmpdir(), "portolan-page-"));
    await bundleConsole(join(import.meta.dirname, "../.."), assets);
    browser = await launchChromium(...args);
  });
  afterAll(async () => {
    await browser?.close();
    await rm(assets, { recursive: true, force: true });
  });
  const shared: SharedPage = {
    get browser() {
      if (!browser) throw new Error("the browser has not started");
      return browser;
    },
    async start(options) {
      const running = await startConsole({ ...(await consoleOptions(options)), assets });
      onTestFinished(() => running.close());
      return running;
    },
    async window(options = {}) {
      const context = await shared.browser.newContext({ reducedMotion: "reduce", ...options });
      onTestFinished(() => context.close());
      const page = await context.newPage();
      page.setDefaultTimeout(20_000);
      return page;
    },
    async open(running, problems, options) {
      const page = await shared.window(options);
      watch(page, running.origin, problems);
      await page.goto(running.openAddress());
      await page.getByRole("textbox", { name: "Message to the model" }).waitFor();
      return page;
    },
  };
  return shared;
}

/** A site of a stranger, which counts what it is asked for. */
export interface OtherSite {
  readonly port: number;
  readonly origin: string;
  readonly asked: readonly string[];
}

/** Starts a site with one page, until the test ends. */
export async function startSite(html = "<!doctype html><title>Stranger</title>"): Promise<OtherSite> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    if (request.url !== "/favicon.ico") asked.push(request.url ?? "");
    response.writeHead(200, { "content-type": "text/html", "access-control-allow-origin": "*" }).end(html);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, origin: `http://127.0.0.1:${port}`, asked };
}

/** Opens a place of the page. */
export async function goPlace(page: Page, place: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#/${place}`);
}
