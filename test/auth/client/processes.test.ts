import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { hour, until } from "./kit/site.ts";
import { startWorld } from "./kit/world.ts";

interface Told {
  readonly text?: string;
  readonly logins?: number;
  readonly failure?: string;
}

const start = (file: string, ...args: string[]): ChildProcess =>
  fork(fileURLToPath(new URL(`./fixtures/${file}`, import.meta.url)), args, { silent: true });

/** A process that calls the server when told to. */
class Caller {
  readonly #child: ChildProcess;
  readonly #gone: Promise<unknown>;
  #calls = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#gone = once(child, "exit");
  }

  static async start(url: string, path: string): Promise<Caller> {
    const child = start("caller.mjs", url, path);
    const caller = new Caller(child);
    onTestFinished(() => caller.kill());
    await once(child, "message");
    return caller;
  }

  call(): Promise<Told> {
    this.#calls += 1;
    const id = this.#calls;
    return new Promise((resolve) => {
      const hear = ({ reply, value }: { reply?: number; value: Told }) => {
        if (reply !== id) return;
        this.#child.off("message", hear);
        resolve(value);
      };
      this.#child.on("message", hear);
      this.#child.send({ id });
    });
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#gone;
  }
}

async function startTwo() {
  const folder = mkdtempSync(join(tmpdir(), "portolan-auth-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "credentials.json");
  const world = await startWorld();
  const [one, two] = await Promise.all([
    Caller.start(world.server.url, path),
    Caller.start(world.server.url, path),
  ] as const);
  return { ...world, one, two, path };
}

describe("two processes that share a file of credentials", () => {
  test("sign in once, in any order, and only their owner can read the file", async () => {
    const { authority, one, two, path } = await startTwo();
    const both = await Promise.all([one.call(), two.call()]);
    expect(both.map((told) => told.text)).toEqual(["ada by client-1", "ada by client-1"]);
    expect(both.reduce((sum, { logins = 0 }) => sum + logins, 0)).toBe(1);
    expect([authority.asked("register").length, authority.asked("token").length]).toEqual([1, 1]);
    expect(statSync(path).mode & 0o077).toBe(0);
  });

  test("T47: renew an expired token once for both", async () => {
    const { authority, clock, one, two } = await startTwo();
    await one.call();
    await two.call();
    clock.pass(2 * hour);
    const both = await Promise.all([one.call(), two.call(), one.call(), two.call()]);
    expect(new Set(both.map((told) => told.text))).toEqual(new Set(["ada by client-1"]));
    expect(authority.grants("refresh_token")).toHaveLength(1);
    expect(authority.asked("authorize")).toHaveLength(1);
  });

  test.each([
    ["has not received", false],
    ["has granted already", true],
  ])("do not block each other when one dies during a renewal that the authority %s", async (_, isGranted) => {
    const { authority, clock, one, two } = await startTwo();
    await one.call();
    await two.call();
    clock.pass(2 * hour);
    let isHeld = false;
    authority.site.instead.set("/token", async () => {
      authority.site.instead.delete("/token");
      if (isGranted) authority.forget();
      isHeld = true;
      return new Promise(() => {});
    });
    void one.call();
    await until(() => isHeld);
    const calling = two.call();
    await one.kill();
    expect(await calling).toEqual({ text: "ada by client-1", logins: isGranted ? 1 : 0 });
    expect(authority.grants("refresh_token")).toHaveLength(2);
  });
});

test("a process that aborts a login has nothing left that keeps it alive", async () => {
  const { server, authority } = await startWorld();
  const child = start("gives-up.mjs", server.url);
  onTestFinished(() => void child.kill("SIGKILL"));
  child.disconnect();
  const output = text(child.stdout as NodeJS.ReadableStream);
  const [code] = await once(child, "exit");
  expect([code, (await output).trim()]).toEqual([0, "AbortError"]);
  expect(authority.asked("token")).toEqual([]);
});
