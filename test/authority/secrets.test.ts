import { createMemoryStorage, randomSecret, type Storage } from "portolan/storage";
import { describe, expect, test } from "vitest";
import { App, type Json, people, start } from "./kit.ts";

/** Starts processes of one issuer over one storage, one after another. The first one is at the issuer. */
function startMany(storage: Storage = createMemoryStorage()) {
  const signIn = people();
  let issuer: string | undefined;
  return async (...secrets: string[]) => {
    const started = await start({ storage, secrets, signIn, ...(issuer !== undefined && { issuer }) });
    issuer ??= started.issuer;
    return started;
  };
}

const messages = (errors: readonly unknown[]) => errors.map((error) => (error as Error).message);
const threeSteps = /append the new one .* move it to the front .* remove the old one/;

/** One process seals with a new secret, which the other does not have yet. */
async function startHalfChanged() {
  const [older, newer] = [randomSecret(), randomSecret()];
  const run = startMany();
  const behind = await run(older);
  const app = await App.register(behind.issuer);
  const { body } = await app.loginForTokens();
  const ahead = await run(newer, older);
  return { app, behind, ahead, run, older, newer, refreshToken: body["refresh_token"] as string };
}

describe("a process that does not have the new secret", () => {
  test("answers 503 to a refresh of the others' tokens, and reports the three steps once", async () => {
    const { app, behind, ahead, run, older, newer, refreshToken } = await startHalfChanged();
    const { body: renewed } = await app.refresh(refreshToken, {}, ahead.address);
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { status, headers, body } = await app.refresh(renewed["refresh_token"], {}, behind.address);
      expect([status, headers.get("retry-after"), body["error"]]).toEqual([503, "60", "temporarily_unavailable"]);
    }
    expect(messages(behind.errors)).toEqual([expect.stringMatching(threeSteps)]);
    expect(JSON.stringify([messages(behind.errors), behind.events])).not.toContain(newer);
    // The token is not lost: it is valid as soon as the process has the secret.
    const caughtUp = await run(newer, older);
    expect((await app.refresh(renewed["refresh_token"], {}, caughtUp.address)).status).toBe(200);
  });

  test("says 503 instead of 429 to people whose attempts the others have counted", async () => {
    const { app, behind, ahead } = await startHalfChanged();
    const elsewhere = await app.browser.fetch(app.authorizeUrl().replace(behind.issuer, ahead.address));
    expect(elsewhere.status).toBe(303);
    const refused = await app.browser.fetch(app.authorizeUrl());
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(refused.text).toContain("being reconfigured");
  });

  test.each(["opened", "submitted", "resumed"])(
    "shows an honest page when a sign-in of the others is %s",
    async (when) => {
      const { app, behind, ahead } = await startHalfChanged();
      const here = (url: string) => url.replace(ahead.address, behind.address);
      const there = (url: string) => url.replace(behind.address, ahead.address);
      const { browser } = app;
      browser.cookies.length = 0;
      // The form is shown by the process that is ahead, whoever began the sign-in.
      const begun = await browser.fetch(when === "submitted" ? app.authorizeUrl() : there(app.authorizeUrl()));
      const page = begun.headers.get("location") ?? "";
      const form = await browser.open(there(new URL(page, behind.address).href));
      expect(form.text).toContain("password");
      let answer = { status: 0, text: "", headers: new Headers() };
      if (when === "opened") answer = await browser.open(here(form.url));
      if (when === "submitted")
        answer = await browser.press({ ...form, url: here(form.url) }, "sign-in", { name: "ada" });
      if (when === "resumed") {
        // The login resumes at the issuer, which is behind.
        answer = await browser.press(form, "sign-in", { name: "ada", password: "correct horse" });
      }
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "60"]);
      expect(answer.text).toContain("being reconfigured");
      expect(answer.text).not.toContain("expired");
    },
  );

  test("goes on publishing its signing keys", async () => {
    const { behind, ahead } = await startHalfChanged();
    const keysAt = async (url: string) => (await (await fetch(`${url}/jwks`)).json()) as Json;
    expect(await keysAt(behind.address)).toEqual(await keysAt(ahead.address));
    expect((await keysAt(behind.address))["keys"]).toHaveLength(1);
    expect(messages(behind.errors)).toEqual([expect.stringMatching(threeSteps)]);
  });

  test("does not start again, and says the three steps", async () => {
    const { run, older } = await startHalfChanged();
    await expect(run(older)).rejects.toThrow(threeSteps);
  });

  test("revokes the grants that it can open, and rejects because of the others", async () => {
    const { app, behind, ahead, refreshToken } = await startHalfChanged();
    const other = await App.register(behind.issuer);
    const { body } = await other.loginForTokens();
    // A refresh seals the grant anew, with the secret of the process that answers it.
    const { body: renewed } = await app.refresh(refreshToken, {}, ahead.address);
    await expect(behind.authority.revoke({ subject: "ada" })).rejects.toThrow(threeSteps);
    expect((await other.refresh(body["refresh_token"], {}, ahead.address)).body["error"]).toBe("invalid_grant");
    expect((await app.refresh(renewed["refresh_token"], {}, ahead.address)).status).toBe(200);
    expect(behind.events.filter(({ type }) => type === "revoked")).toEqual([]);
  });
});

test("made-up keys in the forms of a caller are refused, and fill no log", async () => {
  const { issuer, errors } = await start();
  const app = await App.register(issuer);
  const page = await app.browser.open(app.authorizeUrl());
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const token = `made-up${attempt}.${"x".repeat(43)}`;
    expect((await app.browser.press(page, "sign-in", { name: "ada", token })).status).toBe(403);
  }
  expect(errors).toEqual([]);
});

describe("the three steps to change a secret", () => {
  test("interrupt no login, and the old secret is not needed afterwards", async () => {
    const [older, newer] = [randomSecret(), randomSecret()];
    const run = startMany();
    const issuer = await run(older);
    const app = await App.register(issuer.issuer);
    let token = (await app.loginForTokens()).body["refresh_token"] as string;
    const steps = [
      [[older, newer], [older]],
      [
        [older, newer],
        [older, newer],
      ],
      [
        [newer, older],
        [older, newer],
      ],
      [
        [newer, older],
        [newer, older],
      ],
      [[newer], [newer, older]],
      [[newer], [newer]],
    ];
    for (const pair of steps) {
      for (const secrets of pair) {
        const { address, errors } = await run(...secrets);
        const { status, body } = await app.refresh(token, {}, address);
        expect([status, errors]).toEqual([200, []]);
        token = body["refresh_token"];
      }
    }
  });

  test("a secret that is removed too early costs a sign-in, not a retry for ever", async () => {
    const [older, newer] = [randomSecret(), randomSecret()];
    const run = startMany();
    const before = await run(older);
    const app = await App.register(before.issuer);
    const { body } = await app.loginForTokens();
    await run(newer, older);
    const after = await run(newer);
    const refused = await app.refresh(body["refresh_token"], {}, after.address);
    expect([refused.status, refused.body["error"]]).toEqual([401, "invalid_client"]);
    expect(messages(after.errors)).toEqual([expect.stringMatching(/was removed.*append the new one/)]);
    // The counters of the old secret are begun again.
    const again = await App.register(after.address);
    const page = await again.browser.open(again.authorizeUrl());
    expect([page.status, page.text]).toEqual([200, expect.stringContaining("password")]);
  });
});
