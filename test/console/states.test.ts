import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { PortolanError } from "portolan";
import { createServer, live, type Server } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { skills, skillsOf } from "portolan/server/skills";
import { tasks } from "portolan/server/tasks";
import { scriptedModel } from "portolan-host/models";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { makeFolder, oldServer, Tab } from "./kit.ts";
import { checkWidth, question, say } from "./page.ts";
import { type ScreenState, screenStates, screens } from "./screens.ts";
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
  const name = "w".repeat(60);
  const skill = `---\nname: ${name}\ndescription: ${longWord} ${rightToLeft}\n---\n${longWord}\n${emoji}\n`;
  return serve(server.extend(skills(await skillsOf({ [`${name}/SKILL.md`]: skill }))));
}

/** Serves over HTTP until the test ends. Returns the address. */
async function serve(server: Server): Promise<string> {
  const running = serveHttp(server);
  onTestFinished(() => running.close());
  const { url } = await running.listen(0);
  return url;
}

/** A server without tools, with a prompt and a template that take long or fail. */
function startBare(): Promise<string> {
  return serve(
    createServer({ name: "bare", version: "1.0.0" })
      .prompt("only", { get: () => "words" })
      .template("note://{name}", { name: "template", read: () => "words" }),
  );
}

/** The states that were shown, by the width of the window. */
const shown = new Map<number, Set<string>>();

/**
 * Checks that the page does not scroll sideways, its controls are in the window, and nothing covers the composer. `states` are
 * shown now.
 */
async function checkPlace(page: Page, ...states: readonly ScreenState[]): Promise<void> {
  const { width = 0 } = page.viewportSize() ?? {};
  const known = shown.get(width) ?? new Set();
  shown.set(width, known);
  for (const state of states) known.add(state);
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
    // In a narrow window the list of servers is a drawer over everything.
    if (composer && !document.querySelector("dialog[open], .app[data-drawer]")) {
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

/** Waits until a part of the page says that the console does not answer. */
const unreached = (place: Page | Locator) => place.getByText("The console does not answer").first().waitFor();

/** Requests that get no answer yet. */
interface Held {
  /** Breaks them off, also those that are sent again, until this part of the page says so. */
  fail(place: Page | Locator): Promise<void>;
  pass(): Promise<void>;
}

/** Holds the answers to a verb, or a script. */
async function hold(page: Page, path: string): Promise<Held> {
  const address = path.startsWith("/") ? `**${path}` : new RegExp(`/api/${path.replace(".", "\\.")}$`);
  let release: (how: "abort" | "fallback") => void = () => {};
  const released = new Promise<"abort" | "fallback">((resolve) => (release = resolve));
  const answered = new Set<Promise<void>>();
  let noteFirst = () => {};
  const first = new Promise<void>((resolve) => (noteFirst = resolve));
  await page.route(address, (route) => {
    noteFirst();
    const done = released.then((how) => route[how]());
    answered.add(done);
    return done;
  });
  const end = async (how: "abort" | "fallback", isSeen: () => Promise<void>) => {
    await first;
    release(how);
    await isSeen();
    await Promise.all(answered);
    await page.unroute(address);
  };
  return { fail: (place) => end("abort", () => unreached(place)), pass: () => end("fallback", async () => {}) };
}

/** Other products of this machine have nothing to add. */
const findServers = async () => ({ servers: [], problems: [] });

const places = ["try", "try/resource", "try/prompt", "timeline", "log", "recordings", "saved", "sign-in", "doctor"];

test("every file of the page that shows a state or a window belongs to a screen", async () => {
  const folder = join(import.meta.dirname, "../../packages/console/src/app");
  const known = new Set<string>(Object.values(screens).flatMap(({ files }) => files.map((file) => `${file}.tsx`)));
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".tsx"));
  const shows = /<(?:Empty|Bones|ReadFailure|Dialog|CatalogState)\b/;
  const texts = await Promise.all(
    names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const),
  );
  const unknown = texts.filter(([name, text]) => shows.test(text) && !known.has(name) && !name.startsWith("parts/"));
  expect(unknown.map(([name]) => name)).toEqual([]);
  const [, tabs = ""] =
    /const tabs = \[(.*?)\] as const/s.exec(texts.find(([name]) => name === "inspect/inspect.tsx")?.[1] ?? "") ?? [];
  const tabNames = [...tabs.matchAll(/\["([\w-]+)"/g)].map(([, name = ""]) => name);
  expect(tabNames.length).toBeGreaterThan(5);
  expect(tabNames.filter((name) => !Object.hasOwn(screens, name))).toEqual([]);
});

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
    await checkPlace(page, "question: overflow", "chat: overflow");
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
    await checkPlace(page, "try: overflow", "tool: overflow", "server: overflow");
    const result = page.getByRole("region", { name: "Result" });
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    for (const of of ["rtl", "emoji", "whole"]) {
      await page.getByRole("textbox", { name: /as JSON/ }).fill(JSON.stringify({ of }));
      await page.getByRole("button", { name: /^Run/ }).first().click();
      await result
        .getByText(of === "rtl" ? "\u05e9\u05dc\u05d5\u05dd" : of === "emoji" ? "\u{1f9ed}" : "xxxx")
        .first()
        .waitFor();
      await checkPlace(page, "result: overflow");
    }
    expect((await result.innerText()).length).toBeLessThan(500_000);
    for (const place of places) {
      await goPlace(page, `inspect/it/${place}`);
      await page.locator(".main :is(h1, h2, h3)").first().waitFor();
      await checkPlace(page);
    }
    await goPlace(page, "inspect/it/timeline");
    const messages = page.getByRole("listbox", { name: "Messages" });
    await messages.getByText("aa_text").first().click();
    await page.getByRole("button", { name: "Open in Try" }).waitFor();
    await checkPlace(page, "timeline: overflow", "message: overflow");
    await page.getByRole("button", { name: "Edit and send again" }).click();
    const sending = page.getByRole("dialog", { name: "Send a request" });
    await sending.getByRole("textbox", { name: "Method" }).waitFor();
    await checkPlace(page, "send a request: empty");
    const sent = await hold(page, "request");
    await sending.getByRole("button", { name: "Send", exact: true }).click();
    await sending
      .getByRole("button", { name: "Send", exact: true, disabled: true })
      .or(sending.locator("[aria-busy=true]"))
      .first()
      .waitFor();
    await checkPlace(page, "send a request: loading");
    await sent.fail(sending);
    await checkPlace(page, "send a request: error");
    await sending.getByRole("button", { name: "Send", exact: true }).click();
    await sending.getByText("Response", { exact: true }).waitFor();
    await checkPlace(page, "send a request: overflow");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    const saving = page.getByRole("dialog", { name: "Save this call" });
    await saving.getByLabel("Name").fill(longWord);
    await checkPlace(page, "save a call: overflow");
    const saved = await hold(page, "saved.put");
    await saving.getByRole("button", { name: "Save", exact: true }).click();
    await saved.fail(page);
    await checkPlace(page, "save a call: error");
    await page.keyboard.press("Escape");
    await goPlace(page, "inspect/it/try/resource");
    await page.getByRole("region", { name: "Content" }).getByText(longWord.slice(0, 50)).first().waitFor();
    await checkPlace(page, "resource: overflow");
    await goPlace(page, "inspect/it/try/prompt");
    await page.getByRole("button", { name: "Get messages" }).click();
    await page.getByRole("region", { name: "Messages" }).getByText("\u{1f9ed}").first().waitFor();
    await checkPlace(page, "prompt: overflow");
    await goPlace(page, "activity");
    await page.getByText("aa_text").first().waitFor();
    await checkPlace(page, "activity: overflow");
    await goPlace(page, "activity/log");
    await page.getByText("aa_text").first().waitFor();
    await checkPlace(page, "activity log: overflow");
    await goPlace(page, "chat");
    await field.waitFor();
    for (const [key, shows, state] of [
      ["/", page.getByRole("dialog", { name: "Prompts" }).getByRole("option").first(), "prompts: overflow"],
      [
        "@",
        page.getByRole("dialog", { name: "Attach resources" }).getByRole("checkbox").first(),
        "resources: overflow",
      ],
      ["ControlOrMeta+k", page.getByRole("combobox", { name: /Find/ }), "find: overflow"],
    ] as const) {
      await field.focus();
      await page.keyboard.press(key);
      await shows.waitFor();
      if (key.length > 1) {
        await shows.fill("tool");
        await page.getByRole("option").first().waitFor();
      }
      await checkPlace(page, state);
      await page.keyboard.press("Escape");
      await shows.waitFor({ state: "detached" });
      await field.fill("");
    }
    // The browser reports each request that was broken off here.
    expect(problems.filter((problem) => !problem.includes("ERR_FAILED"))).toEqual([]);
  }, 180_000);

  test("pickers, menus and dialogs say what is empty, what they wait for, and why they failed", async () => {
    const running = await shared.start({ servers: { it: oldServer }, tools: { findServers } });
    const held = await shared.window({ viewport });
    const catalog = await hold(held, "catalog");
    await held.goto(running.openAddress());
    const field = held.getByRole("textbox", { name: "Message to the model" });
    const picker = held.getByRole("dialog", { name: "Attach resources" });
    const prompts = held.getByRole("dialog", { name: "Prompts" });
    await field.press("@");
    await picker.getByRole("status", { name: "Reading the resources of it" }).waitFor();
    await checkPlace(held, "resources: loading");
    await held.keyboard.press("Escape");
    await field.fill("/");
    await prompts.getByRole("status", { name: "Reading the prompts" }).waitFor();
    await checkPlace(held, "prompts: loading");
    await field.fill("");
    await held.keyboard.press("ControlOrMeta+k");
    const find = held.getByRole("dialog", { name: "Find" });
    await find.getByRole("combobox").fill("nothing has this name");
    await find.getByRole("status", { name: "Reading what the servers offer" }).waitFor();
    await checkPlace(held, "find: loading");
    await catalog.fail(find);
    await find.getByText("it is not searched").waitFor();
    await checkPlace(held, "find: error");
    await find.getByRole("button", { name: "Try again" }).click();
    await find.getByText("Nothing has this name").waitFor();
    await checkPlace(held, "find: empty");
    await held.keyboard.press("Escape");
    await field.press("@");
    await unreached(picker);
    await checkPlace(held, "resources: error");
    await held.keyboard.press("Escape");
    await field.fill("/");
    await unreached(prompts);
    await checkPlace(held, "prompts: error");
    await prompts.getByRole("button", { name: "Try again" }).click();
    await prompts.getByRole("option").first().waitFor();
    await field.fill("/nothing");
    await prompts.getByText('No prompt is called "nothing"').waitFor();
    await checkPlace(held, "prompts: empty");
    await field.fill("");
    await field.press("@");
    await picker.getByRole("checkbox").first().waitFor();
    await picker.getByRole("searchbox").fill("nothing has this name");
    await picker.getByText("Nothing fits the search").waitFor();
    await checkPlace(held, "resources: empty");
    await picker.getByRole("searchbox").fill("");
    const reading = await hold(held, "resource.read");
    await picker.locator("button.picker-name:not(.is-template)").first().click();
    await picker.getByRole("status", { name: "Reading the resource" }).waitFor();
    await checkPlace(held);
    await reading.fail(picker);
    await checkPlace(held);
    await held.keyboard.press("Escape");
    await held.getByRole("button", { name: /^Tasks/ }).click();
    await held.getByText("No tasks").waitFor();
    await checkPlace(held, "tasks: empty");
    await held.keyboard.press("Escape");
    await goPlace(held, "chat");
    await field.focus();
    await held.keyboard.press("ControlOrMeta+k");
    await held.getByRole("combobox", { name: /Find/ }).fill("Add a server");
    await held.keyboard.press("Enter");
    const adding = held.getByRole("dialog", { name: "Add a server" });
    await adding.getByRole("textbox", { name: "Command or address" }).fill(longWord);
    await checkPlace(held, "add a server: overflow");
    await adding.getByRole("button", { name: "Add the server" }).click();
    await adding.locator(".note[data-tone=danger]").waitFor();
    await checkPlace(held, "add a server: error");
    const found = await hold(held, "found");
    await adding.getByRole("radio", { name: "Found on this machine" }).click();
    await adding.getByRole("status", { name: "Looking for servers" }).waitFor();
    await checkPlace(held, "found servers: loading");
    await found.fail(adding);
    await checkPlace(held, "found servers: error");
    await adding.getByRole("button", { name: "Try again" }).click();
    await adding.getByText("No other product on this machine has servers.").waitFor();
    await checkPlace(held, "found servers: empty");
    await held.keyboard.press("Escape");
    await goPlace(held, "activity");
    await held.getByText("Nothing was done yet").waitFor();
    await held.getByText("No grants").waitFor();
    await checkPlace(held, "activity: empty", "grants: empty");
    await goPlace(held, "activity/log");
    await held.getByRole("searchbox", { name: "Search the log" }).fill("nothing has this name");
    await held.getByText("No entry fits").waitFor();
    await checkPlace(held, "activity log: empty");
    await goPlace(held, "inspect/it/sign-in");
    await held.getByText("A local command has no sign-in").waitFor();
    await checkPlace(held, "sign-in: empty");
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
    await checkPlace(page, "recordings: overflow");
    const wrong = { name: "wrong.jsonl", mimeType: "text/plain", buffer: Buffer.from(longWord) };
    await page.getByLabel("File of a recording").setInputFiles(wrong);
    await page.getByText("The file is not a recording.").first().waitFor();
    await checkPlace(page, "recordings: error");

    await page.getByRole("button", { name: "Compare", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Compare what is offered" });
    await dialog.getByText("Choose two servers or recordings").waitFor();
    await checkPlace(page, "compare: empty");
    await dialog.getByLabel("Before").selectOption("s large");
    const compare = dialog.getByRole("button", { name: "Compare", exact: true });
    const comparing = await hold(page, "compare");
    await compare.click();
    await dialog.getByRole("status", { name: "Comparing" }).waitFor();
    await checkPlace(page, "compare: loading");
    await comparing.fail(dialog);
    await checkPlace(page, "compare: error");
    await compare.click();
    await dialog.getByText("The first 200 are shown.").waitFor();
    await checkPlace(page, "compare: overflow");
    await page.keyboard.press("Escape");

    await goPlace(page, "inspect/it/saved");
    await page.getByRole("button", { name: "Run all 3" }).waitFor();
    await checkPlace(page, "saved: overflow");
    await page.getByRole("button", { name: "Run all 3" }).click();
    await page.getByText("3 failed", { exact: true }).waitFor();
    await checkPlace(page);
    await writeFile(join(folder, ".portolan/calls.json"), `{ "version": 1, ${longWord}`);
    await goPlace(page, "inspect/it/doctor");
    await page.getByRole("button", { name: "Examine it" }).click();
    await page.getByText("1 problem, 1 warning.").waitFor();
    await checkPlace(page, "doctor: overflow");
    await page.getByRole("radio", { name: "Check" }).click();
    await page.getByRole("button", { name: "Check it" }).click();
    await page.getByText("it could not be examined").waitFor();
    await page.getByText(longWord).first().waitFor();
    await checkPlace(page, "check: error", "check: overflow");
    await goPlace(page, "inspect/it/saved");
    await page.locator(".note").first().waitFor();
    await checkPlace(page, "saved: error");
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
    await checkPlace(page, "chat: empty");
    for (const [place, words, state] of [
      ["inspect/it/recordings", "No recordings yet", "recordings: empty"],
      ["inspect/it/saved", "No saved calls yet", "saved: empty"],
      ["inspect/it/doctor", "Not examined yet", "doctor: empty"],
      ["inspect/other/timeline", "No message chosen", "message: empty"],
      ["inspect/nobody/try", "This server is gone", "server: empty"],
      ["inspect/it/try", "Nothing was run yet", "result: empty"],
    ] as const) {
      await goPlace(page, place);
      await page.getByText(words).first().waitFor();
      await checkPlace(page, state);
    }
    await goPlace(page, "inspect/broken/try");
    await page.getByRole("main").getByText("The disk is full.").first().waitFor();
    await checkPlace(page, "server: error");
    // The first words are held back, and then lost.
    for (const [place, verb, loading, screen] of [
      ["inspect/it/try/tool/add", "definition", "Reading the definition", "tool"],
      ["inspect/it/saved", "saved.list", "Reading saved calls", undefined],
      ["inspect/it/log", "lines", "Reading the lines", "log"],
      ["inspect/it/timeline", "messages", "Reading messages", "timeline"],
      ["inspect/other/try", "catalog", "Reading what the server offers", "try"],
      ["activity", "activity.done", "Reading what was done", "activity"],
      ["activity/log", "activity", "Reading the log", "activity log"],
      [`chat/${id}`, "conversation.blocks", "Reading the conversation", "chat"],
    ] as const) {
      await goPlace(page, "inspect/it/doctor");
      await page.getByText("Not examined yet").waitFor();
      const held = await hold(page, verb);
      await goPlace(page, place);
      await page.getByRole("status", { name: loading }).waitFor();
      await checkPlace(page, screen === undefined ? "saved: loading" : `${screen}: loading`);
      await held.fail(page);
      await page.getByRole("button", { name: "Try again" }).first().waitFor();
      await checkPlace(page, ...(screen === undefined ? [] : [`${screen}: error` as const]));
    }
    await running.close();
    await page.getByRole("alert").getByText("Trying again").waitFor();
    await checkPlace(page, "console: error");
  });

  test("windows about servers and settings say what they wait for and why they failed, and hold what is long", async () => {
    const long = longWord.slice(0, 60);
    const source = { kind: "file", file: `/${longWord}`, path: longWord, product: "vscode", scope: "project" } as const;
    const command = { command: longWord, args: [rightToLeft, emoji] };
    const entry = (name: string) => ({ name, target: command, configured: command, settings: {}, source });
    const foundServer = { name: long, product: long, file: `/${longWord}`, target: longWord, problem: longWord };
    const running = await shared.start({
      servers: [entry(long), entry(`${long.slice(1)}x`)],
      model: scriptedModel([], { id: longWord.slice(0, 150) }),
      tools: {
        findServers: async () => ({ servers: [{ ...foundServer, isKnown: false }], problems: [rightToLeft, longWord] }),
        entry: () => ({ target: longWord, isAddress: false, names: [longWord], file: `/${longWord}` }),
        replace: async () => {
          throw new PortolanError("invalid-argument", longWord);
        },
      },
    });
    const tab = await Tab.open(running);
    const { id } = await tab.do("conversation.create", {});
    await tab.do("conversation.change", { id, title: rightToLeft.slice(0, 150) });
    const page = await shared.open(running, [], { viewport });
    const burger = page.getByRole("button", { name: "Servers and conversations" });
    /** In a narrow window the list of servers is a drawer. */
    const openRail = async () => {
      if ((await burger.isVisible()) && (await burger.getAttribute("aria-expanded")) !== "true") await burger.click();
      await page.getByRole("link", { name: long, exact: true }).waitFor();
    };
    const heldWindow = async (
      verb: string,
      open: () => Promise<void>,
      name: string,
      screen: "trust" | "trust several" | "change a server",
    ) => {
      const dialog = page.getByRole("dialog", { name });
      await openRail();
      const held = await hold(page, verb);
      await open();
      await dialog.getByRole("status", { name: "Reading the configuration" }).waitFor();
      await checkPlace(page, `${screen}: loading`);
      await held.fail(dialog);
      await checkPlace(page, `${screen}: error`);
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      await openRail();
      await open();
      return dialog;
    };
    await openRail();
    await checkPlace(page, "console: overflow");
    const row = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: long, exact: true }) });
    const trust = await heldWindow(
      "server.subject",
      () => row.getByRole("button", { name: "Trust", exact: true }).click(),
      `Trust ${long}?`,
      "trust",
    );
    await trust.getByText(longWord).first().waitFor();
    await checkPlace(page, "trust: overflow");
    await page.keyboard.press("Escape");
    const several = await heldWindow(
      "server.subject",
      () => page.getByRole("button", { name: "Trust several of 2" }).click(),
      "Trust several servers",
      "trust several",
    );
    await several.getByText(longWord).first().waitFor();
    await checkPlace(page, "trust several: overflow");
    await page.keyboard.press("Escape");
    const change = async () => {
      await page.getByRole("button", { name: `Actions for ${long}` }).press("Enter");
      await page.getByRole("menuitem", { name: "Change" }).click();
    };
    const changing = await heldWindow("server.entry", change, `Change ${long}`, "change a server");
    await changing.getByRole("button", { name: "Save and start again" }).click();
    await changing.getByText(longWord).first().waitFor();
    await checkPlace(page, "change a server: overflow");
    await page.keyboard.press("Escape");

    const find = async (words: string) => {
      await page.keyboard.press("ControlOrMeta+k");
      await page.getByRole("combobox", { name: /Find/ }).fill(words);
      await page.getByRole("option").first().waitFor();
      await page.keyboard.press("Enter");
    };
    await goPlace(page, `inspect/${encodeURIComponent(long)}/timeline`);
    await page.getByText("No messages yet").waitFor();
    await checkPlace(page, "timeline: empty");
    await find("Add a server");
    await page.getByRole("radio", { name: "Found on this machine" }).click();
    await page.getByRole("dialog", { name: "Add a server" }).getByText(longWord).first().waitFor();
    await checkPlace(page, "found servers: overflow");
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Settings" }).first().click();
    const settings = page.getByRole("dialog", { name: "Settings" });
    await settings.getByText("Model of new conversations").waitFor();
    await checkPlace(page, "settings: overflow");
    await settings.getByRole("button", { name: "Change the folders" }).click();
    const folders = page.getByRole("dialog", { name: "Folders that servers may know" });
    await folders.getByText("A server learns the names").waitFor();
    await checkPlace(page, "folders: empty");
    await folders.getByRole("textbox", { name: "Path of the folder" }).fill(`/${longWord.slice(0, 200)}`);
    const setting = await hold(page, "roots.set");
    await folders.getByRole("button", { name: "Add", exact: true }).click();
    await setting.fail(page);
    await checkPlace(page, "folders: error");
    const deep = join(await makeFolder(), "w".repeat(200), "w".repeat(200));
    await mkdir(deep, { recursive: true });
    await folders.getByRole("textbox", { name: "Path of the folder" }).fill(deep);
    await folders.getByRole("button", { name: "Add", exact: true }).click();
    await folders.getByRole("listitem").waitFor();
    await checkPlace(page, "folders: overflow");
    await page.keyboard.press("Escape");
    await folders.waitFor({ state: "detached" });
    await settings.getByRole("button", { name: "Add a model" }).click();
    const model = page.getByRole("dialog", { name: "Add a model" });
    await model.getByLabel("Model").fill(longWord);
    await model.getByLabel("Key").fill(longWord);
    await checkPlace(page, "add a model: overflow");
    await model.getByRole("button", { name: "Add the model" }).click();
    await model.locator(".note[data-tone=danger]").waitFor();
    await checkPlace(page, "add a model: error");
  });

  test("a console that begins says so, one without servers says what to do, and a tab without a session how to open one", async () => {
    const running = await shared.start({ servers: {}, model: scriptedModel([]) });
    const page = await shared.window({ viewport });
    const events = await hold(page, "events");
    await page.goto(running.openAddress());
    await page.getByRole("status", { name: "Opening the console" }).waitFor();
    await checkPlace(page, "console: loading");
    await events.pass();
    await page.getByRole("textbox", { name: "Message to the model" }).waitFor();
    await page.getByText("There is no server yet.", { exact: true }).waitFor({ state: "attached" });
    await page.getByText("Nothing yet. Type @").waitFor({ state: "attached" });
    await checkPlace(page, "console: empty", "context: empty");
    const other = await shared.window({ viewport });
    await other.goto(running.origin);
    await other.getByRole("heading", { name: "Open the console" }).waitFor();
    await checkPlace(other, "closed: error");
  });

  test("what a server offers is asked for, fails, is empty and is long", async () => {
    let end = () => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    onTestFinished(() => end());
    const examined = { id: "x", level: "ok", what: "fine", why: "", next: "" } as const;
    const running = await shared.start({
      servers: {
        large: { url: await startLarge(), trustHints: false },
        bare: { url: await startBare() },
        noisy: {
          command: process.execPath,
          args: ["-e", `console.error(${JSON.stringify(`${longWord} ${rightToLeft}`)}); setInterval(() => {}, 1e6)`],
        },
        it: oldServer,
      },
      model: scriptedModel([{ call: { name: "large__aa_text", input: { of: "word" } } }, { say: "That is all." }]),
      tools: {
        async *examine() {
          yield examined;
          await ended;
          throw new PortolanError("server-unavailable", longWord);
        },
        grade: async () => {
          await ended;
          return "fine";
        },
        async signIn(_host, _name, watch) {
          const step = { id: 1, title: longWord, standard: longWord, request: longWord, response: emoji };
          watch.step({ ...step, state: "running" });
          await ended;
          watch.step({ ...step, state: "failed", reason: `${longWord} ${rightToLeft}` });
          throw new PortolanError("unauthorized", longWord);
        },
      },
    });
    const tab = await Tab.open(running);
    const events = await tab.events();
    const page = await shared.open(running, [], { viewport });
    const until = (words: string | RegExp) => page.getByText(words).first().waitFor();
    await goPlace(page, "inspect/noisy/log");
    await until(longWord.slice(0, 40));
    await checkPlace(page, "log: overflow");
    await goPlace(page, "inspect/noisy/try");
    await page.getByRole("main").getByText("Starting").first().waitFor();
    await checkPlace(page, "server: loading");
    await goPlace(page, "inspect/bare/try/tool");
    await until("bare has no tools");
    await checkPlace(page, "try: empty");
    await goPlace(page, "inspect/bare/log");
    await until("No lines yet");
    await checkPlace(page, "log: empty");
    await goPlace(page, "inspect/bare/try/resource");
    await until("Nothing was read yet");
    await checkPlace(page, "resource: empty");
    await goPlace(page, "inspect/bare/try/prompt");
    await until("Nothing was asked for yet");
    await checkPlace(page, "prompt: empty");
    const asking = await hold(page, "prompt.get");
    await page.getByRole("button", { name: "Get messages" }).click();
    await page.getByRole("status", { name: "Asking for the messages" }).waitFor();
    await checkPlace(page, "prompt: loading");
    await asking.fail(page);
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await checkPlace(page, "prompt: error");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("region", { name: "Messages" }).getByText("words").waitFor();

    const previewing = await hold(page, "skill.preview");
    await goPlace(page, "inspect/large/try/skill");
    await page.getByRole("status", { name: "Reading the skill", exact: true }).waitFor();
    await checkPlace(page, "skill: loading");
    await previewing.fail(page);
    await checkPlace(page, "skill: error");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("region", { name: "Instructions" }).getByText("\u{1f9ed}").first().waitFor();
    await checkPlace(page, "skill: overflow");

    const resource = await hold(page, "resource.read");
    await goPlace(page, "inspect/large/try/resource");
    const content = page.getByRole("region", { name: "Content" });
    await content.getByRole("status", { name: "Reading the resource" }).waitFor();
    await checkPlace(page, "resource: loading");
    await resource.fail(content);
    await checkPlace(page, "resource: error");
    await content.getByRole("button", { name: "Try again" }).click();
    await content.getByText(longWord.slice(0, 50)).first().waitFor();

    const messages = page.getByRole("listbox", { name: "Messages" });
    const reading = await hold(page, "message");
    await goPlace(page, "inspect/large/timeline");
    // Of a line without a message, such as one of HTTP, there is nothing to read.
    await messages
      .getByRole("option")
      .filter({ hasText: /\/(list|read|get)/ })
      .first()
      .click();
    await page.getByRole("status", { name: "Reading the message", exact: true }).waitFor();
    await checkPlace(page, "message: loading");
    await reading.fail(page.getByRole("region", { name: "Message", exact: true }));
    await checkPlace(page, "message: error");

    const loading = await hold(page, "/recordings-*.js");
    await goPlace(page, "inspect/large/recordings");
    await page.getByRole("status", { name: "Opening recordings" }).waitFor();
    await checkPlace(page, "recordings: loading");
    await loading.pass();
    await until("No recordings yet");

    await goPlace(page, "inspect/large/doctor");
    await page.getByRole("button", { name: "Examine large" }).click();
    await until("The examination runs.");
    await checkPlace(page, "doctor: loading");
    await page.getByRole("radio", { name: "Check" }).click();
    await until("Not checked yet");
    await checkPlace(page, "check: empty");
    await page.getByRole("button", { name: "Check large" }).click();
    await until("The examination runs.");
    await checkPlace(page, "check: loading");
    await goPlace(page, "inspect/large/sign-in");
    await page.getByRole("button", { name: "Sign in to large" }).click();
    await until("running");
    await checkPlace(page, "sign-in: loading");
    end();
    await until("The sign-in failed.");
    await checkPlace(page, "sign-in: error", "sign-in: overflow");
    await goPlace(page, "inspect/large/doctor");
    await page.getByRole("radio", { name: "Doctor" }).click();
    await until("large could not be examined");
    await checkPlace(page, "doctor: error");

    // A call that waits, one that fails, and the questions of both.
    await goPlace(page, "inspect/it/try/tool/wait");
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    await page.getByRole("textbox", { name: /as JSON/ }).fill('{"ms": 600000}');
    await page.getByRole("button", { name: /^Run/ }).first().click();
    await page.getByRole("region", { name: "Result" }).getByText("Running").waitFor();
    await checkPlace(page, "result: loading");
    await page.getByRole("region", { name: "Result" }).getByRole("button", { name: "Cancel" }).click();
    await until("The call was cancelled.");
    await checkPlace(page, "result: error");
    await goPlace(page, "chat");
    await page.getByRole("textbox", { name: "Message to the model" }).waitFor();
    await say(page, longWord);
    const { question: asked } = await events.next("question", (event) => event.question.kind === "approve");
    const answering = await hold(page, "answer");
    await question(page).getByRole("button", { name: "Always" }).click();
    await answering.fail(question(page));
    await checkPlace(page, "question: error");
    await goPlace(page, "inspect/it/try");
    await page.getByTitle("Questions elsewhere").click();
    await page.getByRole("dialog", { name: "Questions" }).getByText("1 question").waitFor();
    await checkPlace(page, "questions: overflow");
    await tab.do("answer", { id: asked.id, digest: asked.digest, answer: { allow: true, for: "always" } });
    await until("Nothing waits for you");
    await checkPlace(page, "questions: empty");
    await page.keyboard.press("Escape");
    await goPlace(page, "activity");
    await page.getByRole("region", { name: "Grants" }).getByText("aa_text").waitFor();
    await checkPlace(page, "grants: overflow");

    // The panel beside the conversation is below it, or away, in a narrow window.
    await goPlace(page, "chat");
    const catalog = await hold(page, "catalog");
    await page.reload();
    await page.getByRole("textbox", { name: "Message to the model" }).waitFor();
    const opener = page.locator(".tool-switch .opener").filter({ hasText: "large" }).first();
    if (!(await opener.isVisible()))
      await page
        .getByRole("button", { name: /tools$/ })
        .first()
        .click();
    await page.locator(".tool-switch .opener:visible").filter({ hasText: "large" }).first().click();
    await page.getByRole("status", { name: "Reading the tools" }).first().waitFor();
    await checkPlace(page, "context: loading");
    await catalog.fail(page);
    await checkPlace(page, "context: error");
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.getByText("aa_text").first().waitFor();
    await checkPlace(page, "context: overflow");
  }, 180_000);

  test("changed definitions and tasks wait, fail, and hold what is long", async () => {
    const acting = (description: string) =>
      createServer({ name: "it", version: "1" })
        .tool("act", { description, run: () => "acted" })
        .extend(tasks())
        .tool(longWord.slice(0, 100), {
          task: { mode: "required" },
          run: (_, { signal }) => new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve(""))),
        });
    const server = live(acting("Acts"));
    const endpoint = serveHttp(server);
    onTestFinished(() => endpoint.close());
    const running = await shared.start({
      servers: { it: { url: (await endpoint.listen(0)).url } },
      model: scriptedModel([{ call: { name: "it__act", input: {} } }, { say: "That is all." }]),
      policy: [{ then: "allow" }],
    });
    const tab = await Tab.open(running);
    const events = await tab.events();
    const { id } = await tab.do("conversation.create", {});
    await tab.do("conversation.send", { id, text: "Act" });
    await events.next("conversation", ({ conversation }) => conversation.state === "running");
    await events.next("conversation", ({ conversation }) => conversation.state === "idle");
    server.update(() => acting(`Acts. ${longWord} ${rightToLeft}`));
    await events.next("server", (event) => event.server.changed > 0);
    const page = await shared.window({ viewport });
    const catalog = await hold(page, "catalog");
    await page.goto(running.openAddress());
    await page.getByText("it changed 1 definition that you accepted").waitFor();
    await page.getByRole("button", { name: "Look", exact: true }).last().click();
    const changes = page.getByRole("dialog", { name: "Changed by it" });
    await changes.getByRole("status", { name: "Reading the changes" }).waitFor();
    await checkPlace(page, "changes: loading");
    await catalog.fail(changes);
    await checkPlace(page, "changes: error");
    await changes.getByRole("button", { name: "Try again" }).click();
    await changes.locator("ins").getByText(longWord).waitFor();
    await checkPlace(page, "changes: overflow");
    await page.keyboard.press("Escape");
    await tab.do("call", { server: "it", tool: longWord.slice(0, 100), argumentsText: "{}" });
    await events.ever("task", ({ task }) => task.state === "working");
    await page.getByRole("button", { name: /^Tasks/ }).click();
    await page.getByRole("dialog", { name: "Tasks" }).getByText(longWord.slice(0, 100)).waitFor();
    await checkPlace(page, "tasks: overflow");
  });

  test("every state of every screen was shown", () => {
    const seen = shown.get(width) ?? new Set();
    expect(screenStates.filter((state) => !seen.has(state))).toEqual([]);
  });
});
