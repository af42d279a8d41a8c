import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { pathTo } from "../examples/example.ts";

/** What Chromium would look up by itself is none of a test's business. */
const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];

/** Where the screenshots of a run are. */
export const screenshots: string = pathTo("node_modules/.cache/portolan/screenshots");

/** The system's Chromium until the test is over. */
export async function startChromium(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", ...quiet],
  });
  onTestFinished(() => browser.close());
  return browser;
}

/** Shows what a page looks like, for people. */
export async function shoot(page: Page, name: string): Promise<Buffer> {
  mkdirSync(screenshots, { recursive: true });
  return page.screenshot({ path: join(screenshots, `${name}.png`) });
}
