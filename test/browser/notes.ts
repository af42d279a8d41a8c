import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { pathTo } from "../examples/example.ts";
import { freePort } from "../kit/free-port.ts";

async function startProgram(file: string, ...args: (string | number)[]): Promise<void> {
  const child = spawn(process.execPath, [pathTo(file), ...args.map(String)]);
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill();
    await exited;
  });
  const printed = once(child.stdout, "data");
  const left = exited.then(([code]) => Promise.reject(new Error(`${file} left with code ${code}`)));
  await Promise.race([printed, left]);
}

/** Starts the company where people sign in, and the server of the guide to authorization. Returns their addresses. */
export async function startNotes(
  companyFile: string,
  serverFile: string,
): Promise<{ readonly company: string; readonly notes: string }> {
  const [company, notes] = [await freePort(), await freePort()];
  await startProgram(companyFile, company, `http://localhost:${notes}`);
  await startProgram(serverFile, notes, `http://localhost:${company}`);
  return { company: `http://localhost:${company}`, notes: `http://localhost:${notes}` };
}

/** Fills in the page of the company where a person signs in. */
export async function signIn(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel("User name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}
