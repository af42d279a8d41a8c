import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileStore } from "portolan/auth/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "./kit.ts";

const worker = join(import.meta.dirname, "fixtures/store-worker.mjs");
const modeOf = (path: string) => lstatSync(path).mode & 0o777;
const file = (entries: object, more: object = {}) => JSON.stringify({ version: 1, entries, ...more });

function start(path: string, ...task: string[]): ChildProcess {
  const child = spawn(process.execPath, [worker, path, ...task], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

async function run(path: string, ...task: string[]): Promise<unknown> {
  const [code, signal] = await once(start(path, ...task), "exit");
  return code ?? signal;
}

async function startHolder(path: string): Promise<ChildProcess> {
  const child = start(path, "hold");
  await once(child.stdout!, "data");
  return child;
}

async function refusal(path: string): Promise<string> {
  const failures = await Promise.allSettled([
    fileStore(path).get("a"),
    fileStore(path).set("a", "new SECRET"),
    fileStore(path).set("a", undefined),
  ]);
  const reasons = failures.map((failure) => (failure.status === "rejected" ? failure.reason : undefined));
  for (const reason of reasons) {
    expect(reason).toMatchObject({ name: "PortolanError", code: "invalid-argument" });
    expect(`${reason.message} ${reason.cause} ${reason.stack}`).not.toContain("SECRET");
    expect(reason.message).toBe(reasons[0].message);
  }
  return reasons[0].message;
}

describe("the file", () => {
  test("is readable by its owner alone, and so is a new folder for it", async () => {
    const folder = temporaryFolder();
    const path = `${folder}/a/b/credentials.json`;
    await fileStore(path).set("a", "1");
    expect([modeOf(path), modeOf(`${folder}/a/b`), modeOf(`${folder}/a`)]).toEqual([0o600, 0o700, 0o700]);
    await fileStore(path).set("a", "2");
    expect(modeOf(path)).toBe(0o600);
    expect(readdirSync(`${folder}/a/b`)).toEqual(["credentials.json"]);
  });

  test("is replaced, never overwritten", async () => {
    const folder = temporaryFolder();
    const path = `${folder}/credentials.json`;
    await fileStore(path).set("a", "1");
    linkSync(path, `${folder}/before`);
    await fileStore(path).set("a", "2");
    expect(readFileSync(`${folder}/before`, "utf8")).toContain('"1"');
    expect(statSync(path).ino).not.toBe(statSync(`${folder}/before`).ino);
  });

  test("keeps unknown members and entries", async () => {
    const path = `${temporaryFolder()}/credentials.json`;
    const entry = { value: "1", note: "from a later version" };
    writeFileSync(path, file({ a: entry }, { later: [1, 2] }), { mode: 0o600 });
    await fileStore(path).set("b", "2");
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
      ...{ version: 1, entries: { a: entry, b: { value: "2" } }, later: [1, 2] },
    });
  });

  test("loses expired values at the next write", async () => {
    const path = `${temporaryFolder()}/credentials.json`;
    writeFileSync(path, file({ old: { value: "OLD", expiresAt: 1 } }), { mode: 0o600 });
    expect(await fileStore(path).get("old")).toBe(undefined);
    await fileStore(path).set("new", "NEW", { ttlMs: 60_000 });
    expect(readFileSync(path, "utf8")).not.toContain("OLD");
    expect(JSON.parse(readFileSync(path, "utf8")).entries.new.expiresAt).toBeGreaterThan(Date.now());
  });
});

describe("a file is refused and left unchanged", () => {
  const text = file({ a: { value: "SECRET" } });

  test.each([0o604, 0o640, 0o660, 0o602, 0o610, 0o666])("when others have rights on it: mode %o", async (mode) => {
    const path = `${temporaryFolder()}/credentials.json`;
    writeFileSync(path, text);
    chmodSync(path, mode);
    expect(await refusal(path)).toContain(`got mode ${mode.toString(8)}; run chmod 600 ${path}`);
    expect([readFileSync(path, "utf8"), modeOf(path)]).toEqual([text, mode]);
  });

  test.skipIf(process.getuid?.() !== 0)("when it belongs to another user (needs root)", async () => {
    const path = `${temporaryFolder()}/credentials.json`;
    writeFileSync(path, text, { mode: 0o600 });
    chownSync(path, 12_345, 12_345);
    expect(await refusal(path)).toContain("got a file of user 12345; you are user 0");
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  test("when it is a symbolic link, even a broken one", async () => {
    const folder = temporaryFolder();
    writeFileSync(`${folder}/target`, text, { mode: 0o600 });
    for (const target of ["target", "nothing"]) {
      const path = `${folder}/link-to-${target}`;
      symlinkSync(`${folder}/${target}`, path);
      expect(await refusal(path)).toContain("got a symbolic link");
      expect(lstatSync(path).isSymbolicLink()).toBe(true);
    }
    expect(readFileSync(`${folder}/target`, "utf8")).toBe(text);
  });

  test("when it is a folder", async () => {
    const path = `${temporaryFolder()}/folder`;
    mkdirSync(path, { mode: 0o700 });
    expect(await refusal(path)).toContain("not a file");
  });

  test.each([
    ["", "not JSON"],
    ["SECRET", "not JSON"],
    [text.slice(0, -2), "not JSON"],
    ["[]", "no entries"],
    ['{"version":1}', "no entries"],
    ['{"version":1,"entries":{"b":"SECRET"}}', "has no value"],
  ])("when it is damaged: %s", async (damaged, why) => {
    const path = `${temporaryFolder()}/credentials.json`;
    writeFileSync(path, damaged, { mode: 0o600 });
    const message = await refusal(path);
    expect(message).toContain(why);
    expect(message).toContain("restore it, or delete it");
    expect(readFileSync(path, "utf8")).toBe(damaged);
  });

  test("when a later version has written it", async () => {
    const path = `${temporaryFolder()}/credentials.json`;
    writeFileSync(path, '{"version":2,"entries":{}}', { mode: 0o600 });
    expect(await refusal(path)).toContain("expected version 1");
  });
});

describe("processes that share the file", () => {
  test("lose no increment", async () => {
    const path = `${temporaryFolder()}/credentials.json`;
    const codes = await Promise.all(Array.from({ length: 5 }, () => run(path, "increment", "40")));
    expect(codes).toEqual([0, 0, 0, 0, 0]);
    expect(await fileStore(path).get("count")).toBe("200");
  });

  test("wait for a running one, and continue when it is killed", async () => {
    const folder = temporaryFolder();
    const path = `${folder}/credentials.json`;
    // Each round leaves the lock of a dead process, which all others find at the same time.
    for (let round = 1; round <= 3; round += 1) {
      const holder = await startHolder(path);
      const others = Array.from({ length: 4 }, () => run(path, "increment", "10"));
      const own = fileStore(path).exclusive("count", async () => holder.killed);
      holder.kill("SIGKILL");
      expect(await own).toBe(true);
      expect(await Promise.all(others)).toEqual([0, 0, 0, 0]);
      expect(await fileStore(path).get("count")).toBe(String(round * 40));
    }
    expect(readdirSync(folder)).toEqual(["credentials.json"]);
  });

  test("never hold the same lock, however often it is taken over", async () => {
    const path = `${temporaryFolder()}/credentials.json`;
    // Each process fails if it finds another one in the lock.
    const codes = await Promise.all(Array.from({ length: 4 }, () => run(path, "play-dead", "400")));
    expect(codes).toEqual([0, 0, 0, 0]);
  });

  test("leave no lock behind when they exit during work", async () => {
    const folder = temporaryFolder();
    expect(await run(`${folder}/credentials.json`, "exit")).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("find the old file when one is killed before its rename", async () => {
    const folder = temporaryFolder();
    const path = `${folder}/credentials.json`;
    await fileStore(path).set("count", "1");
    const before = readFileSync(path, "utf8");
    expect(await run(path, "crash-in-rename")).toBe("SIGKILL");
    expect(readFileSync(path, "utf8")).toBe(before);
    const leftover = readdirSync(folder).find((name) => name.endsWith(".tmp"))!;
    expect(modeOf(`${folder}/${leftover}`)).toBe(0o600);
    expect(await fileStore(path).get("count")).toBe("1");

    // The temporary file contains secrets: a later write removes it, once no process can be about to rename it.
    utimesSync(`${folder}/${leftover}`, 1, 1);
    await fileStore(path).set("count", "2");
    expect(readdirSync(folder)).toEqual(["credentials.json"]);
  });

  test("do not show keys in the names of locks", async () => {
    const folder = temporaryFolder();
    await fileStore(`${folder}/credentials.json`).exclusive("https://idp.example/../ada", async () => {
      expect(readdirSync(folder)).toEqual([expect.stringMatching(/^credentials\.json\.[\da-f]{32}\.lock$/)]);
      expect(modeOf(join(folder, readdirSync(folder)[0]!))).toBe(0o600);
    });
  });
});

test("a file that was replaced by a link between two writes is refused", async () => {
  const folder = temporaryFolder();
  const path = `${folder}/credentials.json`;
  await fileStore(path).set("a", "1");
  renameSync(path, `${folder}/moved`);
  symlinkSync(`${folder}/moved`, path);
  await expect(fileStore(path).set("a", "2")).rejects.toThrow("got a symbolic link");
  expect(readFileSync(`${folder}/moved`, "utf8")).toContain('"1"');
});
