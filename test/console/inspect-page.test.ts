import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { scriptedModel } from "portolan-host/models";
import { describe, expect, test } from "vitest";
import { shoot, startChromium } from "../browser/chromium.ts";
import { makeHome } from "../cli/kit.ts";
import { put, startPortolan } from "../cli/manage-kit.ts";
import { newServer, oldServer, plainServer, Tab } from "./kit.ts";
import { checkAccess, checkWidth, openPage, watch } from "./page.ts";

const exactServer = {
  command: process.execPath,
  args: [fileURLToPath(new URL("exact-server.mjs", import.meta.url))],
};

const oldServerWith = (era: string) => ({ ...oldServer, era });

const revisions = [
  ["2024-11-05 over stdio", async () => oldServer],
  ["2026-07-28 over HTTP", newServer],
] as const;

/** Opens a place of the page. */
async function go(page: Page, place: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#/${place}`);
}

const run = (page: Page) => page.getByRole("button", { name: /^Run/ }).first();
const view = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const result = (page: Page) => page.getByRole("region", { name: "Result" });

/** Runs a tool with arguments as JSON, and waits for the result. */
async function runJson(page: Page, tool: string, json: string): Promise<void> {
  await go(page, `inspect/it/try/tool/${tool}`);
  await page.getByRole("heading", { name: tool, exact: true }).waitFor();
  await view(page, "JSON").click();
  await page.getByRole("textbox", { name: /as JSON/ }).fill(json);
  await run(page).click();
  await result(page).getByRole("heading", { name: "What the model sees" }).waitFor();
}

/** Returns the line that the exact server received. */
async function received(page: Page): Promise<string> {
  const text = await result(page).locator(".content-text").first().textContent();
  return text?.replace(/^received /, "") ?? "";
}

test("a question of a call is answered beside the call, and the call goes on", async () => {
  const { open, problems } = await openPage({ servers: { it: oldServerWith("2025-06-18") } });
  const page = await open();
  await go(page, "inspect/it/try/tool/ask_name");
  await page.getByRole("heading", { name: "ask_name", exact: true }).waitFor();
  await run(page).click();
  const card = result(page).locator("[data-question]");
  await card.waitFor();
  await checkAccess(page);
  await card.getByRole("textbox").first().fill("Ada");
  await card
    .getByRole("button", { name: /^(?:Send|Review)/ })
    .first()
    .click();
  await result(page).getByText(/Ada/).first().waitFor();
  expect(problems).toEqual([]);
});

describe("arguments", () => {
  test("twenty digits, unknown members and their order arrive as they were typed, and come back", async () => {
    const { open, problems } = await openPage({ servers: { it: exactServer } });
    const page = await open();
    await runJson(page, "exact", '{"x-trace": 1.50, "count": 12345678901234567890}');
    expect(await received(page)).toContain('{"x-trace": 1.50, "count": 12345678901234567890}');
    await result(page).getByText("12345678901234567890", { exact: true }).waitFor();
    await view(page, "Form").click();
    await page.getByText("1 member outside the schema").waitFor();
    expect(await page.getByRole("textbox", { name: /^count/ }).inputValue()).toBe("12345678901234567890");
    expect(await page.locator(".said b").count()).toBe(0);
    expect(problems).toEqual([]);
  });

  test("a value, an empty text, null and a member that is absent are four things", async () => {
    const { open } = await openPage({ servers: { it: exactServer } });
    const page = await open();
    await go(page, "inspect/it/try/tool/exact");
    await page.getByRole("textbox", { name: /^count/ }).fill("7");
    await page.getByRole("group", { name: "How note is sent" }).getByRole("button", { name: "empty" }).click();
    await page.getByRole("group", { name: "How limit is sent" }).getByRole("button", { name: "null" }).click();
    await run(page).click();
    await result(page).getByRole("heading", { name: "What the model sees" }).waitFor();
    const sent = JSON.parse(await received(page));
    expect(sent.params.arguments).toEqual({ count: 7, note: "", limit: null });
    await page.getByRole("group", { name: "How note is sent" }).getByRole("button", { name: "absent" }).click();
    await view(page, "JSON").click();
    const text = await page.getByRole("textbox", { name: /as JSON/ }).inputValue();
    expect(JSON.parse(text)).toEqual({ count: 7, limit: null });
  });

  test("a field says what is needed and what was found, and the person may send it anyway", async () => {
    const { open } = await openPage({ servers: { it: exactServer } });
    const page = await open();
    await go(page, "inspect/it/try/tool/exact");
    const count = page.getByRole("textbox", { name: /^count/ });
    await count.fill("1.5");
    await run(page).click();
    await page.getByText("count needs a whole number, found 1.5").waitFor();
    expect(await count.evaluate((field) => field === document.activeElement)).toBe(true);
    await page.getByRole("button", { name: /^Run anyway/ }).click();
    await result(page).getByRole("heading", { name: "What the model sees" }).waitFor();
    expect(await received(page)).toMatch(/"count": ?1\.5/);
  });
});

test.each(revisions)("the timeline shows a call, its answer and its exchange on %s", async (words, serverOf) => {
  const { open, problems } = await openPage({ servers: { it: await serverOf() } });
  const page = await open();
  await runJson(page, "echo", '{"message": "needle in the hay"}');
  await page.getByRole("link", { name: "Show in timeline" }).click();
  const messages = page.getByRole("listbox", { name: "Messages" });
  const call = messages.getByRole("option", { selected: true });
  await call.getByText("tools/call").waitFor();
  expect(await call.innerText()).toMatch(/echo[\s\S]* ms/);
  const message = page.getByRole("region", { name: "Message", exact: true });
  await message.getByText('"needle in the hay"').waitFor();
  await message.getByRole("tab", { name: "Response" }).click();
  await message.getByText('"result"').waitFor();
  if (words.includes("HTTP")) {
    await messages.getByText(/POST/).first().click();
    await message
      .getByText(/mcp-protocol-version/i)
      .first()
      .waitFor();
  }
  await page.getByRole("searchbox", { name: "Search in all messages" }).fill("in the hay");
  await expect.poll(() => messages.getByRole("option").count()).toBe(1);
  await checkAccess(page);
  expect(problems).toEqual([]);
});

test("a request is replayed with one click, and a call that may act asks first", async () => {
  const { open, running, problems } = await openPage({ servers: { it: oldServer } });
  const page = await open();
  await runJson(page, "echo", '{"message": "once more"}');
  await page.getByRole("link", { name: "Show in timeline" }).click();
  const detail = page.getByRole("region", { name: "Message", exact: true });
  const dialog = page.getByRole("dialog", { name: "Replay a request" });
  const tab = await Tab.open(running);
  const countCalls = async () =>
    (await tab.do("find", { text: '"tools/call"' })).rows.filter(({ kind }) => kind === "request").length;
  await detail.getByRole("button", { name: "Replay" }).click();
  await dialog.getByText("This call may change something").waitFor();
  expect(await countCalls()).toBe(1);
  await checkAccess(page);
  await dialog.getByRole("button", { name: "Send" }).click();
  await dialog
    .getByText(/once more/)
    .nth(1)
    .waitFor();
  expect(await countCalls()).toBe(2);
  await page.keyboard.press("Escape");
  await page.getByRole("listbox", { name: "Messages" }).getByText("tools/list").first().click();
  await detail.getByRole("button", { name: "Replay" }).click();
  await dialog.getByText('"inputSchema"').first().waitFor();
  expect(problems).toEqual([]);
});

test("a recording is opened without its server, answers in its place, and offers the same", async () => {
  const { open, problems } = await openPage({ servers: { it: oldServer } });
  const page = await open();
  await runJson(page, "echo", '{"message": "first"}');
  await go(page, "inspect/it/recordings");
  await page.getByRole("button", { name: "Record it" }).click();
  await page.getByRole("menuitem", { name: "With secrets redacted" }).click();
  await page.getByRole("button", { name: "Stop recording it" }).waitFor();
  await runJson(page, "echo", '{"message": "recorded"}');
  await go(page, "inspect/it/recordings");
  await page.getByRole("button", { name: "Stop recording it" }).click();
  await page.getByRole("button", { name: "Mock" }).click();
  await page.getByRole("link", { name: "it-recorded" }).waitFor();
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByLabel("Before").selectOption({ index: 3 });
  await page.getByLabel("After").selectOption("s it");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Compare" }).click();
  await dialog.getByText("Both offer the same.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByRole("listbox", { name: "Messages" }).getByText("tools/call").click();
  await page.getByRole("region", { name: "Message", exact: true }).getByText('"recorded"').waitFor();
  await page.getByText("This is a recording, not a connection.").waitFor();
  const live = page.getByRole("button", { name: /^(?:Pause|Record|Stop recording|Edit and send again)$/ });
  expect(await live.count()).toBe(0);
  expect(await page.getByRole("listbox", { name: "Messages" }).innerText()).not.toContain("0.00 ms");
  await checkAccess(page);
  await shoot(page, "console-recording");
  expect(problems).toEqual([]);
});

test("a list that was cut says so in its foot and when a search finds nothing", async () => {
  const { open, problems } = await openPage({ servers: { it: plainServer } });
  const page = await open();
  await go(page, "inspect/it/try");
  await page.getByText("2,000 tools, the rest is left out").waitFor();
  await page.getByText("tools: more than 2000 items; the rest is left out").waitFor();
  await page.getByRole("searchbox", { name: "Search tools" }).fill("tool_2099");
  await page.getByText("it has more tools than are listed here, and those are not searched.").waitFor();
  await go(page, "inspect/it/timeline");
  const messages = page.getByRole("listbox", { name: "Messages" });
  await messages.getByText("not supported").waitFor();
  expect(await messages.getByText("failed", { exact: true }).count()).toBe(0);
  expect(await messages.getByRole("option").first().innerText()).toMatch(/^\d\d:\d\d:\d\d\.\d{3}/);
  expect(problems).toEqual([]);
});

test("a call that was cancelled is over in the timeline, and one that failed opens with its answer", async () => {
  const { open, problems } = await openPage({ servers: { it: oldServer } });
  const page = await open();
  await go(page, "inspect/it/try/tool/wait");
  await page.getByRole("textbox", { name: /^ms/ }).fill("600000");
  expect(await page.getByText("ms*", { exact: false }).first().innerText()).toContain("*");
  await run(page).click();
  await result(page).getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("link", { name: "Show in timeline" }).click();
  const call = page.getByRole("listbox", { name: "Messages" }).getByRole("option", { selected: true });
  await call.getByText("cancelled").waitFor();
  expect(await page.locator(".lanes .span[data-open]").count()).toBe(0);
  await shoot(page, "console-timeline-cancelled");
  await go(page, "inspect/it/try/tool/is_error");
  await run(page).click();
  await page.getByRole("link", { name: "Show in timeline" }).click();
  const parts = page.getByRole("tablist", { name: "Parts of the message" });
  await parts.getByRole("tab", { name: "Response", selected: true }).waitFor();
  await checkAccess(page);
  await page.setViewportSize({ width: 320, height: 800 });
  await checkWidth(page);
  await shoot(page, "console-timeline-320");
  expect(problems).toEqual([]);
});

test("a connection of its own says that the chat keeps another one", async () => {
  const { open } = await openPage({ servers: { it: oldServer } });
  const page = await open();
  await go(page, "inspect/it/try/tool/echo");
  await page.getByRole("button", { name: "Auto 2024-11-05" }).filter({ visible: true }).click();
  await page.getByRole("menu").getByText("2025-03-26").click();
  await page.getByText("The chat keeps its connection with 2024-11-05.").waitFor();
  await checkAccess(page);
});

test("a call is saved with what is expected of it, and run again", async () => {
  const { open, problems } = await openPage({ servers: { it: oldServer } });
  const page = await open();
  await runJson(page, "echo", '{"message": "again"}');
  await page.getByRole("button", { name: "More about this call" }).click();
  await page.getByRole("menuitem", { name: "Save this call" }).click();
  const dialog = page.getByRole("dialog", { name: "Save this call" });
  await dialog.getByRole("textbox", { name: "Name" }).fill("Echo says it again");
  await dialog.getByRole("button", { name: "Save" }).click();
  await go(page, "inspect/it/saved");
  await page.getByRole("button", { name: "Run all 1" }).click();
  await page.getByText("1 passed", { exact: true }).waitFor();
  await checkAccess(page);
  await page.getByRole("button", { name: "Remove Echo says it again" }).click();
  await page.getByRole("heading", { name: "No saved calls yet" }).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Run Echo says it again" }).waitFor();
  expect(problems).toEqual([]);
});

test("skills are listed with their files, and what is not as their server lists it is named", async () => {
  const file = fileURLToPath(new URL("../cli/fixtures/skills.mjs", import.meta.url));
  const { open, problems } = await openPage({ servers: { it: { command: process.execPath, args: [file] } } });
  const page = await open();
  await go(page, "inspect/it/try");
  await page.getByRole("link", { name: /^Skills/ }).click();
  const list = page.getByRole("listbox", { name: "skills" });
  await list.getByText("refunds", { exact: true }).click();
  const instructions = page.getByRole("region", { name: "Instructions" });
  await instructions.getByText("Do refunds.").waitFor();
  await page.getByText("skill://refunds/logo.png").waitFor();
  await checkAccess(page);
  await list.getByText("forged", { exact: true }).click();
  await instructions.locator(".note").waitFor();
  expect(await instructions.innerText()).not.toContain("No forged");
  await list.getByText("daily", { exact: true }).click();
  await page.getByText("nobody can tell whether they changed").waitFor();
  await page.keyboard.press("ControlOrMeta+k");
  await page.getByRole("combobox", { name: /Find/ }).fill("refunds");
  const find = page.getByRole("dialog", { name: "Find" });
  await find
    .getByRole("option")
    .filter({ has: page.getByText("skill", { exact: true }) })
    .first()
    .click();
  await find.waitFor({ state: "detached" });
  await instructions.getByText("Do refunds.").waitFor();
  // Looking at a skill allows nothing.
  await go(page, "activity");
  await page.getByText("No grants").waitFor();
  expect(problems).toEqual([]);
});

test("doctor finds a variable without a value, and the fix starts the server", async () => {
  const cwd = makeHome();
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the configuration
  put(cwd, ".mcp.json", { mcpServers: { it: { ...exactServer, env: { SECRET_PLACE: "${SECRET_PLACE}" } } } });
  const running = startPortolan(["console", "--no-open"], { cwd });
  const { url } = JSON.parse(await running.until(/"event":"ready"/));
  const browser = await startChromium();
  const page = await browser.newPage();
  page.setDefaultTimeout(20_000);
  const problems: string[] = [];
  watch(page, new URL(url).origin, problems);
  await page.goto(url);
  await page.getByRole("link", { name: "it", exact: true }).click();
  await page.getByRole("link", { name: /^Doctor/ }).click();
  const value = page.getByLabel("Value for SECRET_PLACE");
  await value.fill("here");
  await page.locator("form.fix button.primary").click();
  await expect.poll(() => value.count(), { timeout: 20_000 }).toBe(0);
  await page.getByRole("link", { name: "Try", exact: true }).click();
  await page.getByRole("button", { name: "Look at it and trust" }).click();
  await page.getByRole("button", { name: "Trust and start" }).click();
  await page.getByRole("heading", { name: "exact", exact: true }).waitFor();
  expect(problems).toEqual([]);
});

test("sign-in shows each step with its standard, and opens no address but one of the web", async () => {
  const addresses = ["https://authority.example/authorize?client_id=1", "javascript:alert(1)"];
  const { open, problems } = await openPage({
    servers: { it: await newServer() },
    tools: {
      async signIn(_host, _name, watch, { signal }) {
        const step = { id: 1, title: "Metadata of the resource", standard: "RFC 9728" };
        watch.step({
          ...step,
          state: "done",
          request: "GET http://127.0.0.1:4711/.well-known/x?code=8d2f61",
          response: '{"resource": "https://it.example"}',
        });
        watch.step({ id: 2, title: "You agree", standard: "RFC 7636", state: "running" });
        watch.visit(addresses.shift() ?? "");
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    },
  });
  const page = await open();
  await go(page, "inspect/it/sign-in");
  await page.getByRole("button", { name: "Sign in to it" }).click();
  await page.getByRole("link", { name: "Open authority.example" }).waitFor();
  await page.getByRole("button", { name: /Metadata of the resource/ }).click();
  await page.getByText('"https://it.example"').waitFor();
  // No digit of an address is a number.
  expect(await page.locator(".j-number").count()).toBe(0);
  const title = page.getByRole("button", { name: /Metadata of the resource/ }).locator("b");
  expect((await title.boundingBox())?.height).toBeLessThan(48);
  await checkAccess(page);
  await shoot(page, "console-sign-in");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("button", { name: "Start over" }).click();
  await expect.poll(() => addresses.length).toBe(0);
  await page.getByText("The sign-in failed.").waitFor();
  expect(await page.getByRole("link", { name: /^Open/ }).count()).toBe(0);
  expect(problems).toEqual([]);
});

test("a grant is listed with its use, and the next call asks again after it is revoked", async () => {
  const model = scriptedModel(
    [1, 2].flatMap((a) => [{ call: { name: "it__add", input: { a, b: 2 } } }, { say: "Done." }]),
  );
  const { running, open, problems } = await openPage({ servers: { it: { ...oldServer, trustHints: false } }, model });
  const tab = await Tab.open(running);
  const events = await tab.events();
  const { id } = await tab.do("conversation.create", {});
  await tab.do("conversation.send", { id, text: "Add" });
  const { question } = await events.next("question");
  await tab.do("answer", { id: question.id, digest: question.digest, answer: { allow: true, for: "always" } });
  await events.next("conversation", ({ conversation }) => conversation.id === id && conversation.state === "idle");
  const page = await open();
  await go(page, "activity");
  const grants = page.getByRole("region", { name: "Grants" });
  await grants.getByText("add", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("Sealed and whole").waitFor();
  await checkAccess(page);
  await grants.getByRole("button", { name: "Revoke add of it" }).click();
  await grants.getByText("No grants").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await grants.getByRole("button", { name: "Revoke add of it" }).click();
  await grants.getByText("No grants").waitFor();
  await tab.do("conversation.send", { id, text: "Add again" });
  expect((await events.next("question")).question).toMatchObject({ kind: "approve", server: "it" });
  expect(problems).toEqual([]);
});

test("one field finds tools, actions and messages, by keys alone", async () => {
  const { open } = await openPage({ servers: { it: oldServer } });
  const page = await open();
  await runJson(page, "echo", '{"message": "haystack"}');
  await page.keyboard.press("ControlOrMeta+k");
  const field = page.getByRole("combobox", { name: /Find/ });
  await field.fill("haystack");
  await page.getByRole("option").getByText("message").first().waitFor();
  await field.fill("many structured");
  await field.fill("ask_name");
  await page.getByRole("option", { selected: true }).getByText("tool", { exact: true }).waitFor();
  await checkAccess(page);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "ask_name" }).waitFor();
});

test.each([320, 1024, 1440])(
  "Inspect and Activity hold in a window of %i pixels, in both colour schemes",
  async (width) => {
    const { open, problems } = await openPage({ servers: { it: oldServer } });
    const page = await open({ viewport: { width, height: 800 } });
    await runJson(page, "echo", '{"message": "wide"}');
    for (const place of [
      "try",
      "try/resource",
      "try/prompt",
      "timeline",
      "log",
      "recordings",
      "saved",
      "sign-in",
      "doctor",
    ]) {
      await go(page, `inspect/it/${place}`);
      await page.locator(".main h1, .main h2, .main h3").first().waitFor();
      await checkWidth(page);
      await checkAccess(page);
    }
    await go(page, "activity");
    await page.getByRole("heading", { name: "Activity" }).waitFor();
    await checkWidth(page);
    await checkAccess(page);
    expect(problems).toEqual([]);
  },
);
