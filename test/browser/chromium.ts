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

const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", ...quiet];

/** Starts the system's Chromium, with further flags; the caller closes it. */
export function launchChromium(...more: readonly string[]): Promise<Browser> {
  return chromium.launch({
    executablePath: findProgram("chromium") ?? "chromium",
    args: [...args, ...more],
  });
}

/** Starts the system's Chromium until the test ends. `more` are further flags. */
export async function startChromium(...more: readonly string[]): Promise<Browser> {
  const browser = await launchChromium(...more);
  onTestFinished(() => browser.close());
  return browser;
}

/**
 * Starts Chromium as users have it: a frame of another site stores apart from that site. Playwright switches these
 * partitions off, so that such a frame stores nothing; the last of two flags counts.
 */
export function startChromiumWithPartitions(): Promise<Browser> {
  return startChromium("--disable-features=HttpsUpgrades");
}

/** Saves a screenshot of a page for people to look at. */
export async function shoot(page: Page, name: string): Promise<Buffer> {
  mkdirSync(screenshots, { recursive: true });
  return page.screenshot({ path: join(screenshots, `${name}.png`) });
}
