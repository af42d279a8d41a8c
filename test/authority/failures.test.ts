import { createMemoryStorage, type Storage } from "portolan/storage";
import { expect, onTestFinished, test, vi } from "vitest";
import { redirectUri, resource, start } from "./kit.ts";

/** A storage whose disk can be full. */
function createDisk(): Storage & { isFull: boolean } {
  const storage = createMemoryStorage();
  const disk = {
    ...storage,
    isFull: false,
    kv: {
      get: (key: string) => storage.kv.get(key),
      delete: (key: string) => storage.kv.delete(key),
      list: (prefix: string, options?: object) => storage.kv.list(prefix, options),
      async set(...parts: Parameters<Storage["kv"]["set"]>) {
        if (!disk.isFull) return storage.kv.set(...parts);
        const file = `/data/${crypto.randomUUID()}.tmp`;
        throw Object.assign(new Error(`ENOSPC: no space left on device, write '${file}'`), { code: "ENOSPC" });
      },
    },
  };
  return disk;
}

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
