import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { type RunningConsole, startConsole } from "portolan-console";
import { expect, onTestFinished } from "vitest";
import { shareChromium } from "../browser/chromium.ts";
import { type ConsoleTestOptions, consoleOptions } from "./kit.ts";

/** A console with the built page, and a browser. */
export interface PageTest {
  readonly running: RunningConsole;
  readonly browser: Browser;
  /** Opens the console in a new window. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** Errors of all pages, and their requests to other places. */
  readonly problems: readonly string[];
}

/** The page as the command has it. */
export const assets: string = join(import.meta.dirname, "../../packages/portolan/dist/cli/console");

/** Starts a console with the built page. */
export async function openPage(options: ConsoleTestOptions): Promise<PageTest> {
  const browser = await shareChromium();
  const running = await startConsole({ ...(await consoleOptions(options)), assets });
  onTestFinished(() => running.close());
  const problems: string[] = [];
  const open = async (settings: BrowserContextOptions = {}) => {
    const context = await browser.newContext({ reducedMotion: "reduce", ...settings });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    watch(page, running.origin, problems);
    await page.goto(running.openAddress());
    await page.getByRole("textbox", { name: "Message to the model" }).waitFor();
    return page;
  };
  return { running, browser, open, problems };
}

/** Records errors of a page, and its requests to other places. */
export function watch(page: Page, origin: string, problems: string[]): void {
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    // A refused verb is shown by the page, and the browser reports it as well.
    if (message.type() === "error" && !message.text().includes("status of 4")) problems.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) problems.push(request.url());
  });
}

/** Writes to the model. */
export async function say(page: Page, text: string): Promise<void> {
  const field = page.getByRole("textbox", { name: "Message to the model" });
  await field.fill(text);
  await field.press("Enter");
}

/** The card of the question that waits. */
export const question = (page: Page) => page.locator("[data-question]");

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The rules of axe about colours: the others find the same in both colour schemes. */
const colourRules = { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } };

/** Checks what is shown with axe, in both colour schemes. */
export async function checkAccess(page: Page): Promise<void> {
  await page.evaluate(axe);
  for (const [colorScheme, options] of [["light", {}] as const, ["dark", colourRules] as const]) {
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate(async (options) => {
      const { violations } = await (
        globalThis as never as { axe: { run(options: object): Promise<{ violations: AxeViolation[] }> } }
      ).axe.run(options);
      interface AxeViolation {
        readonly id: string;
        readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
      }
      return violations.map(({ id, nodes }) => ({
        id,
        nodes: nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`),
      }));
    }, options);
    expect(found, colorScheme).toEqual([]);
  }
}

/** Checks that nothing is wider than the window. */
export async function checkWidth(page: Page): Promise<void> {
  const wide = await page.evaluate(() => {
    const inner = document.documentElement.clientWidth;
    const scrolls = (element: Element): boolean => {
      for (let parent = element.parentElement; parent; parent = parent.parentElement) {
        if (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(parent).overflowX)) return true;
      }
      return false;
    };
    return [...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > inner + 1 && !scrolls(element))
      .map((element) => element.outerHTML.slice(0, 120));
  });
  expect(wide).toEqual([]);
}
