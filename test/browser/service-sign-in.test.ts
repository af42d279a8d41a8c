// The examples of the READMEs as programs, the fakes of the services, a client, and a person with a real browser.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { deferred, LoginRequired, memoryStore, oauth } from "portolan/auth/client";
import { type Client, connect } from "portolan/client";
import { scriptedAnswers } from "portolan/testing";
import { expect, onTestFinished, test } from "vitest";
import { pathTo } from "../examples/example.ts";
import { freePort } from "../kit/free-port.ts";
import { startSeeded as startAsana } from "../servers/asana/kit.ts";
import { hello, startSeeded as startGithub } from "../servers/github/kit.ts";
import { call } from "../servers/kit/tools.ts";
import { startSeeded as startSlack } from "../servers/slack/kit.ts";
import { startCallback } from "./callback.ts";
import { startChromium } from "./chromium.ts";

/** What the sign-in at a service needs, and how its server is used afterwards. */
interface SignInAt {
  /** The example, as it is quoted in the README. */
  readonly script: string;
  readonly env: { readonly [name: string]: string };
  /** A part of the service's page. */
  readonly wants: string;
  /** Changes something as bob, and checks that. */
  readonly use: (client: Client) => Promise<void>;
  /** How many requests for data the service got. */
  readonly requests: () => number;
}

const services: { readonly [name: string]: () => Promise<SignInAt> } = {
  GitHub: async () => {
    const { fake, repository } = await startGithub();
    const { clientId, clientSecret, origin } = fake;
    const env = {
      ...{ GITHUB_CLIENT_ID: clientId, GITHUB_CLIENT_SECRET: clientSecret },
      ...{ GITHUB_SITE: origin, GITHUB_API_URL: origin },
    };
    const use = async (client: Client) => {
      await call(client, "add_comment", { ...hello, number: 1, body: "It is me" });
      expect(repository.issues[0]?.comments.at(-1)).toMatchObject({ author: { login: "bob" }, body: "It is me" });
    };
    const script = "examples/github/server.mjs";
    return { script, env, wants: "It wants: read:user repo", use, requests: () => fake.requests.length };
  },
  Slack: async () => {
    const { fake, general } = await startSlack();
    const { clientId, clientSecret, origin, api } = fake;
    const env = {
      ...{ SLACK_CLIENT_ID: clientId, SLACK_CLIENT_SECRET: clientSecret },
      ...{ SLACK_SITE: origin, SLACK_API_URL: api },
    };
    const use = async (client: Client) => {
      await call(client, "post_message", { channel: general.id, text: "It is me" });
      expect(general.messages.at(-1)).toMatchObject({ user: fake.user("bob").id, text: "It is me" });
    };
    const script = "examples/slack/server.mjs";
    return { script, env, wants: "It wants: channels:read,groups:read,", use, requests: () => fake.calls.length };
  },
  Asana: async () => {
    const { fake, task } = await startAsana();
    const { clientId, clientSecret, origin, api } = fake;
    const env = {
      ...{ ASANA_CLIENT_ID: clientId, ASANA_CLIENT_SECRET: clientSecret },
      ...{ ASANA_SITE: origin, ASANA_API_URL: api },
    };
    const use = async (client: Client) => {
      const added = await call(client, "add_comment", { task: task.gid, text: "It is me" });
      expect(added).toMatchObject({ author: "bob", text: "It is me" });
    };
    const script = "examples/asana/server.mjs";
    return { script, env, wants: "It wants: default", use, requests: () => fake.requests.length };
  },
};

/** Starts the example of a service over a fake, until the test ends. */
async function startExample(name: string, { script, env }: SignInAt): Promise<string> {
  const port = await freePort();
  const child = spawn(process.execPath, [pathTo(script), String(port)], { env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill();
    await exited;
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  expect(line).toBe(`${name} tools at http://localhost:${port}/mcp\n`);
  return `http://localhost:${port}/mcp`;
}

test.each(Object.entries(services))(
  "a person signs in at %s in a browser once, and the server acts with their account",
  async (name, start) => {
    const service = await start();
    const { wants, use, requests } = service;
    const url = await startExample(name, service);
    const callback = await startCallback();
    const auth = oauth({ clientName: "Notebook", redirect: deferred(callback.address), store: memoryStore() });
    const answers = scriptedAnswers({ action: "accept", content: {} } as never);
    const open = () => connect(url, { auth, answers });

    const refused = await open().catch((error: Error) => error.cause ?? error);
    expect(refused).toBeInstanceOf(LoginRequired);
    expect(requests()).toBe(0);

    const page = await (await startChromium()).newPage();
    page.setDefaultTimeout(20_000);
    await page.goto((refused as LoginRequired).authorizationUrl);
    const consent = await page.locator("body").textContent();
    for (const shown of ["Notebook", `Use your account at ${name}`]) expect(consent).toContain(shown);
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByLabel("Username").fill("bob");
    expect(await page.locator("body").textContent()).toContain(wants);
    await page.getByRole("button", { name: "Authorize" }).click();
    await page.getByRole("heading", { name: "Signed in" }).waitFor();
    await auth.finish(new URL(callback.opened[0] ?? "", callback.address).href);

    const client = await open();
    onTestFinished(() => client.close());
    await use(client);
    const again = await open();
    onTestFinished(() => again.close());
    expect((await again.listTools()).length).toBeGreaterThan(0);
  },
);
