import { expect, onTestFinished, test } from "vitest";
import { makeHome } from "../cli/kit.ts";
import { put, runPortolan, startPortolan } from "../cli/manage-kit.ts";
import { oldServer } from "./kit.ts";
import { checkAccess, checkWidth, openPage, say, watch } from "./page.ts";

/** A server that a file of the project configures, which nobody has trusted yet. */
function fromProject(name: string, configured: { readonly command: string; readonly args?: string[] }) {
  return {
    name,
    ...{ configured, target: configured, settings: {} },
    source: {
      kind: "file",
      file: "/project/.mcp.json",
      path: `mcpServers.${name}`,
      product: "claude-code",
      scope: "project",
    },
  } as const;
}

const { era: _, ...command } = oldServer;

test("the button that helps a server on stays under the pointer", async () => {
  const { open, problems } = await openPage({
    servers: { gone: { command: "/nowhere/at/all" } },
    tools: { async *examine() {} },
  });
  const page = await open();
  await page.getByRole("link", { name: "gone", exact: true }).click();
  const fix = page.getByRole("link", { name: "Fix" });
  await fix.waitFor();
  // The row has neither the pointer nor the focus.
  await page.getByRole("link", { name: "Chat" }).focus();
  await page.mouse.move(640, 790);
  const { x = 0, y = 0, width = 0, height = 0 } = (await fix.boundingBox()) ?? {};
  await page.mouse.click(x + width / 2, y + height / 2);
  await expect.poll(() => new URL(page.url()).hash).toBe("#/inspect/gone/doctor");
  expect(problems).toEqual([]);
});

test("the command of a server is changed in the page, and its conversation goes on", async () => {
  const cwd = makeHome();
  put(cwd, ".mcp.json", { mcpServers: { it: { command: "/nowhere/at/all", env: { SECRET_KEY: "hunter2secret" } } } });
  await runPortolan(["trust", "it", "--yes"], { cwd });
  const running = startPortolan(["console", "--no-open"], { cwd });
  const { url } = JSON.parse(await running.until(/"event":"ready"/));
  const { browser } = await openPage({});
  const context = await browser.newContext({ reducedMotion: "reduce", viewport: { width: 1024, height: 800 } });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const problems: string[] = [];
  watch(page, new URL(url).origin, problems);
  await page.goto(url);
  await say(page, "Hello");
  await expect.poll(() => new URL(page.url()).hash).toMatch(/^#\/chat\/./);
  const place = new URL(page.url()).hash;
  await page.getByRole("button", { name: "Actions for it" }).press("Enter");
  await page.getByRole("menuitem", { name: "Change" }).click();
  const dialog = page.getByRole("dialog", { name: "Change it" });
  const target = dialog.getByRole("textbox", { name: "Command or address" });
  expect(await target.inputValue()).toBe("/nowhere/at/all");
  const names = dialog.getByRole("textbox", { name: /^One on each line/ });
  expect(await names.inputValue()).toBe("SECRET_KEY");
  await checkAccess(page);
  await target.fill("node 'x");
  await dialog.getByRole("button", { name: "Save and start again" }).click();
  await dialog.getByText(/no closing/).waitFor();
  await target.fill([command.command, ...command.args].join(" "));
  await dialog.getByRole("button", { name: "Save and start again" }).click();
  const row = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "it", exact: true }) });
  await row.getByText(/^\d+ tools/).waitFor();
  expect(new URL(page.url()).hash).toBe(place);
  await page.getByRole("main").getByText("Hello").first().waitFor();
  expect(await page.content()).not.toContain("hunter2");
  expect(problems).toEqual([]);
}, 60_000);

test("a change says whether what was allowed stays, also when it is kept in a file", async () => {
  const shown = { target: "node server.mjs", isAddress: false, names: ["COLOUR"], file: "/home/ada/.config/mcp.json" };
  const { open, problems } = await openPage({ servers: { it: oldServer }, tools: { entry: () => shown } });
  const page = await open();
  await page.getByRole("button", { name: "Actions for it" }).press("Enter");
  await page.getByRole("menuitem", { name: "Change" }).click();
  const dialog = page.getByRole("dialog", { name: "Change it" });
  await dialog.getByText("What you allowed stays, too, if you change only variables").waitFor();
  await dialog.getByRole("checkbox", { name: `Also change ${shown.file}` }).check();
  await dialog.getByText("What you allowed ends if the file changes: you are asked again.").waitFor();
  await checkWidth(page);
  expect(problems).toEqual([]);
});

test("a server that is trusted starts at once, and one that cannot run says so", async () => {
  const { open, problems } = await openPage({
    servers: [fromProject("it", command), fromProject("broken", { command: "/nowhere/at/all" })],
  });
  const page = await open();
  for (const [name, says] of [
    ["it", /^\d+ tools/],
    ["broken", /nowhere/],
  ] as const) {
    const row = page.getByRole("listitem").filter({ has: page.getByRole("link", { name, exact: true }) });
    await row.getByRole("button", { name: "Trust", exact: true }).click();
    await page.getByRole("button", { name: "Trust and start" }).click();
    await row.getByText(says).first().waitFor();
  }
  expect(problems).toEqual([]);
});

test("trusts the chosen ones of several servers at once, and shows the command of each", async () => {
  const { open, problems } = await openPage({
    servers: ["one", "two", "three"].map((name) => fromProject(name, command)),
  });
  const page = await open();
  await page.getByRole("button", { name: "Trust several of 3" }).click();
  const dialog = page.getByRole("dialog", { name: "Trust several servers" });
  await dialog.getByText(process.execPath).nth(2).waitFor();
  expect(await dialog.getByRole("button", { name: "Choose servers" }).isDisabled()).toBe(true);
  await checkAccess(page);
  await checkWidth(page);
  for (const name of ["one", "two"]) await dialog.getByRole("checkbox", { name, exact: true }).check();
  await dialog.getByRole("button", { name: "Trust and start 2" }).click();
  const row = (name: string) =>
    page.getByRole("listitem").filter({ has: page.getByRole("link", { name, exact: true }) });
  for (const name of ["one", "two"])
    await row(name)
      .getByText(/^\d+ tools/)
      .waitFor();
  await row("three").getByRole("button", { name: "Trust", exact: true }).waitFor();
  expect(await page.getByRole("button", { name: /^Trust several/ }).count()).toBe(0);
  expect(problems).toEqual([]);
});
