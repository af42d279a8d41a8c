// @ts-check
// Makes the pictures of the console in docs/pictures: serves the sandbox of `npm start`, drives a real browser through the main
// screens, and saves each of them.
// Run: npm run screenshots
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { reduceColours } from "./palette.mjs";
import { findProgram } from "./programs.mjs";
import { makeSandbox } from "./start/sandbox.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The server whose cause of failure the pictures show. */
const brokenServer = "notes";

/** @typedef {import("playwright-core").Page} Page */

/**
 * Takes every picture, in the order of one visit.
 * @param {(name: string, picture: Buffer) => void} keep
 */
export async function takePictures(keep) {
  const sandbox = await makeSandbox();
  addBrokenServer(sandbox.folder);
  const started = await startConsole(sandbox);
  const browser = await chromium.launch({
    executablePath: findProgram("chromium") ?? "chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
    page.setDefaultTimeout(20_000);
    await page.goto(started.address);
    await visit(page, async (name, colorScheme) => {
      await page.emulateMedia({ colorScheme });
      await page.mouse.move(640, 799);
      await hideFolder(page);
      keep(name, reduceColours(await page.screenshot({ animations: "disabled", caret: "hide" })));
    });
  } finally {
    await browser.close();
    started.stop();
    await started.ended;
    sandbox.remove();
  }
}

/**
 * Goes through the screens.
 * @param {Page} page
 * @param {(name: string, colorScheme: "light" | "dark") => Promise<void>} shoot
 */
async function visit(page, shoot) {
  const card = page.locator("[data-question]");
  const day = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
  const go = (/** @type {string} */ hash) => page.evaluate((to) => location.assign(to), hash);

  await say(page, "What's the weather in Lisbon tomorrow?");
  await card.getByRole("button", { name: "Allow once" }).waitFor();
  await shoot("chat", "light");
  await shoot("chat-dark", "dark");
  await card.getByRole("button", { name: "Allow once" }).click();
  await page.getByText("°C").last().waitFor();

  await go("#/chat");
  await say(page, `Book flight PT521 on ${day}`);
  await card.getByRole("button", { name: "Allow once" }).click();
  await card.getByRole("button", { name: /Review answer/ }).waitFor();
  await showStart(card);
  await shoot("form", "light");
  await card.getByRole("button", { name: "Decline" }).click();
  await card.waitFor({ state: "detached" });

  await go("#/chat");
  await say(page, `Find the best flight from Oslo to Lisbon on ${day}, cheap`);
  await card.getByRole("button", { name: "Allow once" }).click();
  await card.getByRole("button", { name: /Ask the model/ }).waitFor();
  await showStart(card);
  await shoot("sampling-dark", "dark");
  await card.getByRole("button", { name: /Ask the model/ }).click();
  await card.getByRole("button", { name: /Send to travel/ }).click();
  await card.waitFor({ state: "detached" });

  await go("#/inspect/travel/timeline");
  const rows = page.getByRole("region", { name: "Messages" });
  await rows.getByText("findBestFlight").first().click();
  await page.getByRole("button", { name: "Open in Try" }).waitFor();
  await shoot("timeline-dark", "dark");

  await go("#/inspect/weather/timeline");
  await rows.getByText("checkWeather").first().click();
  await page.getByRole("button", { name: "Open in Try" }).click();
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByRole("button", { name: "Repeat" }).waitFor();
  await shoot("try", "light");

  await page.getByRole("button", { name: "Add a server" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a server" });
  await dialog.getByText("Found on this machine").click();
  await dialog.getByRole("listitem").filter({ hasText: brokenServer }).getByRole("button", { name: "Add" }).click();
  await dialog.waitFor({ state: "detached" });
  // Doctor examines a broken server at once.
  await page
    .getByRole("link", { name: "Fix" })
    .or(page.getByRole("button", { name: "Fix" }))
    .click();
  await page
    .getByText(/\d problem/)
    .first()
    .waitFor();
  await shoot("doctor", "light");

  await go("#/activity");
  await page.getByText("checkWeather").first().waitFor();
  await shoot("activity", "light");
}

/** Configures a server whose variable is not set. */
function addBrokenServer(/** @type {string} */ folder) {
  const file = join(folder, ".mcp.json");
  const { mcpServers } = JSON.parse(readFileSync(file, "utf8"));
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the variable is expanded by the configuration
  mcpServers[brokenServer] = { url: "http://127.0.0.1:9/mcp", headers: { Authorization: "Bearer ${NOTES_TOKEN}" } };
  writeFileSync(file, JSON.stringify({ mcpServers }));
}

/** Shows the folder of the project as one of any machine. */
async function hideFolder(/** @type {Page} */ page) {
  await page.evaluate((folder) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeValue?.includes(folder)) node.nodeValue = node.nodeValue.replaceAll(folder, "/srv/portolan/");
    }
  }, root);
}

/** Scrolls to the start of a card. */
async function showStart(/** @type {import("playwright-core").Locator} */ card) {
  await card.evaluate((element) => element.scrollIntoView({ block: "start" }));
}

/** Writes to the model. */
async function say(/** @type {Page} */ page, /** @type {string} */ text) {
  const field = page.getByRole("textbox", { name: "Message to the model" });
  await field.fill(text);
  await field.press("Enter");
}

/** Starts the console of `npm start` without a browser. */
async function startConsole(/** @type {import("./start/sandbox.mjs").Sandbox} */ { folder, home, names }) {
  const command = join(root, "packages/portolan/dist/cli/main.js");
  const model = join(root, "scripts/start/model.mjs");
  const child = spawn(process.execPath, [command, "console", "--no-open", "--json", "--model", model, ...names], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"], HOME: folder, PORTOLAN_HOME: home, PORTOLAN_SANDBOX: "1", LANG: "C.UTF-8" },
  });
  const ended = once(child, "exit");
  let output = "";
  const address = await new Promise((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
      if (output.includes("\n")) resolve(JSON.parse(output.slice(0, output.indexOf("\n"))).url);
    });
    ended.then(([code]) => reject(new Error(`portolan console ended with code ${code}`)), reject);
  });
  return { address: String(address), ended, stop: () => child.kill("SIGTERM") };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = join(root, "docs/pictures");
  mkdirSync(folder, { recursive: true });
  await takePictures((name, picture) => {
    writeFileSync(join(folder, `${name}.png`), picture);
    console.log(`written: docs/pictures/${name}.png (${Math.ceil(picture.length / 1024)} KB)`);
  });
}
