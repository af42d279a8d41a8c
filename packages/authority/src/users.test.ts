import { scryptSync } from "node:crypto";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { usersIn } from "./users.ts";

const key = scryptSync("x", Buffer.alloc(16), 32, { N: 1024 }).toString("base64url");
const hashed = `scrypt$1024$8$1$${"A".repeat(22)}$${key}`;

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-users-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "users.json");
}

test("verifies name and password, and uses the id as subject", async () => {
  const path = file();
  const ada = { name: "ada", id: "u-1", displayName: "Ada", password: hashed };
  writeFileSync(path, JSON.stringify({ users: [ada] }));
  const users = usersIn(path);
  expect(await users.verify("ada", "x")).toEqual({ subject: "u-1", name: "Ada" });
  expect(await users.verify("ada", "y")).toBeUndefined();
  expect([await users.find("u-1"), await users.find("ada")]).toEqual([{ subject: "u-1", name: "Ada" }, undefined]);
  writeFileSync(path, JSON.stringify({ users: [] }));
  utimesSync(path, new Date(), new Date(Date.now() + 5_000));
  expect(await users.verify("ada", "x")).toBeUndefined();
});

test("refuses a plain password and names hashPassword()", async () => {
  const path = file();
  writeFileSync(path, JSON.stringify({ users: [{ name: "ada", password: "x" }] }));
  await expect(usersIn(path).verify("ada", "x")).rejects.toThrow("as hashPassword() returns it");
});
