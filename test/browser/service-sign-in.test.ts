// The example of the README as a program, the fake of GitHub, a client, and a person with a real browser.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { deferred, LoginRequired, memoryStore, oauth } from "portolan/auth/client";
import { connect } from "portolan/client";
import { scriptedAnswers } from "portolan/testing";
import { expect, onTestFinished, test } from "vitest";
import { pathTo } from "../examples/example.ts";
import { freePort } from "../kit/free-port.ts";
import { hello, startSeeded } from "../servers/github/kit.ts";
import { startCallback } from "./callback.ts";
import { startChromium } from "./chromium.ts";

/** Starts `examples/github/server.mjs` over a fake, until the test ends. */
async function startExample(env: { [name: string]: string }): Promise<string> {
  const port = await freePort();
  const script = pathTo("examples/github/server.mjs");
  const child = spawn(process.execPath, [script, String(port)], { env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill();
    await exited;
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  expect(line).toBe(`GitHub tools at http://localhost:${port}/mcp\n`);
  return `http://localhost:${port}/mcp`;
}

test("a person signs in at GitHub in a browser once, and the server acts with their account", async () => {
  const { fake, repository } = await startSeeded();
  const { clientId, clientSecret, origin } = fake;
  const url = await startExample({
    ...{ GITHUB_CLIENT_ID: clientId, GITHUB_CLIENT_SECRET: clientSecret },
    ...{ GITHUB_SITE: origin, GITHUB_API_URL: origin },
  });
  const callback = await startCallback();
  const auth = oauth({ clientName: "Notebook", redirect: deferred(callback.address), store: memoryStore() });
  const answers = scriptedAnswers({ action: "accept", content: {} } as never);
  const open = () => connect(url, { auth, answers });

  const refused = await open().catch((error: Error) => error.cause ?? error);
  expect(refused).toBeInstanceOf(LoginRequired);
  expect(fake.requests).toEqual([]);

  const page = await (await startChromium()).newPage();
  page.setDefaultTimeout(20_000);
  await page.goto((refused as LoginRequired).authorizationUrl);
  const consent = await page.locator("body").textContent();
  for (const shown of ["Notebook", "Use your account at GitHub", "GitHub"]) expect(consent).toContain(shown);
  await page.getByRole("button", { name: "Allow" }).click();
  await page.getByLabel("Username").fill("bob");
  expect(await page.locator("body").textContent()).toContain("It wants: read:user repo");
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.getByRole("heading", { name: "Signed in" }).waitFor();
  await auth.finish(new URL(callback.opened[0] ?? "", callback.address).href);

  const client = await open();
  onTestFinished(() => client.close());
  await client.callTool("add_comment", { ...hello, number: 1, body: "It is me" } as never);
  expect(repository.issues[0]?.comments.at(-1)).toMatchObject({ author: { login: "bob" }, body: "It is me" });
  const again = await open();
  onTestFinished(() => again.close());
  expect(await again.callTool("get_repository", hello as never)).toMatchObject({ structuredContent: { stars: 3 } });
});
