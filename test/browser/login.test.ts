import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test, vi } from "vitest";
import { makeFolder, pathTo } from "../examples/example.ts";
import { shoot, startChromium } from "./chromium.ts";
import { signIn, startNotes } from "./notes.ts";

/** The three programs of the guide: the company, the server, and the client with our browser. */
async function startAll() {
  const { company, notes } = await startNotes(
    "examples/authorization/upstream.mjs",
    "examples/authorization/server.mjs",
  );
  const folder = await makeFolder();
  const opened = join(folder, "opened");
  const opener = join(folder, "xdg-open");
  // Written to a temporary file and renamed, so that a reader never gets half a URL.
  writeFileSync(opener, `#!/bin/sh\nprintf %s "$1" > "${opened}.part" && mv "${opened}.part" "${opened}"\n`);
  chmodSync(opener, 0o755);
  const store = join(folder, "credentials.json");
  const run = () => {
    const env = { ...process.env, PATH: `${folder}:${process.env["PATH"]}`, CREDENTIALS: store };
    const script = pathTo("examples/authorization/client.mjs");
    const child = spawn(process.execPath, [script, `${notes}/mcp`], { env });
    onTestFinished(() => void child.kill());
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
    return once(child, "close").then(([code]) => ({ code, output }));
  };
  const pageOpened = async () => {
    await vi.waitUntil(() => existsSync(opened), { timeout: 20_000 });
    return readFileSync(opened, "utf8");
  };
  return { company, notes, run, pageOpened, store };
}

/** Records errors of a page, and its requests to other machines. */
function watch(page: Page): string[] {
  const problems: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    const { hostname } = new URL(request.url());
    if (hostname !== "localhost" && hostname !== "127.0.0.1") problems.push(request.url());
  });
  return problems;
}

test("a person signs in with a browser, through both providers, and the client continues", async () => {
  const { company, notes, run, pageOpened, store } = await startAll();
  const client = run();
  const browser = await startChromium();
  const page = await browser.newPage();
  page.setDefaultTimeout(20_000);
  const problems = watch(page);

  await page.goto(await pageOpened());
  expect(page.url()).toContain(notes);
  const consent = await page.locator("main, body").first().textContent();
  for (const shown of [
    "Notes in the terminal",
    "Read your notes",
    "Write notes for you",
    "127.0.0.1",
    "Acme accounts",
  ]) {
    expect(consent).toContain(shown);
  }
  expect((await shoot(page, "consent")).length).toBeGreaterThan(5_000);
  await page.getByRole("button", { name: "Allow" }).click();

  await page.getByLabel("Password").waitFor();
  expect(page.url()).toContain(company);
  await signIn(page, "ada", "wrong");
  await page.getByRole("alert").waitFor();
  await shoot(page, "wrong-password");
  await signIn(page, "ada", "lovelace");

  await page.getByRole("button", { name: "Allow" }).waitFor();
  await shoot(page, "company-consent");
  await page.getByRole("button", { name: "Allow" }).click();
  await page.waitForURL("http://127.0.0.1:*/**");
  expect(await page.locator("body").textContent()).toContain("Sign-in received");
  await shoot(page, "received");

  expect(await client).toEqual({ code: 0, output: "[ { type: 'text', text: 'Buy oat milk' } ]\n" });
  // Only the page after a wrong password has an error status.
  expect(problems).toEqual([expect.stringContaining("status of 401")]);
  expect(statSync(store).mode & 0o777).toBe(0o600);
  // The second run needs no login.
  expect(await run()).toMatchObject({ code: 0, output: expect.stringContaining("Buy oat milk\\nBuy oat milk") });
});

test("a person who denies is sent back, and the client reports it", async () => {
  const { run, pageOpened } = await startAll();
  const client = run();
  const browser = await startChromium();
  const page = await browser.newPage();
  await page.goto(await pageOpened());
  await page.getByRole("button", { name: "Deny" }).click();
  await page.waitForURL("http://127.0.0.1:*/**");
  const { code, output } = await client;
  expect(code).toBe(1);
  expect(output).toContain("access_denied");
});

test("T57: another page cannot show the consent page in a frame", async () => {
  const { run, pageOpened } = await startAll();
  const client = run();
  const browser = await startChromium();
  const page = await browser.newPage();
  const target = await pageOpened();
  await page.setContent(`<iframe src="${target.replaceAll("&", "&amp;")}"></iframe>`);
  await vi.waitUntil(() => page.frames().length === 2 && page.frames()[1]?.url() !== "about:blank");
  const framed = page.frames()[1]!;
  await framed.waitForLoadState();
  expect(await framed.locator("button").count()).toBe(0);
  await page.goto(target);
  await page.getByRole("button", { name: "Deny" }).click();
  await client;
});
