import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { PortolanError } from "portolan";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { scriptedModel } from "portolan-host/models";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { makeFolder, oldServer, Tab } from "./kit.ts";
import { checkWidth, question, say } from "./page.ts";
import { goPlace, sharePage } from "./shared-page.ts";

const shared = sharePage();

const rightToLeft = "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd ".repeat(20);
const emoji = "\u{1f9ed}\u{1f5fa}\u{fe0f}\u{26f5}".repeat(60);
const longWord = "w".repeat(600);

/** A server with 1,000 tools, long names, a script from right to left, emoji, and a result of 4 MB. */
async function startLarge(): Promise<string> {
  let server = createServer({ name: "large", version: "1.0.0" });
  for (let n = 0; n < 1_000; n += 1) {
    server = server.tool(`tool_${n}_${"n".repeat(100)}`, { description: longWord, run: () => "" });
  }
  const text = ({ of }: { of: string }) => {
    if (of === "rtl") return rightToLeft;
    if (of === "emoji") return emoji;
    return of === "word" ? longWord : "x".repeat(4 * 1024 * 1024);
  };
  server = server
    .tool("aa_text", { title: rightToLeft, description: emoji, input: z.object({ of: z.string() }), run: text })
    .resource("note://long", { name: longWord, title: rightToLeft, description: emoji, read: () => longWord })
    .prompt("prompt", { title: longWord, description: rightToLeft, get: () => emoji });
  const running = serveHttp(server);
  onTestFinished(() => running.close());
  const { url } = await running.listen(0);
  return url;
}

/** Checks that the page does not scroll sideways, its controls are in the window, and nothing covers the composer. */
async function checkPlace(page: Page): Promise<void> {
  await checkWidth(page);
  const found = await page.evaluate(() => {
    const found: string[] = [];
    const { scrollWidth, scrollHeight, clientWidth, clientHeight } = document.documentElement;
    if (scrollWidth > clientWidth) found.push(`the page is ${scrollWidth} wide`);
    if (scrollHeight > clientHeight + 1) found.push(`the page is ${scrollHeight} high`);
    for (const element of document.querySelectorAll(".top :is(a, button), .pane-foot button, .composer button")) {
      const { left, right, width } = element.getBoundingClientRect();
      if (width > 0 && (left < -1 || right > clientWidth + 1))
        found.push(`outside: ${element.outerHTML.slice(0, 100)}`);
    }
    for (const choices of document.querySelectorAll("dialog[open] .seg")) {
      if (choices.scrollWidth > choices.clientWidth) found.push(`cut: ${choices.textContent}`);
    }
    const composer = document.querySelector(".composer");
    if (composer && !document.querySelector("dialog[open]")) {
      const { left, top, width, height, bottom } = composer.getBoundingClientRect();
      if (bottom > clientHeight + 1) found.push("the composer is below the window");
      for (const x of [0.1, 0.5, 0.9]) {
        for (const y of [0.1, 0.5, 0.9]) {
          const at = document.elementFromPoint(left + width * x, top + height * y);
          if (!at || !composer.contains(at)) found.push(`over the composer: ${at?.outerHTML.slice(0, 100)}`);
        }
      }
    }
    return found;
  });
  expect(found, page.url()).toEqual([]);
}

/** Other products of this machine have nothing to add. */
const findServers = async () => ({ servers: [], problems: [] });

const places = ["try", "try/resource", "try/prompt", "timeline", "log", "recordings", "saved", "sign-in", "doctor"];

describe.each([320, 1024, 1440])("in a window of %i pixels", (width) => {
  const viewport = { width, height: 800 };

  test("a chat and Inspect hold what is long, from right to left, made of emoji, and 1,000 tools", async () => {
    const problems: string[] = [];
    const running = await shared.start({
      servers: { it: { url: await startLarge(), trustHints: false } },
      model: scriptedModel([
        { say: `${longWord} ${rightToLeft} ${emoji}`, call: { name: "it__aa_text", input: { of: "word" } } },
        { say: "That is all." },
      ]),
    });
    const page = await shared.open(running, problems, { viewport });
    await say(page, `${longWord} ${rightToLeft} ${emoji}`);
    const card = question(page);
    await card.getByText("wants to use").waitFor();
    await checkPlace(page);
    await card.getByRole("button", { name: "Allow once" }).click();
    await page.getByText("That is all.").waitFor();
    await checkPlace(page);
    const field = page.getByRole("textbox", { name: "Message to the model" });
    await field.fill(`${longWord}\n`.repeat(30));
    await checkPlace(page);
    await field.fill("");
    await goPlace(page, "inspect/it/try/tool/aa_text");
    await page.getByRole("heading", { name: "aa_text", exact: true }).waitFor();
    await page.getByText("1,001 tools").waitFor();
    // Only the rows that are seen are in the page.
    expect(await page.getByRole("listbox", { name: "tools" }).getByRole("option").count()).toBeLessThan(100);
    await checkPlace(page);
    const result = page.getByRole("region", { name: "Result" });
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    for (const of of ["rtl", "emoji", "whole"]) {
      await page.getByRole("textbox", { name: /as JSON/ }).fill(JSON.stringify({ of }));
      await page.getByRole("button", { name: /^Run/ }).first().click();
      await result
        .getByText(of === "rtl" ? "\u05e9\u05dc\u05d5\u05dd" : of === "emoji" ? "\u{1f9ed}" : "xxxx")
        .first()
        .waitFor();
      await checkPlace(page);
    }
    expect((await result.innerText()).length).toBeLessThan(500_000);
    for (const place of places) {
      await goPlace(page, `inspect/it/${place}`);
      await page.locator(".main :is(h1, h2, h3)").first().waitFor();
      await checkPlace(page);
    }
    await goPlace(page, "activity");
    await page.getByRole("heading", { name: "Activity" }).waitFor();
    await checkPlace(page);
    await goPlace(page, "chat");
    await field.waitFor();
    for (const [key, shows] of [
      ["/", page.getByRole("dialog", { name: "Prompts" }).getByRole("option").first()],
      ["@", page.getByRole("dialog", { name: "Attach resources" }).getByRole("checkbox").first()],
      ["ControlOrMeta+k", page.getByRole("combobox", { name: /Find/ })],
    ] as const) {
      await field.focus();
      await page.keyboard.press(key);
      await shows.waitFor();
      if (key.length > 1) {
        await shows.fill("tool");
        await page.getByRole("option").first().waitFor();
      }
      await checkPlace(page);
      await page.keyboard.press("Escape");
      await shows.waitFor({ state: "detached" });
      await field.fill("");
    }
    expect(problems).toEqual([]);
  });

  test("pickers, menus and dialogs say what is empty, what they wait for, and why they failed", async () => {
    const running = await shared.start({ servers: { it: oldServer }, tools: { findServers } });
    const held = await shared.window({ viewport });
    const hold = async (verb: string) => {
      let fail = () => {};
      const released = new Promise<void>((resolve) => (fail = resolve));
      const address = new RegExp(`/api/${verb.replace(".", "\\.")}$`);
      await held.route(address, async (route) => {
        await released;
        await route.abort();
      });
      return async () => {
        fail();
        await held.getByText("The console does not answer").first().waitFor();
        await checkPlace(held);
        await held.unroute(address);
      };
    };
    const failCatalog = await hold("catalog");
    await held.goto(running.openAddress());
    const field = held.getByRole("textbox", { name: "Message to the model" });
    const picker = held.getByRole("dialog", { name: "Attach resources" });
    const prompts = held.getByRole("dialog", { name: "Prompts" });
    await field.press("@");
    await picker.getByRole("status", { name: "Reading the resources of it" }).waitFor();
    await checkPlace(held);
    await failCatalog();
    await held.keyboard.press("Escape");
    await field.fill("/");
    await prompts.getByText("The console does not answer").waitFor();
    await checkPlace(held);
    await prompts.getByRole("button", { name: "Try again" }).click();
    await prompts.getByRole("option").first().waitFor();
    await field.fill("/nothing");
    await prompts.getByText('No prompt is called "nothing"').waitFor();
    await checkPlace(held);
    await field.fill("");
    await field.press("@");
    await picker.getByRole("checkbox").first().waitFor();
    await picker.getByRole("searchbox").fill("nothing has this name");
    await picker.getByText("Nothing fits the search").waitFor();
    await checkPlace(held);
    await picker.getByRole("searchbox").fill("");
    const failRead = await hold("resource.read");
    await picker.locator("button.picker-name:not(.is-template)").first().click();
    await picker.getByRole("status", { name: "Reading the resource" }).waitFor();
    await checkPlace(held);
    await failRead();
    await held.keyboard.press("Escape");
    await held.keyboard.press("ControlOrMeta+k");
    await held.getByRole("combobox", { name: /Find/ }).fill("nothing has this name");
    await held.getByText("Nothing has this name").waitFor();
    await checkPlace(held);
    await held.keyboard.press("Escape");
    await held.getByRole("button", { name: /^Tasks/ }).click();
    await held.getByText("No tasks").waitFor();
    await checkPlace(held);
    await held.keyboard.press("Escape");
    await goPlace(held, "chat");
    await field.focus();
    await held.keyboard.press("ControlOrMeta+k");
    await held.getByRole("combobox", { name: /Find/ }).fill("Add a server");
    await held.keyboard.press("Enter");
    const adding = held.getByRole("dialog", { name: "Add a server" });
    await adding.getByRole("textbox", { name: "Command or address" }).waitFor();
    await checkPlace(held);
    const failFound = await hold("found");
    await adding.getByRole("radio", { name: "Found on this machine" }).click();
    await adding.getByRole("status", { name: "Looking for servers" }).waitFor();
    await checkPlace(held);
    await failFound();
    await adding.getByRole("button", { name: "Try again" }).click();
    await adding.getByText("No other product on this machine has servers.").waitFor();
    await checkPlace(held);
    await held.keyboard.press("Escape");
    await goPlace(held, "activity");
    await held.getByText("Nothing was done yet").waitFor();
    await checkPlace(held);
    await goPlace(held, "inspect/it/sign-in");
    await held.getByText("A local command has no sign-in").waitFor();
    await checkPlace(held);
  });

  test("recordings, comparing, saved calls and doctor hold what is long, and say why they failed", async () => {
    const folder = await makeFolder();
    const call = { server: "it", tool: longWord, argumentsText: `{"of":"${longWord}"}`, expect: [] };
    const calls = [rightToLeft, emoji, longWord].map((name) => ({ ...call, name: name.slice(0, 100) }));
    await mkdir(join(folder, ".portolan"));
    await writeFile(join(folder, ".portolan/calls.json"), JSON.stringify({ version: 1, calls }));
    const long = { why: emoji, next: longWord, place: `/${longWord}` };
    const running = await shared.start({
      folder,
      servers: { it: oldServer, large: { url: await startLarge() } },
      tools: {
        findServers,
        async *examine() {
          for (const level of ["ok", "error", "warning", "note"] as const) {
            yield { id: level, level, what: `${level} ${longWord} ${rightToLeft}`, ...long };
          }
        },
        grade: async () => {
          throw new PortolanError("server-unavailable", `${longWord} ${rightToLeft}`);
        },
      },
    });
    const tab = await Tab.open(running);
    const header = { recording: 1, by: "test", startedAt: new Date(0).toISOString(), redacted: true };
    for (const server of [longWord, rightToLeft, emoji]) {
      await tab.do("recording.import", { name: "talk", text: `${JSON.stringify({ ...header, server })}\n` });
    }
    const page = await shared.open(running, [], { viewport });
    await goPlace(page, "inspect/it/recordings");
    await page.getByRole("button", { name: "Mock" }).nth(2).waitFor();
    await checkPlace(page);
    const wrong = { name: "wrong.jsonl", mimeType: "text/plain", buffer: Buffer.from(longWord) };
    await page.getByLabel("File of a recording").setInputFiles(wrong);
    await page.getByText("The file is not a recording.").first().waitFor();
    await checkPlace(page);

    await page.getByRole("button", { name: "Compare", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Compare what is offered" });
    await dialog.getByText("Choose two servers or recordings").waitFor();
    await checkPlace(page);
    await dialog.getByLabel("Before").selectOption("s large");
    const compare = dialog.getByRole("button", { name: "Compare", exact: true });
    let fail = () => {};
    const released = new Promise<void>((resolve) => (fail = resolve));
    await page.route(/\/api\/compare$/, async (route) => {
      await released;
      await route.abort();
    });
    await compare.click();
    await dialog.getByRole("status", { name: "Comparing" }).waitFor();
    await checkPlace(page);
    fail();
    await dialog.getByText("The console does not answer").waitFor();
    await checkPlace(page);
    await page.unroute(/\/api\/compare$/);
    await tab.do("server.start", { server: "large" });
    const countTools = async () => (await tab.do("catalog", { server: "large" })).tools.length;
    await expect.poll(countTools).toBeGreaterThan(1_000);
    await compare.click();
    await dialog.getByText("The first 200 are shown.").waitFor();
    await checkPlace(page);
    await page.keyboard.press("Escape");

    await goPlace(page, "inspect/it/saved");
    await page.getByRole("button", { name: "Run all 3" }).waitFor();
    await checkPlace(page);
    await page.getByRole("button", { name: "Run all 3" }).click();
    await page.getByText("3 failed", { exact: true }).waitFor();
    await checkPlace(page);
    await writeFile(join(folder, ".portolan/calls.json"), `{ "version": 1, ${longWord}`);
    await goPlace(page, "inspect/it/doctor");
    await page.getByRole("button", { name: "Examine it" }).click();
    await page.getByText("1 problem, 1 warning.").waitFor();
    await checkPlace(page);
    await page.getByRole("radio", { name: "Check" }).click();
    await page.getByRole("button", { name: "Check it" }).click();
    await page.getByText("it could not be examined").waitFor();
    await page.getByText(longWord).first().waitFor();
    await checkPlace(page);
    await goPlace(page, "inspect/it/saved");
    await page.locator(".note").first().waitFor();
    await checkPlace(page);
  });

  test("every place says what is empty and what to do, and why something failed", async () => {
    const running = await shared.start({
      model: scriptedModel([]),
      servers: {
        it: oldServer,
        other: oldServer,
        broken: { command: process.execPath, args: ["-e", "console.error('The disk is full.'); process.exit(3)"] },
      },
    });
    const tab = await Tab.open(running);
    const { id } = await tab.do("conversation.create", {});
    await tab.do("conversation.change", { id, title: longWord.slice(0, 200) });
    const page = await shared.open(running, [], { viewport });
    await checkPlace(page);
    for (const [place, words] of [
      ["inspect/it/recordings", "No recordings yet"],
      ["inspect/it/saved", "No saved calls yet"],
      ["inspect/it/doctor", "Not examined yet"],
      ["inspect/nobody/try", "This server is gone"],
      ["inspect/it/try", "Nothing was run yet"],
    ] as const) {
      await goPlace(page, place);
      await page.getByText(words).first().waitFor();
      await checkPlace(page);
    }
    await goPlace(page, "inspect/broken/try");
    await page.getByRole("main").getByText("The disk is full.").first().waitFor();
    await checkPlace(page);
    // The first words are held back, and then lost.
    for (const [place, verb, loading] of [
      ["inspect/it/try/tool/add", "definition", "Reading the definition"],
      ["inspect/it/saved", "saved.list", "Reading saved calls"],
      ["inspect/it/log", "lines", undefined],
      ["inspect/it/timeline", "messages", "Reading messages"],
      ["inspect/other/try", "catalog", "Reading what the server offers"],
      ["activity", "activity.done", "Reading what was done"],
      ["activity/log", "activity", "Reading the log"],
      [`chat/${id}`, "conversation.blocks", undefined],
    ] as const) {
      await goPlace(page, "inspect/it/doctor");
      await page.getByText("Not examined yet").waitFor();
      let fail = () => {};
      const released = new Promise<void>((resolve) => {
        fail = resolve;
      });
      const address = new RegExp(`/api/${verb.replace(".", "\\.")}$`);
      await page.route(address, async (route) => {
        await released;
        await route.abort();
      });
      await goPlace(page, place);
      if (loading !== undefined) await page.getByRole("status", { name: loading }).waitFor();
      await checkPlace(page);
      fail();
      await page.getByText("The console does not answer").first().waitFor();
      await checkPlace(page);
      await page.unroute(address);
    }
    await running.close();
    await page.getByRole("alert").getByText("Trying again").waitFor();
    await checkPlace(page);
  });
});
