import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { findProgram } from "../../scripts/programs.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const program = at("../../packages/portolan/dist/cli/main.js");

/** The reason why this machine cannot show the console, if there is one. */
export function whyNoBrowser() {
  return findProgram("chromium") === undefined ? "there is no Chromium here" : undefined;
}

/** The console of the `portolan` command with servers, by their scripts, open in Chromium. */
export class ConsolePage {
  #child;
  #browser;
  #session;
  #home;
  page;

  static async open(servers) {
    const opened = new ConsolePage();
    try {
      await opened.#start(servers);
      return opened;
    } catch (reason) {
      await opened.close();
      throw reason;
    }
  }

  async #start(servers) {
    this.#home = mkdtempSync(join(tmpdir(), "portolan-bench-console-"));
    const env = { PATH: process.env.PATH, HOME: this.#home, PORTOLAN_HOME: join(this.#home, "state") };
    const args = [program, "console", "--json", "--no-open", ...servers];
    this.#child = spawn(process.execPath, args, { cwd: this.#home, env, stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    const { value } = await lines.next();
    const { url } = JSON.parse(value ?? "{}");
    if (!url) throw new Error("the console did not start");
    this.#browser = await chromium.launch({
      executablePath: findProgram("chromium"),
      args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
    });
    this.page = await this.#browser.newPage({ viewport: { width: 1280, height: 800 } });
    this.#session = await this.page.context().newCDPSession(this.page);
    await this.#session.send("Performance.enable");
    await this.page.addInitScript(() => {
      globalThis.longTasks = [];
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) globalThis.longTasks.push(duration);
      }).observe({ entryTypes: ["longtask"] });
    });
    await this.page.goto(url);
  }

  /** Returns the kilobytes of compressed script that the page has loaded so far. */
  async scriptKb() {
    await this.#settle();
    const texts = await this.page.evaluate(() =>
      Promise.all(
        performance
          .getEntriesByType("resource")
          .filter(({ name }) => new URL(name).pathname.endsWith(".js"))
          .map(async ({ name }) => (await fetch(name)).text()),
      ),
    );
    return texts.reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0) / 1_000;
  }

  /** Goes to a place of the page, such as `inspect/many/try`. */
  async goTo(place) {
    await this.page.evaluate((hash) => {
      location.hash = hash;
    }, `#/${place}`);
  }

  /** Does something through the interface of the console, as the page would. */
  async change(verb, takes) {
    const status = await this.page.evaluate(
      async ([path, body]) => {
        const headers = {
          ...{ "content-type": "application/json", "portolan-api": "1" },
          "portolan-session": sessionStorage.getItem("portolan-session"),
        };
        const request = { ...body, request: crypto.randomUUID() };
        return (await fetch(path, { method: "POST", headers, body: JSON.stringify(request) })).status;
      },
      [`/api/${verb}`, takes],
    );
    if (status !== 200) throw new Error(`${verb} was answered ${status}`);
  }

  /** Returns the milliseconds that the main thread works because of an action, until it is idle again. */
  async mainThreadMs(action) {
    await this.#settle();
    const before = await this.#metric("TaskDuration");
    await action();
    await this.#settle();
    return ((await this.#metric("TaskDuration")) - before) * 1_000;
  }

  /** Returns the longest task of the main thread during an action; 0 if none was above 50 ms. */
  async longestTask(action) {
    await this.#settle();
    await this.page.evaluate(() => globalThis.longTasks.splice(0));
    await action();
    await this.#settle();
    return this.page.evaluate(() => Math.max(0, ...globalThis.longTasks));
  }

  /** Returns the megabytes of the heap after a garbage collection. */
  async heapMb() {
    await this.#session.send("HeapProfiler.collectGarbage");
    return (await this.#metric("JSHeapUsedSize")) / 1e6;
  }

  async #metric(name) {
    const { metrics } = await this.#session.send("Performance.getMetrics");
    return metrics.find((metric) => metric.name === name).value;
  }

  /** Waits until what was asked for is drawn and the page has nothing to do. */
  async #settle() {
    await this.page.evaluate(
      () =>
        new Promise((resolve) => {
          requestAnimationFrame(() => requestAnimationFrame(() => requestIdleCallback(resolve, { timeout: 1_000 })));
        }),
    );
  }

  async close() {
    await this.#browser?.close();
    if (this.#child && this.#child.exitCode === null) {
      const exited = new Promise((resolve) => this.#child.once("exit", resolve));
      this.#child.kill("SIGTERM");
      await exited;
    }
    if (this.#home) rmSync(this.#home, { recursive: true, force: true });
  }
}
