import type { AppUnderTest } from "./page.ts";
import { appWith, type BrowserStage } from "./stage.ts";

/** Shows an app in the page of a stage. */
export async function showApp({ page }: BrowserStage, options: AppUnderTest): Promise<void> {
  await page.evaluate((given) => window.show(given), options);
}

/**
 * Shows an app whose script collects into `tries` and ends, and returns what it collected. `attempt(name, work)` records a
 * value or an error.
 */
export async function runApp(
  stage: BrowserStage,
  script: string,
  options: Omit<AppUnderTest, "html"> = {},
): Promise<{ [name: string]: string }> {
  const html = appWith(`
    const tries = {};
    const attempt = async (name, work) => {
      try { tries[name] = String(await work()); } catch (error) { tries[name] = "failed: " + error.name; }
    };
    ${script}
    report({ tries });
  `);
  await showApp(stage, { ...options, html });
  const handle = await stage.page.waitForFunction(() => window.shown.reports.find((one) => Object(one).tries));
  return ((await handle.jsonValue()) as { tries: { [name: string]: string } }).tries;
}

/** Waits until the session of the page's app is over, and returns why. */
export async function endOf({ page }: BrowserStage): Promise<string> {
  return page.evaluate(() => window.shown.session.closed);
}
