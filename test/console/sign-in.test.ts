import { expect, test } from "vitest";
import { startChromium } from "../browser/chromium.ts";
import { signIn, startNotes } from "../browser/notes.ts";
import { makeHome } from "../cli/kit.ts";
import { put, runPortolan, startPortolan } from "../cli/manage-kit.ts";
import { watch } from "./page.ts";
import { goPlace } from "./shared-page.ts";

test("a person signs in at our authority step by step, does a step again, and uses the server", async () => {
  const { notes } = await startNotes("examples/authorization/upstream.mjs", "examples/authorization/server.mjs");
  const cwd = makeHome();
  put(cwd, ".mcp.json", { mcpServers: { notes: { url: `${notes}/mcp` } } });
  await runPortolan(["trust", "notes", "--yes"], { cwd });
  const running = startPortolan(["console", "--no-open"], { cwd });
  const { url } = JSON.parse(await running.until(/"event":"ready"/));
  const browser = await startChromium();
  const context = await browser.newContext({ reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const problems: string[] = [];
  watch(page, new URL(url).origin, problems);
  await page.goto(url);
  await page.getByRole("textbox", { name: "Message to the model" }).waitFor();
  await goPlace(page, "inspect/notes/sign-in");
  await page.getByRole("button", { name: "Sign in to notes" }).click();
  const opened = context.waitForEvent("page");
  await page.getByRole("link", { name: /^Open localhost/ }).click();
  const other = await opened;
  other.setDefaultTimeout(20_000);
  await other.getByRole("button", { name: "Allow" }).click();
  await signIn(other, "ada", "lovelace");
  await other.getByRole("button", { name: "Allow" }).click();
  await other.waitForURL("http://127.0.0.1:*/**");
  await other.close();
  await page.getByText("You are signed in.").waitFor();
  const steps = page.getByRole("region", { name: "Steps" }).getByRole("listitem");
  const before = await steps.allInnerTexts();
  expect(before.join("\n")).toMatch(/RFC 9728[\s\S]*RFC 8414[\s\S]*RFC 7591[\s\S]*RFC 6749 section 4\.1\.3/);
  await page.getByRole("button", { name: /exchanged for a token/ }).click();
  await page
    .getByText(/access_token/)
    .first()
    .waitFor();
  await page.getByText("This step changes something at the authority.").waitFor();
  await page.getByRole("button", { name: /Metadata of the server/ }).click();
  const sentAgain = page.waitForResponse((response) => response.url().endsWith("/api/login.again"));
  await page.getByRole("button", { name: "Do this step again" }).click();
  expect((await sentAgain).status()).toBe(200);
  await expect.poll(() => steps.allInnerTexts()).toEqual(before);
  await goPlace(page, "inspect/notes/try/tool/list");
  await page.getByRole("heading", { name: "list", exact: true }).waitFor();
  await page.getByRole("button", { name: /^Run/ }).first().click();
  await page.getByRole("region", { name: "Result" }).getByText("You have no notes").first().waitFor();
  expect(problems).toEqual([]);
}, 120_000);
