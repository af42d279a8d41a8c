import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ConsolePage, whyNoBrowser } from "../driver/console-page.mjs";

const server = fileURLToPath(new URL("../servers/console/many-tools.mjs", import.meta.url));
/** A host reads at most 2,000 tools of one server. */
const perServer = [2_000, 2_000, 1_000];
const ringSize = 20_000;

const rows = {
  load: "W15 console, scripts until the page is shown, gz",
  search: "W15 console, 5,000 tools: a letter in the search of a server, main thread",
  open: "W15 console, 5,000 tools: opening a tool, main thread",
  find: "W15 console, 5,000 tools: a letter in find, main thread",
  scroll: "W15 console, 100,000 messages: longest task while scrolling",
  heap: "W15 console, 100,000 messages: heap ÷ heap with 20,000",
  stall: "W15 console, 1,000 messages a second: longest task while typing",
};

/** The page of the console in Chromium: what a person waits for with large catalogs and many messages. */
export async function run({ quick, notes }) {
  const reason = whyNoBrowser();
  if (reason !== undefined) return Object.values(rows).map((metric) => rowOf(metric, undefined, reason));
  return [...(await withTools(quick)), ...(await withMessages(quick, notes))];
}

function rowOf(metric, value, notMeasured) {
  const unit = metric === rows.heap ? "×" : metric === rows.load ? "KB" : "ms";
  const cells = value === undefined ? {} : { portolan: { value } };
  return { metric, unit, shown: "value", cells, ...(notMeasured !== undefined && { notMeasured }) };
}

async function withTools(quick) {
  const folder = mkdtempSync(join(tmpdir(), "portolan-bench-tools-"));
  const servers = perServer.map((tools, at) => {
    const file = join(folder, `many${at}.mjs`);
    writeFileSync(
      file,
      `process.env.TOOLS = "${tools}";\nawait import(${JSON.stringify(pathToFileURL(server).href)});\n`,
    );
    return file;
  });
  const console = await ConsolePage.open(servers);
  try {
    const { page } = console;
    await page.getByRole("textbox", { name: "Message to the model" }).waitFor();
    const loaded = await console.scriptKb();
    for (const at of [2, 1, 0]) {
      await console.goTo(`inspect/many${at}/try`);
      await page
        .getByText(`${perServer[at].toLocaleString("en")} tools`)
        .first()
        .waitFor();
    }
    const words = quick ? ["read"] : ["read", "archive_report", "zzz"];
    const search = page.getByRole("searchbox", { name: "Search tools" });
    const perLetter = await slowestLetter(console, search, words);
    await search.fill("");
    const names = page.locator(".items .item-row");
    let opening = 0;
    for (let at = 1; at <= (quick ? 3 : 8); at += 1) {
      opening = Math.max(opening, await console.mainThreadMs(() => names.nth(at).click()));
    }
    await page.keyboard.press("Control+k");
    const find = page.getByRole("combobox", { name: /Find/ });
    await find.waitFor();
    const found = await slowestLetter(console, find, words);
    return [
      rowOf(rows.load, loaded),
      rowOf(rows.search, perLetter),
      rowOf(rows.open, opening),
      rowOf(rows.find, found),
    ];
  } finally {
    await console.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the main thread's time for the letter that took longest. */
async function slowestLetter(console, input, words) {
  let slowest = 0;
  for (const word of words) {
    await input.fill("");
    for (const letter of word) {
      slowest = Math.max(slowest, await console.mainThreadMs(() => input.press(letter)));
    }
  }
  return slowest;
}

async function withMessages(quick, notes) {
  const console = await ConsolePage.open([server]);
  const measured = [rows.scroll, rows.heap, rows.stall];
  try {
    const { page } = console;
    await console.goTo("inspect/many-tools/timeline");
    const list = page.getByRole("listbox", { name: "Messages" });
    const isThere = await list.waitFor({ timeout: 15_000 }).then(
      () => true,
      () => false,
    );
    if (!isThere) {
      notes.push("the timeline shows no messages");
      return measured.map((metric) => rowOf(metric));
    }
    await flood(console, ringSize, 10_000);
    const few = await console.heapMb();
    await flood(console, (quick ? 30_000 : 80_000) + 100, 10_000);
    const many = await console.heapMb();
    const scroll = await console.longestTask(() => scrollThrough(page, list));
    const search = page.getByRole("searchbox", { name: "Search in all messages" });
    const flooding = flood(console, quick ? 3_000 : 8_000, 1_000);
    const stall = await console.longestTask(async () => {
      for (const letter of "notifications message 12") await search.press(letter, { delay: 60 });
    });
    await flooding;
    return [rowOf(rows.scroll, scroll), rowOf(rows.heap, many / few), rowOf(rows.stall, stall)];
  } finally {
    await console.close();
  }
}

/** Has the server send so many log messages. Resolves when the page has them. */
async function flood(console, count, perSecond) {
  const before = await messagesIn(console);
  const argumentsText = JSON.stringify({ count, perSecond });
  await console.change("call", { server: "many-tools", tool: "flood", argumentsText });
  for (let waitedMs = 0; (await messagesIn(console)) < before + count; waitedMs += 250) {
    if (waitedMs > 60_000) throw new Error(`only ${(await messagesIn(console)) - before} of ${count} messages came`);
    await console.page.waitForTimeout(250);
  }
}

/** The number of messages that the page shows below its list. */
async function messagesIn(console) {
  const text = await console.page.getByText(/lines? of [\d,.]+ messages/).innerText();
  return Number(/of ([\d,.]+)/.exec(text)[1].replace(/\D/g, ""));
}

async function scrollThrough(page, list) {
  for (let step = 0; step < 40; step += 1) {
    await list.evaluate((element, at) => {
      element.scrollTop = (element.scrollHeight * at) / 40;
    }, 40 - step);
    await page.waitForTimeout(30);
  }
}
