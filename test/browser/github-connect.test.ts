// The example with passwords as a program, the fake of GitHub, a client that opens addresses, and a real browser.
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { ElicitUrlParams } from "portolan";
import { deferred, LoginRequired, memoryStore, oauth } from "portolan/auth/client";
import { connect } from "portolan/client";
import { expect, onTestFinished, test } from "vitest";
import { people } from "../authority/kit.ts";
import { pathTo } from "../examples/example.ts";
import { freePort } from "../kit/free-port.ts";
import { hello, startSeeded } from "../servers/github/kit.ts";
import { call, failureOf } from "../servers/kit/tools.ts";
import { startCallback } from "./callback.ts";
import { startChromium } from "./chromium.ts";

test("a person connects an account at GitHub in the middle of the first call, in the browser where they signed in", async () => {
  const { fake } = await startSeeded();
  const port = await freePort();
  const script = pathTo("examples/github/connected.mjs");
  const { clientId, clientSecret, origin } = fake;
  const env = {
    ...{ GITHUB_CLIENT_ID: clientId, GITHUB_CLIENT_SECRET: clientSecret },
    ...{ GITHUB_SITE: origin, GITHUB_API_URL: origin },
  };
  const child = spawn(process.execPath, [script, people().path, String(port)], { env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill();
    await exited;
  });
  await once(child.stdout, "data");

  const page = await (await startChromium()).newPage();
  page.setDefaultTimeout(20_000);
  const callback = await startCallback();
  const auth = oauth({ clientName: "Notebook", redirect: deferred(callback.address), store: memoryStore() });
  const opened: string[] = [];
  const openUrl = async ({ url }: ElicitUrlParams) => {
    opened.push(url);
    await page.goto(url);
    await page.getByRole("heading", { name: "Connect GitHub?" }).waitFor();
    expect(await page.locator("dd").textContent()).toBe("Ada Lovelace");
    await page.getByRole("button", { name: "Go to GitHub" }).click();
    await page.getByLabel("Username").fill("ada");
    await page.getByRole("button", { name: "Authorize" }).click();
    await page.getByRole("heading", { name: "GitHub is connected" }).waitFor();
    return { action: "accept" } as const;
  };
  const open = () => connect(`http://localhost:${port}/mcp`, { auth, answers: { openUrl } });

  const refused = await open().catch((error: Error) => error.cause ?? error);
  expect(refused).toBeInstanceOf(LoginRequired);
  await page.goto((refused as LoginRequired).authorizationUrl);
  await page.getByLabel("User name").fill("ada");
  await page.getByLabel("Password").fill("correct horse");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Allow" }).click();
  await page.getByRole("heading", { name: "Signed in" }).waitFor();
  await auth.finish(new URL(callback.opened[0] ?? "", callback.address).href);

  const client = await open();
  onTestFinished(() => client.close());
  expect(await call(client, "get_repository", hello)).toMatchObject({ repository: "ada/hello" });
  expect(await call(client, "get_repository", hello)).toMatchObject({ repository: "ada/hello" });
  expect(opened).toEqual([`http://localhost:${port}/connect/github`]);

  fake.revoke("ada");
  expect(await failureOf(client, "get_repository", hello)).toContain(`Sign in at ${opened[0]}, then try again`);
  expect(await call(client, "get_repository", hello)).toMatchObject({ repository: "ada/hello" });
  expect(opened).toHaveLength(2);
});
