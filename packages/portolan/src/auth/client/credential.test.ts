import { expect, test } from "vitest";
import { type Credential, type PendingLogin, Vault } from "./credential.ts";
import { memoryStore } from "./store.ts";

const server = "https://mcp.example/mcp";
const credential = { issuer: "https://as.example", accessToken: "token" } as unknown as Credential;

test("keeps the credentials of accounts and of configured clients apart", async () => {
  const store = memoryStore();
  await new Vault(store, "ada", "").writeCredential(server, credential);
  expect(await new Vault(store, "ada", "").readCredential(server)).toEqual(credential);
  expect(await new Vault(store, "bob", "").readCredential(server)).toBeUndefined();
  expect(await new Vault(store, "ada", "client").readCredential(server)).toBeUndefined();
});

test("binds a client to the first issuer", async () => {
  const vault = new Vault(memoryStore(), "", "client");
  expect(await vault.bind("client", "https://one.example")).toBe("https://one.example");
  expect(await vault.bind("client", "https://two.example")).toBe("https://one.example");
});

test("gives a pending login out once, even in parallel", async () => {
  const vault = new Vault(memoryStore(), "", "");
  await vault.keepPending({ state: "s", server } as unknown as PendingLogin, 60_000);
  const taken = await Promise.all([vault.takePending("s"), vault.takePending("s"), vault.takePending("other")]);
  expect(taken.filter((one) => one !== undefined)).toHaveLength(1);
});

test("reports a broken store with code store-failed", async () => {
  const store = { ...memoryStore(), get: () => Promise.reject(new Error("disk full")) };
  await expect(new Vault(store, "", "").readCredential(server)).rejects.toMatchObject({
    code: "store-failed",
    message: "The credential store failed: disk full",
  });
});
