import { fileURLToPath } from "node:url";
import { RpcError } from "portolan";
import { type Client, type CommandTarget, type ConnectOptions, connect, type Progress } from "portolan/client";
import { createMemoryStorage } from "portolan/storage";
import { afterEach, describe, expect, test } from "vitest";
import { schemasMissing } from "../../kit/official-schema.ts";
import { createTap } from "../../kit/tap.ts";
import { textOf } from "./feature.ts";

/** A probe that nobody answers is given up after this; those who answer have all the time they need. */
const brief: ConnectOptions = { probeMs: 300 };

const tap = createTap("2025-11-25");
const opened: Client[] = [];
afterEach(async () => {
  for (const client of opened.splice(0)) await client.close();
});

interface Heard {
  readonly errors: string[];
  readonly stderr: string[];
}

function odd(name: string, ...args: string[]): CommandTarget {
  const script = fileURLToPath(new URL(`./odd/${name}.mjs`, import.meta.url));
  return { command: process.execPath, args: ["--import", tap.module("stdio"), script, ...args] };
}

async function open(target: CommandTarget, options: ConnectOptions = {}, heard: Heard = { errors: [], stderr: [] }) {
  const client = await connect(
    { ...target, onStderr: (line) => heard.stderr.push(line) },
    { onError: ({ message }) => heard.errors.push(message), ...options },
  );
  opened.push(client);
  return client;
}

/** Why a connection came to nothing; nothing of it is left behind. */
async function refusalOf(target: CommandTarget, options: ConnectOptions = {}): Promise<Error & { code?: unknown }> {
  const heard: Heard = { errors: [], stderr: [] };
  const outcome = await open(target, options, heard).catch((error: Error) => error);
  expect(outcome).toBeInstanceOf(Error);
  for (const pid of pidsIn(heard)) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  return outcome as Error;
}

function pidsIn({ stderr }: Heard): number[] {
  return stderr.flatMap((line) => (line.startsWith("pid ") ? [Number(line.slice(4))] : []));
}

/** What the server was sent, the call that asks for it left out. */
async function sentTo(client: Client): Promise<string> {
  return textOf(await client.callTool("anything")).replace(/ ?tools\/call$/, "");
}

const handshake = "server/discover initialize notifications/initialized";

describe("the probe", () => {
  test("a server that does not answer it is greeted after a while", async () => {
    const client = await open(odd("silent-to-probe"), brief);
    expect(client.server).toMatchObject({ era: "stateful", version: "2025-11-25", info: { name: "odd" } });
    expect(await sentTo(client)).toBe(handshake);
  });

  test("a server that exits on it is started again and greeted at once", async () => {
    const heard: Heard = { errors: [], stderr: [] };
    const client = await open(odd("exits-on-probe"), {}, heard);
    expect(client.server.era).toBe("stateful");
    expect(await sentTo(client)).toBe("initialize notifications/initialized");
    expect(new Set(pidsIn(heard)).size).toBe(2);
  });

  test.each(["result-then-refusal", "refusal-then-result", "result-then-silence"])(
    "an answer that comes late makes a server stateless that does not take the greeting: %s",
    async (order) => {
      const client = await open(odd("late-to-probe", order), brief);
      expect(client.server).toMatchObject({ era: "stateless", version: "2026-07-28", info: { name: "odd" } });
      expect(await sentTo(client)).toBe("server/discover initialize");
    },
  );

  test.each(["error-then-welcome", "result-then-welcome"])(
    "an answer that comes late changes nothing about a greeting that was taken: %s",
    async (order) => {
      const client = await open(odd("late-to-probe", order), brief);
      expect(client.server).toMatchObject({ era: "stateful", version: "2025-11-25" });
      expect(await sentTo(client)).toBe(handshake);
    },
  );

  test("an error that comes late leaves the refusal of the greeting as the reason", async () => {
    const reason = await refusalOf(odd("late-to-probe", "error-then-refusal"), brief);
    expect(reason.message).toContain("Only stateless");
  });

  test.each([
    "empty result",
    "versions that are no list",
    "method not found",
    "invalid params",
    "invalid request",
    "a code of its own",
    "an error without id",
    "no JSON",
    "an array",
    "a number",
    "neither result nor error",
    "the answer to another request",
  ])("a server that answers it with nonsense is greeted: %s", async (nonsense) => {
    const client = await open(odd("nonsense-to-probe", nonsense), brief);
    expect(client.server).toMatchObject({ era: "stateful", version: "2025-11-25" });
    expect(await sentTo(client)).toBe(handshake);
  });
});

describe("versions", () => {
  test("a server that offers versions of both eras, and not the one it was asked for, is greeted", async () => {
    const client = await open(odd("picky", "2099-01-01", "2025-03-26", "2025-06-18"));
    expect(client.server).toMatchObject({ era: "stateful", version: "2025-06-18" });
  });

  test("a server that refuses a version and offers it again is greeted with another", async () => {
    const client = await open(odd("picky", "2026-07-28", "2025-11-25"));
    expect(client.server).toMatchObject({ era: "stateful", version: "2025-11-25" });
    expect(await sentTo(client)).toBe(handshake);
  });

  test("a server that offers old versions only is greeted with the newest of them", async () => {
    const client = await open(odd("picky", "2024-11-05", "2025-03-26"));
    expect(client.server).toMatchObject({ era: "stateful", version: "2025-03-26" });
  });

  test("a server that offers nothing we speak is not connected to", async () => {
    const reason = await refusalOf(odd("picky", "2099-01-01", "2098-01-01"));
    expect(reason).toMatchObject({ code: "version-mismatch", message: expect.stringContaining("2099-01-01") });
  });

  test("a server that greets with an older version is spoken to in that", async () => {
    const client = await open(odd("other-version", "2024-11-05"));
    expect(client.server).toMatchObject({ era: "stateful", version: "2024-11-05" });
  });

  test("a server that greets with an unknown version is left, and it is said which", async () => {
    const reason = await refusalOf(odd("other-version", "2019-01-01"));
    expect(reason).toMatchObject({ code: "version-mismatch", message: expect.stringContaining("2019-01-01") });
  });

  test("a version that is insisted on is spoken, or the connection fails", async () => {
    const reason = await refusalOf(odd("other-version", "2024-11-05"), { era: "2025-06-18" });
    expect(reason).toMatchObject({ code: "version-mismatch" });
    expect(reason.message).toContain("2024-11-05");
    expect(reason.message).toContain("2025-06-18");
    const client = await open(odd("other-version", "2024-11-05"), { era: "2024-11-05" });
    expect(await sentTo(client)).toBe("initialize notifications/initialized");
  });

  test("an era that is insisted on is spoken, or the connection fails", async () => {
    const reason = await refusalOf(odd("nonsense-to-probe", "method not found"), { era: "stateless" });
    expect(reason).toMatchObject({ code: "version-mismatch", message: expect.stringContaining("stateless") });
  });
});

describe("servers that do not let us in", () => {
  test("the reason of a server that refuses is the reason", async () => {
    const reason = await refusalOf(odd("refuses-everybody"));
    expect(reason).toBeInstanceOf(RpcError);
    expect(reason).toMatchObject({ code: -32000, data: { since: "2020" } });
    expect(reason.message).toContain("The license has expired");
  });

  test.each(["auto", "stateless", "stateful", "2025-06-18"])(
    "a server that never answers is given up in time: %s",
    async (era) => {
      const reason = await refusalOf(odd("mute"), { era, probeMs: 100, connectMs: 600 });
      expect(reason).toMatchObject({ name: "TimeoutError", code: "timeout" });
    },
  );

  test("a server that dies at once is quoted", async () => {
    const reason = await refusalOf(odd("dies-at-start"));
    expect(reason).toMatchObject({ code: "connection-closed" });
    expect(reason.message).toContain("code 3");
    expect(reason.message).toContain("DATABASE_URL is not set");
  });

  test("a command that does not exist is named", async () => {
    const reason = await refusalOf({ command: "portolan-no-such-command" });
    expect(reason.message).toContain("portolan-no-such-command");
  });

  test("an attempt that is aborted ends with the server gone", async () => {
    const controller = new AbortController();
    const target = { ...odd("mute"), onStderr: () => controller.abort(new Error("enough")) };
    const attempt = connect(target, { signal: controller.signal });
    await expect(attempt).rejects.toMatchObject({ name: "AbortError", cause: { message: "enough" } });
  });
});

describe("servers that misbehave", () => {
  test("a banner on standard output is told of and does no harm", async () => {
    const heard: Heard = { errors: [], stderr: [] };
    const client = await open(odd("banner"), brief, heard);
    expect(await sentTo(client)).toBe(handshake);
    expect(heard.errors).toHaveLength(3);
  });

  test("requests before the greeting are answered; answers to nobody, or given twice, are dropped", async () => {
    const client = await open(odd("chatty"), brief);
    expect(textOf(await client.callTool("anything"))).toBe('"early" ok, 0 -32601');
    expect(textOf(await client.callTool("anything"))).toBe('"early" ok, 0 -32601');
  });

  test("a server that exits during a call fails it, and says why it is gone", async () => {
    const client = await open(odd("leaves-during-call"), brief);
    const calls = [client.callTool("anything"), client.callTool("anything else")];
    for (const call of calls) {
      await expect(call).rejects.toMatchObject({ code: "connection-closed", requestMayHaveRun: true });
      await expect(call).rejects.toThrow("code 70");
    }
    expect((await client.closed)?.message).toContain("out of cheese");
    await expect(client.callTool("anything")).rejects.toMatchObject({ code: "connection-closed" });
  });

  test("completion needs no capability where there is none", async () => {
    const client = await open(odd("other-version", "2024-11-05"));
    const completing = client.complete({ type: "ref/prompt", name: "greet" }, { name: "name", value: "a" });
    await expect(completing).resolves.toEqual({ values: ["Ada"] });
  });
});

describe("what is remembered of a server", () => {
  test("its era, so that it is not probed again", async () => {
    const { kv: verdicts } = createMemoryStorage();
    const target = odd("nonsense-to-probe", "method not found");
    expect(await sentTo(await open(target, { verdicts }))).toBe(handshake);
    expect(await sentTo(await open(target, { verdicts }))).toBe("initialize notifications/initialized");
  });

  test("nothing that follows from silence", async () => {
    const { kv: verdicts } = createMemoryStorage();
    for (let times = 0; times < 2; times += 1) {
      const client = await open(odd("silent-to-probe"), { ...brief, verdicts });
      expect(await sentTo(client)).toBe(handshake);
    }
  });

  test("nothing that turns out to be wrong", async () => {
    const { kv: verdicts } = createMemoryStorage();
    const options = { verdicts, verdictKey: "the server" };
    await open(odd("nonsense-to-probe", "method not found"), options);
    for (const sent of ["initialize server/discover", ""]) {
      const client = await open(odd("stateless-only"), options);
      expect(client.server.era).toBe("stateless");
      expect(await sentTo(client)).toBe(sent);
    }
  });
});

describe.each(["2025-11-25", "2026-07-28"])("progress and the result in one chunk, %s", (era) => {
  test.each([10, 10_000])("%i notifications are delivered in order, then the result", async (steps) => {
    const client = await open(odd("one-chunk"), { era });
    const seen: number[] = [];
    const onProgress = ({ progress }: Progress) => seen.push(progress);
    const result = await client.callTool("anything", { steps }, { onProgress });
    // Looked at before anything else can happen: all of it came before the result.
    expect(seen).toEqual(Array.from({ length: steps }, (_, index) => index + 1));
    expect(textOf(result)).toBe("done");
  });
});

test.skipIf(schemasMissing)("whatever was said to all these servers is valid", () => {
  tap.expectValid("client", 50);
});
