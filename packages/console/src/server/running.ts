import { randomBytes, randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { readJsonFile, writePrivateFile } from "./files.ts";
import { createLaunchToken, isEqualText, proveSecret } from "./sessions.ts";

/** The facts that a console writes about itself for other processes of the same user. */
export interface RunningFile {
  readonly port: number;
  /** Missing after the console has ended: the next one takes the same port if it can. */
  readonly pid?: number;
  readonly boot?: string;
  /** Makes launch tokens. */
  readonly secret?: string;
  /** The project of the console, for the process that finds it. */
  readonly project?: string;
  readonly purpose?: string;
}

const fileIn = (folder: string) => join(folder, "running.json");

export async function readRunning(folder: string): Promise<RunningFile | undefined> {
  const found = (await readJsonFile(fileIn(folder))) as Partial<RunningFile> | undefined;
  const { port } = found ?? {};
  const isPort = typeof port === "number" && Number.isInteger(port) && port > 0 && port < 65_536;
  return isPort ? (found as RunningFile) : undefined;
}

export async function writeRunning(folder: string, running: RunningFile): Promise<void> {
  await writePrivateFile(fileIn(folder), JSON.stringify(running));
}

/** True if the console that wrote the file still answers, and can prove it. */
export async function isAlive({ port, pid, secret }: RunningFile): Promise<boolean> {
  if (pid === undefined || typeof secret !== "string") return false;
  const challenge = randomBytes(24).toString("base64url");
  try {
    const reply = await fetch(`http://127.0.0.1:${port}/api/alive`, {
      headers: { "Portolan-Challenge": challenge },
      redirect: "error",
      signal: AbortSignal.timeout(2_000),
    });
    const { proof } = (await reply.json()) as { proof?: unknown };
    return typeof proof === "string" && isEqualText(proof, proveSecret(secret, challenge));
  } catch {
    return false;
  }
}

/** Makes addresses of a console from its secret, also for another process. */
export interface Addresses {
  openAddress(): string;
  browserAddress(): string;
}

export function createAddresses(folder: string, origin: string, secret: string): Addresses {
  // A fragment is not sent to any server, and stands in no log of requests.
  const openAddress = () => `${origin}/#launch=${createLaunchToken(secret, Date.now())}`;
  return {
    openAddress,
    browserAddress() {
      const file = join(folder, `${openPrefix}${randomUUID()}.html`);
      const address = openAddress();
      const text = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${address}"><title>Portolan</title><a href="${address}">Open the console</a>\n`;
      writeFileSync(file, text, { mode: 0o600, flag: "wx" });
      return pathToFileURL(file).href;
    },
  };
}

const openPrefix = "open-";

/** Removes the files of `browserAddress`. */
export async function removeOpenFiles(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const ours = names.filter((name) => name.startsWith(openPrefix) && name.endsWith(".html"));
  await Promise.all(ours.map((name) => rm(join(folder, name), { force: true })));
}
