import { fileURLToPath } from "node:url";
import { RpcError } from "portolan";
import { type Client, type CommandTarget, type ConnectOptions, connect, type Progress } from "portolan/client";
import { createMemoryStorage } from "portolan/storage";
import { afterEach, describe, expect, test } from "vitest";
import { schemasMissing } from "../../kit/official-schema.ts";
import { createTap } from "../../kit/tap.ts";
import { textOf } from "./feature.ts";

/** Shortens the wait for servers that do not answer the probe. */
const shortProbe: ConnectOptions = { probeMs: 300 };

const tap = createTap("2025-11-25");
const opened: Client[] = [];
afterEach(async () => {
  for (const client of opened.splice(0)) await client.close();
});

interface Output {
  readonly errors: string[];
  readonly stderr: string[];
}

function faulty(name: string, ...args: string[]): CommandTarget {
  const script = fileURLToPath(new URL(`./faulty/${name}.mjs`, import.meta.url));
  return { command: process.execPath, args: ["--import", tap.module("stdio"), script, ...args] };
}

async function open(target: CommandTarget, options: ConnectOptions = {}, output: Output = { errors: [], stderr: [] }) {
  const client = await connect(
    { ...target, onStderr: (line) => output.stderr.push(line) },
    { onError: ({ message }) => output.errors.push(message), ...options },
  );
  opened.push(client);
  return client;
}

/** Returns why a connection failed, and checks that no process of it remains. */
async function refusalOf(target: CommandTarget, options: ConnectOptions = {}): Promise<Error & { code?: unknown }> {
  const output: Output = { errors: [], stderr: [] };
  const outcome = await open(target, options, output).catch((error: Error) => error);
  expect(outcome).toBeInstanceOf(Error);
  for (const pid of pidsIn(output)) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  return outcome as Error;
}

function pidsIn({ stderr }: Output): number[] {
  return stderr.flatMap((line) => (line.startsWith("pid ") ? [Number(line.slice(4))] : []));
}

/** Returns the methods that the server received, without the call that asks for them. */
async function sentTo(client: Client): Promise<string> {
  return textOf(await client.callTool("anything")).replace(/ ?tools\/call$/, "");
}

const handshake = "server/discover initialize notifications/initialized";

describe("the probe", () => {
  test("without an answer is followed by initialize after the timeout", async () => {
    const client = await open(faulty("silent-to-probe"), shortProbe);
    expect(client.server).toMatchObject({ era: "stateful", version: "2025-11-25", info: { name: "odd" } });
    expect(await sentTo(client)).toBe(handshake);
  });

  test("that makes the server exit is followed by a restart and initialize", async () => {
    const output: Output = { errors: [], stderr: [] };
    const client = await open(faulty("exits-on-probe"), {}, output);
    expect(client.server.era).toBe("stateful");
    expect(await sentTo(client)).toBe("initialize notifications/initialized");
    expect(new Set(pidsIn(output)).size).toBe(2);
  });

  test.each(["result-then-refusal", "refusal-then-result", "result-then-silence"])(
    "with a late result makes a server stateless that does not accept initialize: %s",
    async (order) => {
      const client = await open(faulty("late-to-probe", order), shortProbe);
      expect(client.server).toMatchObject({ era: "stateless", version: "2026-07-28", info: { name: "odd" } });
      expect(await sentTo(client)).toBe("server/discover initialize");
    },
  );

  test.each(["error-then-welcome", "result-then-welcome"])(
    "with a late answer does not change an accepted initialize: %s",
    async (order) => {
      const client = await open(faulty("late-to-probe", order), shortProbe);
      expect(client.server).toMatchObject({ era: "stateful", version: "2025-11-25" });
      expect(await sentTo(client)).toBe(handshake);
    },
  );

  test("with a late error leaves the refusal of initialize as the reason", async () => {
    const reason = await refusalOf(faulty("late-to-probe", "error-then-refusal"), shortProbe);
    expect(reason.message).toContain("Only stateless");
  });

  test.each([
    "empty result",
    "versions that are not a list",
    "method not found",
    "invalid params",
    "invalid request",
    "an unknown error code",
    "an error without id",
    "invalid JSON",
    "an array",
    "a number",
    "neither result nor error",
    "the response to another request",
  ])("with an invalid answer is followed by initialize: %s", async (nonsense) => {
    const client = await open(faulty("nonsense-to-probe", nonsense), shortProbe);
    expect(client.server).toMatchObject({ era: "stateful", version: "2025-11-25" });
    expect(await sentTo(client)).toBe(handshake);
  });
});

describe("versions", () => {
  test("initialize is used for a server that refuses the probe's version and offers stateful ones", async () => {
    const client = await open(faulty("picky", "2099-01-01", "2025-03-26", "2025-06-18"));
    expect(client.server).toMatchObject({ era: "stateful", version: "2025-06-18" });
  });

  test("initialize is used for a server that refuses a version and offers the same one", async () => {
    const client = await open(faulty("picky", "2026-07-28", "2025-11-25"));
    expect(client.server).toMatchObject({ era: "stateful", version: "2025-11-25" });
    expect(await sentTo(client)).toBe(handshake);
  });

  test("initialize has the newest of the stateful versions that the server offers", async () => {
    const client = await open(faulty("picky", "2024-11-05", "2025-03-26"));
    expect(client.server).toMatchObject({ era: "stateful", version: "2025-03-26" });
  });

  test("connect fails for a server that offers only unknown versions", async () => {
    const reason = await refusalOf(faulty("picky", "2099-01-01", "2098-01-01"));
    expect(reason).toMatchObject({ code: "version-mismatch", message: expect.stringContaining("2099-01-01") });
  });

  test("the client uses the older version that the server chooses in initialize", async () => {
    const client = await open(faulty("other-version", "2024-11-05"));
    expect(client.server).toMatchObject({ era: "stateful", version: "2024-11-05" });
  });

  test("connect fails and names the version when the server chooses an unknown one", async () => {
    const reason = await refusalOf(faulty("other-version", "2019-01-01"));
    expect(reason).toMatchObject({ code: "version-mismatch", message: expect.stringContaining("2019-01-01") });
  });

  test("connect with a fixed version uses it or fails", async () => {
    const reason = await refusalOf(faulty("other-version", "2024-11-05"), { era: "2025-06-18" });
    expect(reason).toMatchObject({ code: "version-mismatch" });
    expect(reason.message).toContain("2024-11-05");
    expect(reason.message).toContain("2025-06-18");
    const client = await open(faulty("other-version", "2024-11-05"), { era: "2024-11-05" });
    expect(await sentTo(client)).toBe("initialize notifications/initialized");
  });

  test("connect with a fixed era fails for a server of the other era", async () => {
    const reason = await refusalOf(faulty("nonsense-to-probe", "method not found"), { era: "stateless" });
    expect(reason).toMatchObject({ code: "version-mismatch", message: expect.stringContaining("stateless") });
  });
});

test("a bridge that begins its session with the probe is started again, and gets the handshake first", async () => {
  const output: Output = { errors: [], stderr: [] };
  const client = await open(faulty("begins-on-probe"), {}, output);
  expect(await sentTo(client)).toBe("initialize notifications/initialized");
  expect(pidsIn(output)).toHaveLength(2);
  expect(output.errors).toEqual([]);
});

describe("connect fails", () => {
  test("with the error of a server that refuses initialize, after a second attempt in a new process", async () => {
    const stderr: string[] = [];
    await expect(open(faulty("refuses-everybody"), {}, { errors: [], stderr })).rejects.toThrow("license has expired");
    expect(pidsIn({ errors: [], stderr })).toHaveLength(2);
    const reason = await refusalOf(faulty("refuses-everybody"));
    expect(reason).toBeInstanceOf(RpcError);
    expect(reason).toMatchObject({ code: -32000, data: { since: "2020" } });
    expect(reason.message).toContain("The license has expired");
  });

  test.each(["auto", "stateless", "stateful", "2025-06-18"])(
    "with a timeout for a server that never answers: %s",
    async (era) => {
      const reason = await refusalOf(faulty("mute"), { era, probeMs: 100, connectMs: 600 });
      expect(reason).toMatchObject({ name: "TimeoutError", code: "timeout" });
    },
  );

  test("with the exit code and stderr of a server that exits at start", async () => {
    const reason = await refusalOf(faulty("dies-at-start"));
    expect(reason).toMatchObject({ code: "connection-closed" });
    expect(reason.message).toContain("code 3");
    expect(reason.message).toContain("DATABASE_URL is not set");
  });

  test("with the name of a command that does not exist", async () => {
    const reason = await refusalOf({ command: "portolan-no-such-command" });
    expect(reason.message).toContain("portolan-no-such-command");
  });

  test("with AbortError when its signal aborts", async () => {
    const controller = new AbortController();
    const target = { ...faulty("mute"), onStderr: () => controller.abort(new Error("enough")) };
    const attempt = connect(target, { signal: controller.signal });
    await expect(attempt).rejects.toMatchObject({ name: "AbortError", cause: { message: "enough" } });
  });
});

describe("servers with faults", () => {
  test("lines on standard output that are not messages are reported and ignored", async () => {
    const output: Output = { errors: [], stderr: [] };
    const client = await open(faulty("banner"), shortProbe, output);
    expect(await sentTo(client)).toBe(handshake);
    expect(output.errors).toHaveLength(3);
  });

  test("requests before the initialize result are answered; unknown and duplicate responses are ignored", async () => {
    const client = await open(faulty("chatty"), shortProbe);
    expect(textOf(await client.callTool("anything"))).toBe('"early" ok, 0 -32601');
    expect(textOf(await client.callTool("anything"))).toBe('"early" ok, 0 -32601');
  });

  test("calls fail with the exit code when the server exits, and closed has the stderr output", async () => {
    const client = await open(faulty("leaves-during-call"), shortProbe);
    const calls = [client.callTool("anything"), client.callTool("anything else")];
    for (const call of calls) {
      await expect(call).rejects.toMatchObject({ code: "connection-closed", requestMayHaveRun: true });
      await expect(call).rejects.toThrow("code 70");
    }
    expect((await client.closed)?.message).toContain("out of cheese");
    await expect(client.callTool("anything")).rejects.toMatchObject({ code: "connection-closed" });
  });

  test("completion needs no capability on 2024-11-05, which has none", async () => {
    const client = await open(faulty("other-version", "2024-11-05"));
    const completing = client.complete({ type: "ref/prompt", name: "greet" }, { name: "name", value: "a" });
    await expect(completing).resolves.toEqual({ values: ["Ada"] });
  });
});

describe("the verdict store", () => {
  test("keeps the era of a server, so that it is not probed again", async () => {
    const { kv: eraCache } = createMemoryStorage();
    const target = faulty("nonsense-to-probe", "method not found");
    expect(await sentTo(await open(target, { eraCache }))).toBe(handshake);
    expect(await sentTo(await open(target, { eraCache }))).toBe("initialize notifications/initialized");
  });

  test("keeps nothing for a server that did not answer the probe", async () => {
    const { kv: eraCache } = createMemoryStorage();
    for (let times = 0; times < 2; times += 1) {
      const client = await open(faulty("silent-to-probe"), { ...shortProbe, eraCache });
      expect(await sentTo(client)).toBe(handshake);
    }
  });

  test("replaces an era that turns out to be wrong", async () => {
    const { kv: eraCache } = createMemoryStorage();
    const options = { eraCache, eraCacheKey: "the server" };
    await open(faulty("nonsense-to-probe", "method not found"), options);
    for (const sent of ["initialize server/discover", ""]) {
      const client = await open(faulty("stateless-only"), options);
      expect(client.server.era).toBe("stateless");
      expect(await sentTo(client)).toBe(sent);
    }
  });
});

describe.each(["2025-11-25", "2026-07-28"])("progress and the result in one chunk, %s", (era) => {
  test.each([10, 10_000])("%i notifications are delivered in order, then the result", async (steps) => {
    const client = await open(faulty("one-chunk"), { era });
    const seen: number[] = [];
    const onProgress = ({ progress }: Progress) => seen.push(progress);
    const result = await client.callTool("anything", { steps }, { onProgress });
    // Checked at once: all progress was delivered before the result.
    expect(seen).toEqual(Array.from({ length: steps }, (_, index) => index + 1));
    expect(textOf(result)).toBe("done");
  });
});

test.skipIf(schemasMissing)("all messages to these servers are valid", () => {
  tap.expectValid("client", 50);
});
