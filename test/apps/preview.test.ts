import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { shoot, startChromium } from "../browser/chromium.ts";
import { pathTo } from "../examples/example.ts";

/** Starts `portolan dev --apps` with these words, and opens its page. */
async function openPreview(words: readonly string[], env: { [name: string]: string } = {}) {
  const child = spawn(process.execPath, [pathTo("packages/portolan/dist/cli/main.js"), "dev", "--apps", ...words], {
    env: { ...process.env, ...env },
  });
  const exited = once(child, "exit");
  let stderr = "";
  child.stderr.on("data", (text) => {
    stderr += text;
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  onTestFinished(async () => {
    child.kill("SIGINT");
    await exited;
  });
  const { value } = await lines.next();
  if (typeof value !== "string") throw new Error(stderr);
  const url: string = JSON.parse(value).apps;
  const page = await (await startChromium()).newPage({ viewport: { width: 1200, height: 800 } });
  page.setDefaultTimeout(20_000);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  await page.goto(url);
  return { page, url, problems, child, exited };
}

async function showApp(page: Page) {
  await page.getByRole("button", { name: "Call and show" }).click();
  await page.getByRole("button", { name: "Show it" }).click();
  await page.locator(".badge", { hasText: "ready" }).waitFor();
  return page.frameLocator("iframe").frameLocator("iframe");
}

const peer = (name: string) => [
  "--",
  process.execPath,
  pathTo(`test/apps/peers/node_modules/@modelcontextprotocol/server-${name}/dist/index.js`),
  "--stdio",
];

test("the example's app is shown, called and removed in the preview", async () => {
  const { page, problems } = await openPreview([pathTo("examples/apps/server.mjs"), "--http", "0"]);
  await shoot(page, "preview");
  const app = await showApp(page);
  await app.getByRole("button", { name: "B3" }).waitFor();
  expect(await app.getByRole("button", { name: "B3" }).isDisabled()).toBe(true);
  await app.getByRole("button", { name: "C1" }).click();
  const question = page.locator(".question");
  expect(await question.textContent()).toMatch(/The app wants to call cinema.book_seat.*"seat": "C1"/s);
  await shoot(page, "preview-question");
  await question.getByRole("button", { name: "Allow" }).click();
  await app.getByText("Seat C1 is yours.").waitFor();
  expect(await app.getByRole("button", { name: "C1" }).isDisabled()).toBe(true);
  await expect.poll(() => page.locator("#log").textContent()).toContain("The user has booked seat C1");
  await app.getByRole("button", { name: "C2" }).click();
  await question.getByRole("button", { name: "No" }).click();
  await app.getByText(/not approved/).waitFor();
  expect((await shoot(page, "preview-app")).length).toBeGreaterThan(10_000);
  await page.getByRole("button", { name: "Close" }).click();
  await expect.poll(() => page.locator("iframe").count()).toBe(0);
  expect(problems).toEqual([]);
});

test.each([
  ["basic-vanillajs", "Get Server Time"],
  ["basic-react", "Get Server Time"],
  ["budget-allocator", "Budget Allocator"],
  ["debug", "Event Log"],
])("the app of the official server %s works in the preview", async (name, text) => {
  const { page, problems } = await openPreview(peer(name));
  const app = await showApp(page);
  await app.getByText(text).first().waitFor();
  await expect.poll(() => page.locator("#log").textContent()).toContain("size-changed");
  const height = (await page.locator("iframe").boundingBox())?.height ?? 0;
  expect(height).toBeGreaterThan(150);
  if (name.startsWith("basic")) {
    await app.getByRole("button", { name: "Get Server Time" }).click();
    await page.getByRole("button", { name: "Allow" }).click();
    await expect.poll(() => page.locator("#log").textContent()).toMatch(/tools\/call \{"name":"get-time"/);
    await app.getByRole("button", { name: "Send Message" }).click();
    await page.getByRole("button", { name: "Send it" }).click();
    await expect.poll(() => page.locator("#log").textContent()).toContain("message: This is message text.");
    await app.getByRole("button", { name: "Open Link" }).click();
    expect(await page.locator(".question pre").textContent()).toBe("https://modelcontextprotocol.io/");
    await page.getByRole("button", { name: "No" }).click();
    await expect.poll(() => page.locator(".question").count()).toBe(0);
  }
  await shoot(page, `preview-${name}`);
  expect(problems).toEqual([]);
});

test("the flights of the travel server are shown, and a click asks the model to book one", async () => {
  const { page, problems } = await openPreview([
    "--",
    process.execPath,
    pathTo("packages/servers/travel/dist/main.js"),
  ]);
  await page.locator("#args").fill('{ "origin": "NYC", "destination": "Barcelona", "date": "2024-06-15" }');
  const app = await showApp(page);
  await app.getByRole("heading", { name: "New York to Barcelona, 2024-06-15" }).waitFor();
  expect(await app.getByRole("listitem").count()).toBe(10);
  await app.getByText("and 37 more").waitFor();
  await app.getByRole("button", { name: "Choose flight PT4135" }).click();
  await page.getByRole("button", { name: "Send it" }).click();
  await app.getByText("You have asked for flight PT4135.").waitFor();
  await expect.poll(() => page.locator("#log").textContent()).toContain("message: Book flight PT4135 on 2024-06-15.");
  await shoot(page, "preview-travel");
  expect(problems).toEqual([]);
});

test("an app is not shown if the user says no, and wrong arguments are explained", async () => {
  const { page } = await openPreview([pathTo("examples/apps/server.mjs"), "--http", "0"]);
  await page.getByRole("button", { name: "Call and show" }).click();
  await page.getByRole("button", { name: "No" }).click();
  await expect.poll(() => page.locator("#problem").textContent()).toMatch(/not approved/);
  await page.locator("#args").fill("{film}");
  await page.getByRole("button", { name: "Call and show" }).click();
  await expect.poll(() => page.locator("#problem").textContent()).toMatch(/^Arguments: /);
  expect(await page.locator("iframe").count()).toBe(0);
});

test.each(["flood", "bomb"])("an app whose session is elsewhere is removed, too: %s", async (tool) => {
  const { page } = await openPreview([pathTo("test/apps/hostile-server.mjs"), "--http", "0"]);
  await page.getByRole("button", { name: tool }).click();
  await page.getByRole("button", { name: "Call and show" }).click();
  await page.getByRole("button", { name: "Show it" }).click();
  await page.locator(".app").waitFor();
  await expect.poll(() => page.locator("iframe").count(), { timeout: 20_000 }).toBe(0);
  // The page goes on with another app.
  await page.getByRole("button", { name: "Call and show" }).click();
  await page.getByRole("button", { name: "Show it" }).waitFor();
});

test("the preview answers its own page alone", async () => {
  const { url, page } = await openPreview([pathTo("examples/apps/server.mjs"), "--http", "0"], {
    PORTOLAN_TOKEN: "a-long-token",
  });
  const { origin, host } = new URL(url);
  const body = JSON.stringify({ kind: "close", app: "x" });
  const status = async (to: string, init?: RequestInit) => (await fetch(to, init)).status;
  expect(await status(`${origin}/`)).toBe(404);
  expect(await status(`${origin}/guessed/events`)).toBe(404);
  expect(await status(`${url}do`, { method: "POST", body })).toBe(403);
  expect(await status(`${url}do`, { method: "POST", body, headers: { origin: "http://evil.example" } })).toBe(403);
  expect(await status(`${url}do`, { method: "POST", body, headers: { origin } })).toBe(200);
  expect(await status(`${url}do`, { method: "POST", body: "{", headers: { origin } })).toBe(400);
  expect(await status(url.replace("127.0.0.1", "localhost"))).toBe(404);
  expect(host).toMatch(/^127\.0\.0\.1:/);
  // With a token, the preview sends it as any client must.
  await (await showApp(page)).getByRole("button", { name: "A1" }).waitFor();
});
