import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { findProgram } from "../../scripts/programs.mjs";
import { pathTo } from "../examples/example.ts";

/** Keeps Chromium from making requests of its own. */
const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];

/** The folder for the screenshots of a run. */
export const screenshots: string = pathTo("node_modules/.cache/portolan/screenshots");

/** Starts the system's Chromium until the test ends. */
export async function startChromium(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: findProgram("chromium") ?? "chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", ...quiet],
  });
  onTestFinished(() => browser.close());
  return browser;
}

/** Saves a screenshot of a page for people to look at. */
export async function shoot(page: Page, name: string): Promise<Buffer> {
  mkdirSync(screenshots, { recursive: true });
  return page.screenshot({ path: join(screenshots, `${name}.png`) });
}
