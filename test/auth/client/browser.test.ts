import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { patient, temporaryFolder } from "./kit.ts";
import { ask, startLogin } from "./login.ts";

/** A folder with its own `xdg-open`, first on the path; it writes its arguments, one per line. */
function fakeOpener(then: string): {
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
  readonly noted: string;
} {
  const folder = temporaryFolder();
  const noted = `${folder}/noted`;
  writeFileSync(
    `${folder}/xdg-open`,
    `#!/bin/sh\nprintf '%s\\n' "$@" > "${noted}.part"\nmv "${noted}.part" "${noted}"\n${then}\n`,
  );
  chmodSync(`${folder}/xdg-open`, 0o755);
  return { env: { PATH: `${folder}:${process.env["PATH"]}` }, folder, noted };
}

describe.skipIf(process.platform !== "linux")("the system's browser (as Linux opens it)", () => {
  test("gets the URL as one argument, whatever characters it has", async () => {
    const { env, folder, noted } = fakeOpener("exit 0");
    const address = new URL(`https://idp.example/a;touch ${folder}/x?a=1&b=$(touch+${folder}/y)&c='"|\`id\`&d=%20*`);
    const login = await startLogin("loopback", address.href, env);
    await expect.poll(() => existsSync(noted), patient).toBe(true);
    expect(readFileSync(noted, "utf8")).toBe(`${address.href}\n`);
    await ask(`${login.redirectUri}?code=1`);
    expect(await login.outcome()).toBe(`back ${login.redirectUri}?code=1`);
    expect(login.errors()).toBe("");
    expect(readdirSync(folder).sort()).toEqual(["noted", "xdg-open"]);
  });

  test("may run longer than the program", async () => {
    const { env, folder, noted } = fakeOpener(`while kill -0 $PPID; do sleep 0.1; done`);
    const login = await startLogin("loopback", "https://idp.example/", env);
    await expect.poll(() => existsSync(noted), patient).toBe(true);
    await ask(`${login.redirectUri}?code=1`);
    expect(await login.outcome()).toBe(`back ${login.redirectUri}?code=1`);
    expect(readdirSync(folder)).toContain("noted");
  });

  test.each([
    ["fails", fakeOpener, "exit 3"],
    ["is not there", () => ({ env: { PATH: "/nonexistent" } }), ""],
  ])("that %s leaves the URL on stderr", async (_, make, then) => {
    const login = await startLogin("loopback", "https://idp.example/?a=1", make(then).env);
    await expect.poll(login.errors, patient).toBe("Open this URL in a browser: https://idp.example/?a=1\n");
    await ask(`${login.redirectUri}?code=1`);
    expect(await login.outcome()).toBe(`back ${login.redirectUri}?code=1`);
  });

  test("is not started for a URL that is not https", async () => {
    const { env, noted } = fakeOpener("exit 0");
    const login = await startLogin("loopback", "file:///etc/passwd", env);
    expect(await login.outcome()).toContain("address-refused");
    expect(existsSync(noted)).toBe(false);
  });
});
