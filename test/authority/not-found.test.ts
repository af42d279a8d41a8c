import { createMemoryStorage } from "portolan/storage";
import type { AuthorityEvent } from "portolan-authority";
import { afterEach, describe, expect, test, vi } from "vitest";
import { App, people, redirectUri, type Started, start } from "./kit.ts";

afterEach(() => vi.useRealTimers());

const notFound = (events: readonly AuthorityEvent[]) => events.filter(({ type }) => type === "not-found");
const messages = ({ errors }: Started) => errors.map((error) => (error as Error).message);
const clients = [{ clientId: "desk", redirectUris: [redirectUri], name: "Desk" }];

describe("two processes without a shared storage", () => {
  async function startTwo() {
    const signIn = people();
    const first = await start({ signIn, clients });
    const second = await start({ signIn, clients, issuer: first.issuer });
    const app = new App(first.issuer, { clientId: "desk" });
    return { first, second, app };
  }

  test("a sign-in that the other one began is an event, and is reported once with the cause", async () => {
    const { first, second, app } = await startTwo();
    const page = await app.browser.open(app.authorizeUrl());
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const lost = await app.browser.open(page.url.replace(first.address, second.address));
      expect(lost.status).toBe(400);
    }
    expect(notFound(second.events)).toEqual([{ type: "not-found", what: "sign-in", address: "127.0.0.1", count: 1 }]);
    expect(messages(second)).toEqual([
      expect.stringMatching(
        /^A sign-in cannot be continued: .* this authority has no `storage`: what another process began/,
      ),
    ]);
  });

  test("a sign-in that resumes at the other one is reported, too", async () => {
    const { first, second, app } = await startTwo();
    const begun = await app.browser.open(app.authorizeUrl().replace(first.address, second.address));
    const lost = await app.browser.press(begun, "sign-in", { name: "ada", password: "correct horse" });
    expect([lost.status, lost.url.startsWith(first.address)]).toEqual([400, true]);
    expect(notFound(first.events)).toMatchObject([{ what: "sign-in" }]);
    expect(messages(first)).toHaveLength(1);
  });

  test("a code of the other one is an event, and is reported without the code", async () => {
    const { second, app } = await startTwo();
    const code = (await app.login()).get("code") ?? "";
    const { body } = await app.redeem(code, {}, {}, second.address);
    expect(body["error"]).toBe("invalid_grant");
    expect(notFound(second.events)).toMatchObject([{ what: "code", address: "127.0.0.1" }]);
    expect(messages(second)).toEqual([expect.stringMatching(/^A code is unknown.*has no `storage`/)]);
    expect(JSON.stringify([second.events, messages(second)])).not.toContain(code);
  });

  test("a client that is registered with the other one is an event", async () => {
    const { first, second } = await startTwo();
    const app = await App.register(first.issuer);
    const code = (await app.login()).get("code") ?? "";
    expect((await app.browser.open(app.authorizeUrl().replace(first.address, second.address))).status).toBe(400);
    expect((await app.redeem(code, {}, {}, second.address)).body["error"]).toBe("invalid_client");
    expect(notFound(second.events)).toMatchObject([{ what: "client" }]);
    expect(messages(second)).toEqual([expect.stringMatching(/^A client is unknown/)]);
  });
});

test("a sign-in that nobody has begun is an event, but no report", async () => {
  const started = await start();
  expect((await fetch(`${started.issuer}/page/made-up`)).status).toBe(400);
  expect(notFound(started.events)).toMatchObject([{ what: "sign-in" }]);
  expect(messages(started)).toEqual([]);
});

test("a clock that is an hour ahead of the storage is reported as such", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const started = await start({ storage: createMemoryStorage(), secrets: ["s".repeat(32)] });
  const app = await App.register(started.issuer);
  const page = await app.browser.open(app.authorizeUrl());
  vi.setSystemTime(Date.now() + 3_600_000);
  expect((await app.browser.open(page.url)).status).toBe(400);
  expect(messages(started)).toEqual([
    expect.stringMatching(/clocks of the processes, or of the storage, differ/),
    expect.stringMatching(/^A sign-in cannot be continued: .*the clocks of the processes differ/),
  ]);
});
