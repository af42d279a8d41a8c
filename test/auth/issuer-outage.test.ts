import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { exportPKCS8, generateKeyPair } from "jose";
import { type IssuerFailure, protect } from "portolan/auth/server";
import { expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../kit/free-port.ts";

const resource = "https://mcp.example.com/mcp";
const minuteMs = 60_000;

/** An issuer in a process of its own, and a server that accepts its tokens by a clock of the test. */
async function startIssuer() {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  const pem = await exportPKCS8(privateKey);
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  let token = "";
  const start = async () => {
    const file = fileURLToPath(new URL("./issuer-process.mjs", import.meta.url));
    const started = spawn(process.execPath, [file, String(port), resource, pem], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    child = started;
    const [line] = (await once(started.stdout!.setEncoding("utf8"), "data")) as [string];
    token ||= line.trim();
  };
  const stop = async () => {
    const exited = once(child!, "exit");
    child!.kill("SIGKILL");
    await exited;
  };
  await start();
  onTestFinished(stop);
  let time = Date.now();
  const reports: IssuerFailure[] = [];
  const access = protect({
    resource,
    issuers: [{ issuer, jwksUri: `${issuer}/keys` }],
    now: () => time,
    onError: (_, about) => void reports.push(about),
  });
  const header = (name: string) => (name === "authorization" ? `Bearer ${token}` : undefined);
  const verify = async () => {
    const result = await access.verify({ method: "POST", path: "/mcp", header });
    return "key" in result ? "accepted" : result.status;
  };
  const pass = (ms: number) => {
    time += ms;
  };
  return { issuer, verify, pass, reports, start, stop, signal: (name: NodeJS.Signals) => child!.kill(name) };
}

/** Waits until the failure in the background is reported. */
const reported = (reports: readonly unknown[], count: number) =>
  vi.waitFor(() => expect(reports).toHaveLength(count), 20_000);

test("tokens are verified with the known keys for an hour while the issuer is stopped, and it is reported once", async () => {
  const { issuer, verify, pass, reports, start, stop } = await startIssuer();
  expect(await verify()).toBe("accepted");
  await stop();
  pass(11 * minuteMs);
  for (let request = 0; request < 20; request += 1) expect(await verify()).toBe("accepted");
  await reported(reports, 1);
  expect(reports).toEqual([{ issuer, remainingMs: 49 * minuteMs, count: 1 }]);
  pass(48 * minuteMs);
  expect(await verify()).toBe("accepted");
  pass(2 * minuteMs);
  expect(await verify()).toBe(503);
  // A failure that locks callers out is a report of its own.
  expect(reports.at(-1)).toEqual({ issuer, count: 1 });
  await start();
  pass(6_000);
  expect(await verify()).toBe("accepted");
});

test("no request waits for an issuer that hangs while its keys are known", async () => {
  const { verify, pass, reports, signal } = await startIssuer();
  expect(await verify()).toBe("accepted");
  signal("SIGSTOP");
  pass(11 * minuteMs);
  const results = await Promise.all(Array.from({ length: 20 }, verify));
  expect(new Set(results)).toEqual(new Set(["accepted"]));
  // All of them were answered while the fetch of the keys still hung.
  expect(reports).toEqual([]);
  await reported(reports, 1);
  signal("SIGCONT");
  pass(6_000);
  expect(await verify()).toBe("accepted");
});

test("one request at a time waits for an issuer that hangs after its keys have become too old", async () => {
  const { verify, pass, signal } = await startIssuer();
  expect(await verify()).toBe("accepted");
  signal("SIGSTOP");
  pass(61 * minuteMs);
  expect(await verify()).toBe(503);
  pass(6_000);
  let isWaiting = true;
  const first = verify().finally(() => {
    isWaiting = false;
  });
  const others = await Promise.all(Array.from({ length: 20 }, verify));
  expect([isWaiting, new Set(others)]).toEqual([true, new Set([503])]);
  signal("SIGCONT");
  expect(await first).toBe("accepted");
});
