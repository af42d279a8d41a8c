import { expect, onTestFinished, test, vi } from "vitest";
import { createDisk } from "./disk.ts";
import { App, post, redirectUri, resource, start } from "./kit.ts";

const register = (issuer: string) =>
  fetch(`${issuer}/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: "none" }),
  });

async function authorize(issuer: string, clientId: string, more: { readonly [name: string]: string } = {}) {
  const query = new URLSearchParams({
    ...{ client_id: clientId, response_type: "code", redirect_uri: redirectUri, scope: "notes:read", resource },
    ...{ code_challenge: "x".repeat(43), code_challenge_method: "S256" },
    ...more,
  });
  return fetch(`${issuer}/authorize?${query}`, { redirect: "manual" });
}

test("on a full disk clients get JSON that says when to retry, and people get a page", async () => {
  const storage = createDisk();
  const { issuer } = await start({ storage, secrets: ["s".repeat(32)] });
  const { client_id: clientId } = (await (await register(issuer)).json()) as { client_id: string };
  storage.isFull = true;
  const refused = await register(issuer);
  expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("content-type")]).toEqual([
    ...[503, "60", "application/json; charset=utf-8"],
  ]);
  expect(await refused.json()).toEqual({
    ...{ error: "temporarily_unavailable", error_description: "the server cannot store anything now" },
  });
  const page = await authorize(issuer, clientId);
  expect([page.status, page.headers.get("content-type")]).toEqual([503, "text/html; charset=utf-8"]);
  expect(await page.text()).toContain("The server failed. Try again later.");
  storage.isFull = false;
  expect((await register(issuer)).status).toBe(201);
});

test("on a full disk a refresh and a revocation get 503 and when to retry, and the login is not lost", async () => {
  const storage = createDisk();
  const { issuer, errors } = await start({ storage, secrets: ["s".repeat(32)] });
  const app = await App.register(issuer);
  const { body } = await app.loginForTokens();
  const token = body["refresh_token"] as string;
  const revoke = () => post(`${issuer}/revoke`, new URLSearchParams({ client_id: app.clientId, token }));
  storage.isFull = true;
  const unavailable = { error: "temporarily_unavailable", error_description: "the server cannot store anything now" };
  const refused = await app.refresh(token);
  expect([refused.status, refused.headers.get("retry-after"), refused.body]).toEqual([503, "60", unavailable]);
  const kept = await revoke();
  expect([kept.status, kept.headers.get("retry-after"), kept.body]).toEqual([503, "60", unavailable]);
  expect(errors.map(String)).toEqual(
    Array(2).fill(expect.stringContaining("ENOSPC: no space left on device, write '/data/")),
  );
  storage.isFull = false;
  expect((await app.refresh(token)).status).toBe(200);
});

test("a storage that fails in the middle of a refresh does not cost the login", async () => {
  const storage = createDisk();
  const { issuer } = await start({ storage, secrets: ["s".repeat(32)] });
  const app = await App.register(issuer);
  const { body } = await app.loginForTokens();
  // The old token is marked as used; the new one cannot be stored.
  storage.fullFor = "/RefreshToken/";
  expect((await app.refresh(body["refresh_token"])).status).toBe(503);
  storage.fullFor = undefined;
  const { status, body: renewed } = await app.refresh(body["refresh_token"]);
  expect(status).toBe(200);
  // The new tokens are withheld, because a repeated request could not get them.
  storage.fullFor = "/refreshed/";
  const withheld = await app.refresh(renewed["refresh_token"]);
  expect([withheld.status, withheld.body["refresh_token"]]).toEqual([503, undefined]);
  storage.fullFor = undefined;
  expect((await app.refresh(renewed["refresh_token"])).status).toBe(200);
});

test("a sign-in that could not be stored is no event", async () => {
  const storage = createDisk();
  const { issuer, events } = await start({ storage, secrets: ["s".repeat(32)] });
  const app = await App.register(issuer);
  const page = await app.browser.open(app.authorizeUrl());
  storage.fullFor = "/Interaction/";
  const signIn = () => app.browser.press(page, "sign-in", { name: "ada", password: "correct horse" });
  expect((await signIn()).status).toBe(503);
  expect(events.map(({ type }) => type)).toEqual(["client-registered"]);
  storage.fullFor = undefined;
  await signIn();
  expect(events.map(({ type }) => type)).toEqual(["client-registered", "signed-in"]);
});

test("failures of one kind are written as one line", async () => {
  const written = vi.spyOn(console, "error").mockReturnValue();
  onTestFinished(() => written.mockRestore());
  const storage = createDisk();
  const { issuer } = await start({ storage, secrets: ["s".repeat(32)], onError: undefined as never });
  storage.isFull = true;
  for (let request = 0; request < 20; request += 1) await (await register(issuer)).text();
  const lines = written.mock.calls.map((parts) => parts.join(" "));
  expect(lines).toEqual([expect.stringMatching(/^portolan-authority: Error: ENOSPC: no space left on device, write/)]);
  expect(lines[0]).not.toContain("\n");
});

test("authorization requests that nobody signed in for are limited by their size", async () => {
  const { issuer } = await start();
  const { client_id: clientId } = (await (await register(issuer)).json()) as { client_id: string };
  let accepted = 0;
  const state = "s".repeat(12_000);
  while ((await authorize(issuer, clientId, { state })).status === 303) accepted += 1;
  // 1 MiB of 13 KiB each; as many small ones would be accepted.
  expect(accepted).toBe(78);
  expect((await authorize(issuer, clientId, { state })).status).toBe(429);
});
