import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type ChannelEvents, PortolanError } from "portolan";
import { type CommandTarget, ProcessChannel } from "portolan/client/stdio";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { isAlive, livingIn, open, type Started, server, start as startServer, startTarget } from "./processes.ts";

const started: Started[] = [];

async function keep(starting: Promise<Started>): Promise<Started> {
  const it = await starting;
  started.push(it);
  return it;
}

const start = (habits?: readonly string[], target?: Partial<CommandTarget>) => keep(startServer(habits, target));
const startProgram = (target: CommandTarget) => keep(startTarget(target));

afterEach(async () => {
  await Promise.all(started.splice(0).map(({ link }) => link.close()));
});

describe("a running server process", () => {
  test("answers requests", async () => {
    const { call, link } = await start();
    expect(await call("echo", { text: "é\u2028" })).toEqual({ text: "é\u2028" });
    expect(await call("who")).toEqual({ pid: link.pid, grandchild: null });
  });

  test("receives many messages of one turn in order", async () => {
    const { call } = await start();
    const numbers = Array.from({ length: 500 }, (_, n) => ({ n }));
    expect(await Promise.all(numbers.map((number) => call("echo", number)))).toEqual(numbers);
  });

  test("may print lines before its first message, and a message inside such a line is ignored", async () => {
    const { call, invalid } = await start(["banner"]);
    expect(await call("echo", { real: true })).toEqual({ real: true });
    expect(invalid).toHaveLength(2);
    expect(invalid[0]).toContain("Welcome");
    expect(invalid[1]).toContain("not valid JSON");
  });

  test("continues after a line that is too long", async () => {
    const { call } = await start([], { maxMessageBytes: 10_000 });
    await expect(call("large", { length: 20_000 })).rejects.toMatchObject({
      code: "message-too-large",
      message: expect.stringContaining("message too large: over 10000 bytes; raise maxMessageBytes if that is right"),
    });
    expect(await call("large", { length: 5_000 })).toEqual({ text: "x".repeat(5_000) });
  });

  test("answers while it floods standard error, which is read without a listener", async () => {
    const { call, link } = await start();
    expect(await call("flood", { bytes: 10_000_000 })).toEqual({ bytes: 10_000_000 });
    await vi.waitFor(() => expect(link.stderr.length).toBeGreaterThan(200_000));
    expect(link.stderr.length).toBeLessThanOrEqual(256 * 1024);
  });

  test("sends messages of any size up to the limit, one after the other", async () => {
    const { call, invalid } = await start([], { maxMessageBytes: 9_000_000 });
    for (const length of [1_000_000, 1_048_576, 5_000_000, 10, 8_000_000, 2_000_000]) {
      const { text } = await call("large", { length });
      expect(text === "x".repeat(length)).toBe(true);
    }
    await expect(call("large", { length: 9_000_000 })).rejects.toThrow("message too large: over 9000000 bytes");
    expect(await call("echo", { text: "still here" })).toEqual({ text: "still here" });
    expect(invalid).toEqual([]);
  });

  test("reports standard error line by line, even if the listener throws", async () => {
    const lines: string[] = [];
    const onStderr = (line: string) => {
      lines.push(line);
      throw new Error("listener failure");
    };
    const { lost } = await start(["fail"], { onStderr });
    await lost;
    expect(lines).toEqual(["starting with undefined", "Error: no database"]);
  });

  test("receives the basic environment variables and those set for it, and no others", async () => {
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
    vi.stubEnv("NODE_OPTIONS", "--no-warnings");
    vi.stubEnv("LC_TIME", "C");
    const { call } = await start([], { env: { MINE: "1", TZ: "UTC" } });
    const environment = await call("env");
    vi.unstubAllEnvs();
    expect(environment).toMatchObject({ PATH: process.env["PATH"], LC_TIME: "C", MINE: "1", TZ: "UTC" });
    const allowed = /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LC_\w+|TZ|TMPDIR|MINE)$/;
    expect(Object.keys(environment).filter((name) => !allowed.test(name))).toEqual([]);
  });

  test("receives its arguments unchanged, without a shell", async () => {
    const source = `console.log(JSON.stringify({ jsonrpc: "2.0", method: "args", params: { args: process.argv.slice(1) } }))`;
    const args = ["$(id)", "`id`", "a b", '"', "&", "", "*"];
    const { notifications, lost } = await startProgram({
      command: process.execPath,
      args: ["-e", source, "--", ...args],
    });
    await lost;
    expect(notifications[0]?.params).toEqual({ args });
  });

  test("runs in the given directory", async () => {
    const source = `console.log(JSON.stringify({ jsonrpc: "2.0", method: process.cwd() }))`;
    const { notifications, lost } = await startProgram({ command: process.execPath, args: ["-e", source], cwd: "/" });
    await lost;
    expect(notifications[0]?.method).toBe("/");
  });
});

describe("a server process that ends", () => {
  test("rejects pending calls with the exit code and its last line of standard error", async () => {
    const { call, lost } = await start();
    const waiting = [call("stall"), call("leave", { code: 7 })].map((promise) => promise.catch((error) => error));
    const reason = await lost;
    expect(reason).toBeInstanceOf(PortolanError);
    expect(reason).toMatchObject({ code: "connection-closed" });
    expect(reason.message).toMatch(/^The server ".*process-server.mjs" exited with code 7: Error: leaving now$/);
    expect(await Promise.all(waiting)).toEqual([reason, reason]);
  });

  test("before the first request, reports the reason without secret variables", async () => {
    const { lost, link } = await start(["fail"], { env: { PASSPHRASE: "open sesame" } });
    expect((await lost).message).toMatch(
      /exited with code 3: Error: no database \(its first line: starting with \*\*\*\)$/,
    );
    expect(link.stderr).toBe("starting with open sesame\nError: no database\n");
  });

  test("reports the signal that ended it", async () => {
    const { call, lost } = await start();
    await expect(call("die", { signal: "SIGKILL" })).rejects.toThrow(/was ended by SIGKILL$/);
    expect((await lost).message).toContain("was ended by SIGKILL");
  });

  test("delivers every message it wrote", async () => {
    const { call, notifications } = await start();
    await expect(call("leave", { code: 0, answers: 5_000 })).rejects.toThrow("exited with code 0");
    expect(notifications.at(-1)).toMatchObject({ params: { id: 5_000 } });
    expect(notifications).toHaveLength(5_000);
  });

  test("counts as ended although a grandchild holds its standard output, and the grandchild is ended too", async () => {
    const { call, lost, link } = await start(["grandchild"]);
    const { grandchild } = await call("who");
    await expect(call("leave", { code: 1 })).rejects.toThrow("exited with code 1: Error: leaving now");
    await lost;
    await link.close();
    await vi.waitFor(() => expect(isAlive(grandchild as number)).toBe(false));
  });

  test("is shut down when it closes its standard output", async () => {
    const { call, link } = await start(["stubborn"]);
    await expect(call("close-stdout")).rejects.toThrow(/closed its standard output$/);
    await link.close();
    expect(isAlive(link.pid!)).toBe(false);
  });

  test("is shut down when it closes its standard input", async () => {
    const { call, lost, link } = await start(["stubborn"]);
    call("close-stdin").catch(() => {});
    await expect(call("echo", { text: "x".repeat(1_000_000) })).rejects.toThrow(/closed its standard input$/);
    await lost;
    await link.close();
    expect(isAlive(link.pid!)).toBe(false);
  });

  test("is started again when the link is reopened", async () => {
    const { call, lost, link } = await start();
    const first = link.pid;
    await expect(call("leave", { code: 1 })).rejects.toThrow("exited with code 1");
    await lost;
    const again = await open(link);
    expect(await again.call("who")).toMatchObject({ pid: link.pid });
    expect(link.pid).not.toBe(first);
    expect(link.stderr).toBe("");
    await expect(open(link)).rejects.toThrow("the link is already open");
    expect(await again.call("echo")).toEqual({});
  });
});

describe("a server that cannot be started", () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-"));
  const file = (name: string, mode: number, text: string) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), mode);
    return join(folder, name);
  };

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("reports the reason and the remedy", async () => {
    const reasons = async (target: CommandTarget) => (await (await startTarget(target)).lost).message;
    const plain = file("plain", 0o644, "");
    const orphaned = file("orphaned", 0o755, "#!/no/such/interpreter\n");
    expect(await reasons({ command: "no-such-program", args: ["--token", "t0ken"] })).toBe(
      'The server "no-such-program --token ***" could not be started: ' +
        "there is no program no-such-program on the PATH; install it, or give its path",
    );
    expect(await reasons({ command: plain })).toContain(`${plain} is not executable; make it executable`);
    expect(await reasons({ command: orphaned })).toContain(
      `the program in the first line of ${orphaned} does not exist`,
    );
    expect(await reasons({ command: "sh", cwd: join(folder, "none") })).toContain("does not exist");
    expect(await reasons({ command: "sh", args: ["a\0b"] })).toContain("ERR_INVALID_ARG_VALUE");
  });

  test("can be closed, and reports the end once", async () => {
    for (const command of ["no-such-program", "no\0program"]) {
      const closed = vi.fn();
      const channel = new ProcessChannel({ command });
      channel.open({ message() {}, batch() {}, unreadable() {}, closed });
      expect(closed).not.toHaveBeenCalled();
      await channel.close();
      await channel.close();
      expect(closed.mock.calls).toEqual([[undefined]]);
      expect(() => channel.open({} as ChannelEvents)).toThrow("a channel can be opened only once");
    }
  });
});

describe("closing a link to a process", () => {
  test("lets a server exit when its input ends", async () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-"));
    const source = `process.stdin.resume().on("end", () => require("fs").writeFileSync("left", "in peace"))`;
    const { link, lost } = await startProgram({ command: process.execPath, args: ["-e", source], cwd: folder });
    await link.close();
    expect((await lost).message).not.toContain("exited");
    expect(readdirSync(folder)).toEqual(["left"]);
    rmSync(folder, { recursive: true });
  });

  test("first delivers all messages that were sent", async () => {
    const source = `let n = 0; process.stdin.on("data", (d) => (n += d.length)).on("end", () => console.error(n))`;
    const channel = new ProcessChannel({ command: process.execPath, args: ["-e", source] });
    channel.open({ message() {}, batch() {}, unreadable() {}, closed() {} });
    const message = { jsonrpc: "2.0", method: "text", params: { text: "x".repeat(1_000_000) } } as const;
    channel.send(message);
    channel.send(message);
    await channel.close();
    expect(channel.stderr).toBe(`${2 * (JSON.stringify(message).length + 1)}\n`);
  });

  test("ends a server that ignores the end of its input and SIGTERM, and its grandchild", async () => {
    const { call, link } = await start(["stubborn", "grandchild"]);
    const { grandchild } = await call("who");
    await Promise.all([link.close(), link.close()]);
    expect(isAlive(link.pid!)).toBe(false);
    await vi.waitFor(() => expect(isAlive(grandchild as number)).toBe(false));
    await link.close();
  });

  test("ends the grandchild of a server that has exited", async () => {
    const { call, link } = await start(["grandchild"]);
    const { grandchild } = await call("who");
    await link.close();
    await vi.waitFor(() => expect(isAlive(grandchild as number)).toBe(false));
  });

  test("does not wait for a grandchild that left the process group and holds the pipes", async () => {
    const { call, link } = await start(["escaping"]);
    const grandchild = (await call("who"))["grandchild"] as number;
    await link.close();
    expect(isAlive(link.pid!)).toBe(false);
    expect(isAlive(grandchild)).toBe(true);
    process.kill(-grandchild, "SIGKILL");
  });

  test("rejects pending calls at once, and delivers nothing afterwards", async () => {
    const { call, link, notifications } = await start(["stubborn"], { graceMs: 5_000 });
    await call("echo");
    const waiting = call("stall").catch((error) => error);
    const leaving = call("leave", { code: 0, answers: 10 }).catch((error) => error);
    const closing = link.close();
    expect(await waiting).toMatchObject({ code: "connection-closed" });
    expect(await leaving).toMatchObject({ code: "connection-closed" });
    process.kill(link.pid!, "SIGKILL");
    await closing;
    expect(notifications).toEqual([]);
  });

  test("prevents a pending reopen", async () => {
    const { call, lost, link } = await start(["stubborn"]);
    call("close-stdout").catch(() => {});
    await lost;
    const opening = open(link);
    await Promise.all([expect(opening).rejects.toThrow("closed before it was open"), link.close()]);
    expect(isAlive(link.pid!)).toBe(false);
  });
});

test("sending waits while the server does not read, and ends with the server", async () => {
  const { call, link } = await start(["stubborn"]);
  await call("echo");
  const channel = new ProcessChannel({ command: process.execPath, args: [server, "stubborn"], graceMs: 20 });
  channel.open({ message() {}, batch() {}, unreadable() {}, closed() {} });
  const notify = (method: string, text = "") =>
    channel.send({ jsonrpc: "2.0", method, params: { text } } as const) as Promise<void> | undefined;
  expect(notify("stall")).toBeUndefined();
  let waiting: Promise<void> | undefined;
  await vi.waitFor(() => {
    waiting = notify("echo", "x".repeat(1_000_000));
    expect(waiting).toBeInstanceOf(Promise);
  });
  await channel.close();
  await waiting;
  expect(notify("echo")).toBeUndefined();
  expect(isAlive(link.pid!)).toBe(true);
});

test("a program that exits ends its servers and their grandchildren", async () => {
  const program = fileURLToPath(new URL("./fixtures/exit-without-close.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, server]);
  const { pids, listeners } = JSON.parse(stdout) as { pids: number[]; listeners: number };
  expect(pids).toHaveLength(3);
  expect(listeners).toBe(1);
  await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), { timeout: 10_000 });
});

test.skipIf(process.platform !== "linux")(
  "ending 200 stubborn servers leaks no processes, descriptors or listeners",
  async () => {
    const soak = fileURLToPath(new URL("./fixtures/soak.mjs", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [soak, server]);
    const { groups, before, after } = JSON.parse(stdout) as { groups: number[]; before: object; after: object };
    expect(groups.length).toBeGreaterThan(190);
    expect(after).toEqual(before);
    await vi.waitFor(() => expect(livingIn(new Set(groups))).toEqual([]), { timeout: 10_000 });
  },
);
