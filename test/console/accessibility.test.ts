import type { Page } from "playwright-core";
import { scriptedModel } from "portolan-host/models";
import { describe, expect, test } from "vitest";
import { newServer, oldServer } from "./kit.ts";
import { checkAccess, checkWidth, question, say } from "./page.ts";
import { goPlace, sharePage } from "./shared-page.ts";

const shared = sharePage();

const field = (page: Page) => page.getByRole("textbox", { name: "Message to the model" });

/** Checks what is shown in both colour schemes, and that it fits into the window. */
async function check(page: Page): Promise<void> {
  await checkWidth(page);
  await checkAccess(page);
}

describe.each([320, 1440])("in a window of %i pixels", (width) => {
  test("a chat without servers, its dialogs and the closed page have no violation", async () => {
    const problems: string[] = [];
    const running = await shared.start({});
    const page = await shared.open(running, problems, { viewport: { width, height: 800 } });
    await page.getByRole("heading", { name: "Talk to your servers" }).waitFor();
    await check(page);
    await page.getByRole("button", { name: "Settings" }).last().click();
    await page.getByRole("dialog", { name: "Settings" }).waitFor();
    await check(page);
    await page.keyboard.press("Escape");
    await page.getByRole("main").getByRole("button", { name: "Add a server" }).click();
    const adding = page.getByRole("dialog", { name: "Add a server" });
    await adding.getByText("No other product on this machine has servers.").waitFor();
    await check(page);
    await adding.getByText("Command or address").click();
    await adding.getByRole("textbox", { name: "Command or address" }).waitFor();
    await check(page);
    await page.keyboard.press("Escape");
    for (const place of ["inspect", "activity"]) {
      await goPlace(page, place);
      await page.locator(".main :is(h1, h2, h3)").first().waitFor();
      await check(page);
    }
    const stranger = await shared.window({ viewport: { width, height: 800 } });
    await stranger.goto(running.origin);
    await stranger.getByRole("heading", { name: "Open the console" }).waitFor();
    await check(stranger);
    expect(problems).toEqual([]);
  });

  test("a conversation with consent, a form, sampling and the palette has no violation", async () => {
    const problems: string[] = [];
    const running = await shared.start({
      servers: { it: { ...(await newServer()), trustHints: false } },
      model: scriptedModel([
        {
          say: "# Title\n\n- a\n- b\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n`code`",
          call: { name: "it__ask_colour", input: {} },
        },
        { call: { name: "it__ask_model", input: {} } },
        { say: "blue" },
        { say: "That is all." },
      ]),
    });
    const page = await shared.open(running, problems, { viewport: { width, height: 800 } });
    await say(page, "Ask");
    const card = question(page);
    await card.getByText("wants to use").waitFor();
    await check(page);
    await card.getByRole("button", { name: "Allow once" }).click();
    await card.getByRole("button", { name: /Review answer/ }).waitFor();
    await check(page);
    await card.getByRole("button", { name: /Review answer/ }).click();
    await card.getByRole("button", { name: /Send to it/ }).click();
    await card.getByText("wants to use").waitFor();
    await card.getByRole("button", { name: "Allow once" }).click();
    await card.getByText("wants to ask your model").waitFor();
    await check(page);
    await card.getByRole("button", { name: /Ask the model/ }).click();
    await card.getByText("gets this answer").waitFor();
    await check(page);
    await card.getByRole("button", { name: /Send to it/ }).click();
    await page.getByText("That is all.").waitFor();
    await check(page);
    await page.getByRole("button", { name: "Prompts" }).click();
    await page.locator("[role=option]").first().waitFor();
    await check(page);
    await page.keyboard.press("Escape");
    await field(page).press("@");
    await page.getByRole("dialog", { name: "Attach resources" }).getByRole("checkbox").first().waitFor();
    await check(page);
    expect(problems).toEqual([]);
  });

  test("Inspect before anything was done, with a result as JSON, and Find have no violation", async () => {
    const problems: string[] = [];
    const running = await shared.start({ servers: { it: oldServer } });
    const page = await shared.open(running, problems, { viewport: { width, height: 800 } });
    await goPlace(page, "inspect/it/try/tool/mixed");
    await page.getByRole("heading", { name: "mixed", exact: true }).waitFor();
    await page.getByRole("button", { name: /^Run/ }).first().click();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByRole("heading", { name: "What the model sees" }).waitFor();
    await result.getByRole("button", { name: "Raw" }).click();
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    await page.getByRole("textbox", { name: /as JSON/ }).waitFor();
    await check(page);
    await page.getByRole("button", { name: "Definition", exact: true }).click();
    await check(page);
    if (width === 320) {
      const list = page.getByRole("button", { name: "Servers and conversations" });
      await list.click();
      await page.getByRole("link", { name: "it", exact: true }).waitFor();
      await check(page);
      await list.click();
    }
    await page.keyboard.press("ControlOrMeta+k");
    const find = page.getByRole("combobox", { name: /Find/ });
    await find.fill("echo");
    await page.getByRole("option", { selected: true }).waitFor();
    await check(page);
    await find.fill("nothing has this name");
    await expect.poll(() => page.getByRole("option", { selected: true }).count()).toBe(0);
    await check(page);
    expect(problems).toEqual([]);
  });
});

/** Presses Tab until an element has the focus; fails if it cannot be reached. */
async function tabTo(page: Page, role: "button" | "textbox" | "link", name: string | RegExp): Promise<void> {
  const wanted = page.getByRole(role, { name }).first();
  await wanted.waitFor();
  for (let presses = 0; presses < 60; presses += 1) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${role} ${name} is not reached by Tab`);
}

test("keys alone lead from a console without servers to an allowed call", async () => {
  const problems: string[] = [];
  const running = await shared.start({
    tools: { add: (host, { name, target }) => host.add(name, { url: target }) },
    model: scriptedModel([{ call: { name: "it__add", input: { a: 1, b: 2 } } }, { say: "That is all." }]),
  });
  const page = await shared.open(running, problems);
  await tabTo(page, "button", "Add a server");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Add a server" });
  await dialog.waitFor();
  await tabTo(page, "textbox", "Command or address");
  const { url } = await newServer();
  await page.keyboard.type(url);
  await tabTo(page, "textbox", "Name");
  await page.keyboard.type("it");
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("link", { name: "it", exact: true }).waitFor();
  const trust = page.getByRole("button", { name: "Trust", exact: true });
  if (await trust.isVisible()) {
    await tabTo(page, "button", /^Trust$/);
    await page.keyboard.press("Enter");
    await tabTo(page, "button", "Trust and start");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  // The page of the added server was opened.
  await tabTo(page, "link", "Chat");
  await page.keyboard.press("Enter");
  await tabTo(page, "textbox", "Message to the model");
  await page.keyboard.type("Add 1 and 2");
  await page.keyboard.press("Enter");
  const card = question(page);
  await card.getByText("wants to use").waitFor();
  await page.keyboard.press("ControlOrMeta+j");
  await expect.poll(() => card.evaluate((element) => element === document.activeElement)).toBe(true);
  await tabTo(page, "button", /Allow once/);
  await page.keyboard.press("Enter");
  await page.getByText("That is all.").waitFor();
  await page.getByText("Allowed once").waitFor();
  expect(problems).toEqual([]);
});

test("the focus returns to where it was when a dialog, a menu or a picker closes", async () => {
  const problems: string[] = [];
  const running = await shared.start({ servers: { it: oldServer } });
  const page = await shared.open(running, problems);
  const returns = async (opener: ReturnType<Page["locator"]>, shows: ReturnType<Page["locator"]>) => {
    await opener.focus();
    await page.keyboard.press("Enter");
    await shows.first().waitFor();
    expect(await opener.evaluate((element) => element === document.activeElement)).toBe(false);
    await page.keyboard.press("Escape");
    await shows.first().waitFor({ state: "detached" });
    await expect.poll(() => opener.evaluate((element) => element === document.activeElement)).toBe(true);
  };
  const dialog = page.getByRole("dialog");
  await returns(page.getByRole("button", { name: "Settings" }).last(), dialog);
  await returns(page.getByRole("button", { name: "Add a server" }).first(), dialog);
  await returns(page.getByRole("button", { name: "Actions for it" }), page.getByRole("menu"));
  await returns(page.getByRole("form", { name: "Message" }).getByRole("button", { name: "Attach a resource" }), dialog);
  await returns(page.getByRole("button", { name: /^Find a server/ }), dialog);
  await field(page).focus();
  await page.keyboard.press("ControlOrMeta+k");
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await expect.poll(() => field(page).evaluate((element) => element === document.activeElement)).toBe(true);
  expect(problems).toEqual([]);
});

test("nothing moves for a person who wants less motion", async () => {
  const problems: string[] = [];
  const running = await shared.start({
    servers: { it: oldServer },
    model: scriptedModel([{ call: { name: "it__wait", input: { ms: 600_000 } } }, { say: "That is all." }]),
    policy: [{ then: "allow" }],
  });
  const moving = (page: Page) =>
    page.evaluate(() =>
      document
        .getAnimations()
        .filter((animation) => {
          const { duration, iterations } = animation.effect?.getComputedTiming() ?? {};
          return Number(duration) * Math.min(Number(iterations), 10) > 100;
        })
        .map((animation) => (animation instanceof CSSAnimation ? animation.animationName : animation.constructor.name)),
    );
  const page = await shared.open(running, problems);
  await say(page, "Wait");
  await page.getByRole("img", { name: "Running" }).first().waitFor();
  await page.getByRole("button", { name: "Settings" }).last().click();
  await page.getByRole("dialog", { name: "Settings" }).waitFor();
  expect(await moving(page)).toEqual([]);
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await expect.poll(async () => (await moving(page)).length).toBeGreaterThan(0);
});
