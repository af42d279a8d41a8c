import { fork } from "node:child_process";
import { once } from "node:events";
import type { Storage } from "portolan/storage";
import type { AuthorityOptions } from "portolan-authority";
import { onTestFinished } from "vitest";

export interface ProcessOptions extends Omit<AuthorityOptions, "storage" | "signIn"> {
  /** The file of its users. */
  readonly users: string;
  readonly port: number;
  /** The address of its Redis. Default: the storage of this process. */
  readonly redisUrl?: string;
}

interface Called {
  readonly id: number;
  readonly part: "kv" | "bus";
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Starts an authority as a child process over a storage of this one; it ends with the test. */
export async function startProcess(storage: Storage, options: ProcessOptions): Promise<void> {
  const child = fork(new URL("./process.mjs", import.meta.url), { stdio: ["ignore", "ignore", "pipe", "ipc"] });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill();
    await exited;
  });
  const isReady = new Promise<void>((resolve, reject) => {
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    exited.then(() => reject(new Error(`the authority left before it was ready: ${said}`)));
    child.on("message", (message: Called | { readonly isReady: true }) => {
      if ("isReady" in message) return resolve();
      answer(storage, message, (value) => child.connected && child.send(value));
    });
  });
  child.send({ options });
  await isReady;
}

function answer(storage: Storage, { id, part, method, args }: Called, send: (value: object) => void): void {
  const topic = String(args[0]);
  const hear = (value: string) => send({ topic, value });
  const subscribe = async () => void (await storage.bus.subscribe(topic, hear, () => hear("")));
  const methods = storage[part] as unknown as { [name: string]: (...args: readonly unknown[]) => Promise<unknown> };
  const called = method === "subscribe" ? subscribe() : methods[method]!(...args);
  called.then(
    (result) => send({ id, result }),
    (error: Error) => send({ id, error: error.message }),
  );
}
