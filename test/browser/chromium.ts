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

/** The browsers of this process by their flags, also for later test files, which load this module anew. */
const holder = globalThis as { portolanBrowsers?: Map<string, Promise<Browser>> };
holder.portolanBrowsers ??= new Map();
const browsers = holder.portolanBrowsers;

/**
 * Returns the system's Chromium with further flags. All tests of a process share it, because a start takes about a second
 * of computing; cookies and storage belong to a window's context. It ends with the process.
 */
export async function shareChromium(...more: readonly string[]): Promise<Browser> {
  const flags = more.join(" ");
  const known = await browsers.get(flags);
  if (known?.isConnected()) return known;
  const launched = launchChromium(more);
  browsers.set(flags, launched);
  return launched;
}

function launchChromium(more: readonly string[]): Promise<Browser> {
  // Playwright kills its browsers when the process exits, which a signal alone does not make it do.
  if (browsers.size === 0) process.once("SIGTERM", () => process.exit());
  return chromium.launch({
    executablePath: findProgram("chromium") ?? "chromium",
    args: [...args, ...more],
    handleSIGTERM: false,
  });
}

/** Returns the shared Chromium, whose windows are closed when the test ends. `more` are further flags. */
export async function startChromium(...more: readonly string[]): Promise<Browser> {
  const browser = await shareChromium(...more);
  onTestFinished(async () => {
    for (const context of browser.contexts()) await context.close();
  });
  return browser;
}

/**
 * Returns Chromium as users have it: a frame of another site stores apart from that site. Playwright switches these
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
