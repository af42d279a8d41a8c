import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { type RunningConsole, startConsole } from "portolan-console";
import { beforeAll, onTestFinished } from "vitest";
import { shareChromium } from "../browser/chromium.ts";
import { type ConsoleTestOptions, consoleOptions } from "./kit.ts";
import { assets, watch } from "./page.ts";

/** The shared browser and the built page. */
export interface SharedPage {
  readonly browser: Browser;
  /** Starts a console with the built page until the test ends. */
  start(options: ConsoleTestOptions): Promise<RunningConsole>;
  /** Opens a console in a new window, which is closed after the test. */
  open(running: RunningConsole, problems: string[], options?: BrowserContextOptions): Promise<Page>;
  /** Opens an empty window. */
  window(options?: BrowserContextOptions): Promise<Page>;
}

/** Gets a browser with these flags before the tests of this file. */
export function sharePage(...args: readonly string[]): SharedPage {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await shareChromium(...args);
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
