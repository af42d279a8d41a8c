import { scriptedModel } from "portolan-host/models";
import { expect, test } from "vitest";
import { shoot } from "../browser/chromium.ts";
import { oldServer, Tab } from "./kit.ts";
import { checkAccess, checkWidth, openPage } from "./page.ts";
import { goPlace } from "./shared-page.ts";

/** A console in which the model made two calls, of which the first was allowed for the session, and a third was refused. */
async function openWithCalls() {
  const calls = [
    { name: "it__echo", input: { message: "to Ada" } },
    { name: "it__echo", input: { message: "to Alan" } },
    { name: "it__add", input: { a: 1, b: 2 } },
  ];
  const model = scriptedModel([...calls.map((call) => ({ call })), { say: "That is all." }]);
  const opened = await openPage({ servers: { it: { ...oldServer, trustHints: true } }, model });
  const tab = await Tab.open(opened.running);
  const events = await tab.events();
  const { id } = await tab.do("conversation.create", {});
  await tab.do("conversation.change", { id, title: "Letters" });
  await tab.do("conversation.send", { id, text: "Write" });
  for (const answer of [{ allow: true, for: "session" }, { allow: true }, { allow: false }]) {
    const { question } = await events.next("question");
    await tab.do("answer", { id: question.id, digest: question.digest, answer });
  }
  await events.next("conversation", ({ conversation }) => conversation.id === id && conversation.state === "idle");
  return { ...opened, tab, events };
}

test("what was done is told in sentences by conversation, with who allowed it, and refused calls are left out", async () => {
  const { open, problems, tab } = await openWithCalls();
  const { rows } = await tab.do("activity.done", {});
  expect(rows.map(({ tool, words, how, allowed, by }) => [tool, words, how, allowed, by])).toEqual([
    ["echo", "message: to Alan", "done", "once", "model"],
    ["echo", "message: to Ada", "done", "session", "model"],
  ]);
  const page = await open();
  await goPlace(page, "activity");
  const letters = page.getByRole("region", { name: "Letters" });
  const sentences = letters.getByRole("listitem");
  await sentences.first().waitFor();
  expect(await sentences.count()).toBe(2);
  const [last, first] = await sentences.allInnerTexts();
  expect(last).toMatch(/The model called echo of it with message: to Alan\.[\s\S]*You allowed it once\.[\s\S]*done in/);
  expect(first).toMatch(/message: to Ada\.[\s\S]*You allowed it for the session\./);
  await checkAccess(page);
  await page.getByRole("searchbox", { name: "Search what was done" }).fill("alan");
  await expect.poll(() => sentences.count()).toBe(1);
  await page.getByRole("searchbox").fill("");
  await expect.poll(() => sentences.count()).toBe(2);
  await shoot(page, "activity-done");
  await letters.getByRole("link", { name: "Letters" }).click();
  await page.getByText("That is all.").waitFor();
  expect(problems).toEqual([]);
});

test("the log is the second view, and a verification holds for the entries that it has read", async () => {
  const { open, problems, tab } = await openWithCalls();
  const page = await open();
  await goPlace(page, "activity");
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("Sealed and whole", { exact: true }).waitFor();
  await page.getByText(/none of them changed\. Checked in /).waitFor();
  const grants = page.getByRole("region", { name: "Grants" });
  await grants.getByText("no further call yet,").waitFor();
  await grants.getByRole("button", { name: "Revoke echo of it" }).click();
  await page.getByText(/^Sealed and whole up to entry \d+$/).waitFor();
  await page.getByText(/newer: verify again\.$/).waitFor();
  await page.getByRole("radio", { name: "Log" }).click();
  await page.getByRole("listbox", { name: "Entries, newest first" }).getByRole("option").first().waitFor();
  await shoot(page, "activity-log");
  expect(new URL(page.url()).hash).toBe("#/activity/log");
  await page.reload();
  await page.getByRole("searchbox", { name: "Search the log" }).waitFor();
  expect((await tab.do("activity.verify", {})).isIntact).toBe(true);
  expect(problems).toEqual([]);
});

test.each([320, 1280])("both views of what happened hold in a window of %i pixels", async (width) => {
  const { open, problems } = await openWithCalls();
  const page = await open({ viewport: { width, height: 800 } });
  for (const place of ["activity", "activity/log"]) {
    await goPlace(page, place);
    const entries = place === "activity" ? page.locator(".done-row") : page.locator(".vrow .arow");
    await entries.first().waitFor();
    await checkWidth(page);
    await checkAccess(page);
    await shoot(page, `${place.replace("/", "-")}-${width}`);
  }
  // The number and the time of an entry stay in sight.
  const row = page.locator(".vrow .arow").first();
  for (const at of [0, 1]) expect(await row.locator("span").nth(at).isVisible()).toBe(true);
  const cut = await page
    .getByRole("radiogroup", { name: "Kind of entry" })
    .getByRole("radio")
    .evaluateAll((radios) => radios.filter((radio) => radio.getBoundingClientRect().right > innerWidth).length);
  expect(cut).toBe(0);
  expect(problems).toEqual([]);
});
