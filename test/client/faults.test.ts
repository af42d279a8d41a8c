import { type Channel, createMemoryPair, PortolanError, RpcError } from "portolan";
import { type Client, connect } from "portolan/client";
import { createServer, serveChannel, ToolError } from "portolan/server";
import {
  type ChannelFaults,
  createBytesPair,
  createClock,
  faultyChannel,
  type ManualClock,
  recordChannel,
  seededRandom,
} from "portolan/testing";
import { beforeAll, describe, expect, test } from "vitest";

const seedsPerTest = 500;

/** More than the sum of all time limits below. */
const patienceMs = 120_000;
const limits = { idleMs: 2_000, totalMs: 8_000, connectMs: 6_000, probeMs: 1_000 };

/** The clock of the current run; runs never overlap. */
let clock: ManualClock = createClock();

const server = createServer({ name: "faults", version: "1.0.0" })
  .tool("echo", {
    input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    run: ({ text }) => String(text),
  })
  .tool("work", {
    async run(_, ctx) {
      for (let step = 1; step <= 3; step += 1) {
        await pause(400, ctx.signal);
        ctx.progress(step, 3);
      }
      return "worked";
    },
  })
  .tool("ask", { run: async (_, ctx) => ((await ctx.confirm("sure", "Sure?")) ? "sure" : "not sure") })
  .tool("fail", {
    run() {
      throw new ToolError("No such thing");
    },
  })
  .resource("note://one", { name: "one", subscribe: true, read: () => "The note" });

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = clock.after(ms, resolve);
    signal.addEventListener("abort", () => {
      stop();
      reject(signal.reason);
    });
  });
}

/** The faults of a run. Every random choice is drawn here, in this order, so a seed reproduces its run. */
function planOf(seed: number) {
  const random = seededRandom(seed);
  const chance = (most: number) => (random() < 0.4 ? random() * most : 0);
  const count = (odds: number, most: number) => (random() < odds ? Math.floor(random() * most) : undefined);
  const faults = (): ChannelFaults => {
    const cutAfter = count(0.15, 25);
    const stopSendingAfter = count(0.1, 15);
    const stopReceivingAfter = count(0.1, 15);
    return {
      seed: Math.floor(random() * 2 ** 32),
      drop: chance(0.3),
      duplicate: chance(0.3),
      reorder: chance(0.4),
      delay: chance(0.5),
      maxDelayMs: 1_500,
      truncate: chance(0.2),
      garbage: chance(0.3),
      ...(cutAfter !== undefined && { cutAfter }),
      ...(stopSendingAfter !== undefined && { stopSendingAfter }),
      ...(stopReceivingAfter !== undefined && { stopReceivingAfter }),
    };
  };
  return {
    near: faults(),
    far: faults(),
    isBytes: random() < 0.3,
    abortAtMs: count(0.5, 3_000),
    closeAtMs: count(0.2, 6_000),
  };
}

/** The end of a call: its result, or the reason of its failure. */
interface CallEnd {
  readonly what: string;
  readonly value?: unknown;
  readonly reason?: unknown;
}

/** Makes every kind of call at once. */
function callAll(client: Client, signal: AbortSignal): Promise<CallEnd>[] {
  const text = "naïve 日本語 🗺️";
  const calls: { [what: string]: Promise<unknown> } = {
    echo: client.callTool("echo", { text }).then(textOf),
    work: client.callTool("work", {}, { onProgress() {} }).then(textOf),
    ask: client.callTool("ask").then(textOf),
    fail: client.callTool("fail").then(textOf),
    aborted: client.callTool("work", {}, { signal }).then(textOf),
    list: client.listTools().then((tools) => tools.map(({ name }) => name)),
    read: client.readResource("note://one").then(({ contents }) => contents[0]),
    ping: client.ping(),
    watch: client.watch({ uris: ["note://one"] }, { signal }).then((watch) => watch.close()),
  };
  return Object.entries(calls).map(([what, call]) => toEnd(what, call));
}

const textOf = ({ content }: { content: { type: string; text?: unknown }[] }) => content[0]?.text;

const results: { [what: string]: unknown } = {
  echo: "naïve 日本語 🗺️",
  work: "worked",
  ask: "sure",
  fail: "No such thing",
  aborted: "worked",
  list: ["ask", "echo", "fail", "work"],
  read: { uri: "note://one", text: "The note" },
};

function toEnd(what: string, call: Promise<unknown>): Promise<CallEnd> {
  return call.then(
    (value) => ({ what, value }),
    (reason) => ({ what, reason }),
  );
}

/** Advances the clock until a promise has settled; throws if it is still pending after `patience`. */
async function settled<T>(what: string, promise: Promise<T>, patience = patienceMs): Promise<T> {
  let isSettled = false;
  const end = () => {
    isSettled = true;
  };
  promise.then(end, end);
  const until = clock.now() + patience;
  await clock.advance(0);
  while (!isSettled) {
    if (clock.now() > until) throw new Error(`${what} hangs`);
    await clock.advance(250);
  }
  return promise;
}

/** The messages that each kind of failure may have. */
const reasons: { [code: string]: RegExp } = {
  timeout:
    /no progress for 2000 ms|no result for 8000 ms|did not answer within 6000 ms|answers neither|did not acknowledge .* within 2000 ms/,
  cancelled: /was aborted/,
  "connection-closed": /The connection was cut after \d+ messages|closed/,
  "version-mismatch": /The server does not support \S+: .+/,
  "answer-invalid": /The server's response is invalid: .+|invalid: .+/,
};

/** Returns the kind of a call's end; throws when no fault explains the end. */
function classify({ what, value, reason }: CallEnd): string {
  if (reason === undefined) {
    if (what in results) expect(value, what).toMatchObject(results[what] as object);
    return "result";
  }
  expect(reason, what).toBeInstanceOf(Error);
  const { message, code } = reason as RpcError | PortolanError;
  if (reason instanceof RpcError) {
    expect(message, what).not.toBe("");
    return "rpc-error";
  }
  expect(reason, `${what}: ${message}`).toBeInstanceOf(PortolanError);
  expect(message, `${what}, ${code}`).toMatch(reasons[code] ?? /^$/);
  return String(code);
}

async function run(seed: number, era: string): Promise<string[]> {
  clock = createClock();
  const plan = planOf(seed);
  const [nearEnd, farEnd] = plan.isBytes ? createBytesPair({ seed }) : createMemoryPair({ serialize: true });
  const wrap = (channel: Channel, faults: ChannelFaults) => faultyChannel(channel, { ...faults, clock });
  const near = wrap(nearEnd, plan.near);
  const far = wrap(farEnd, plan.far);
  const [recorded, transcript] = recordChannel(near);
  try {
    const serving = serveChannel(server, far);
    const answers = { elicit: () => ({ action: "accept" as const, content: {} }) };
    const connecting = connect(recorded, { era, clock, answers, ...limits });
    const [connected] = await settled("connect", Promise.allSettled([connecting]));
    const ends = connected.status === "fulfilled" ? await talk(connected.value, plan) : [];
    await settled("serving.close", serving.close());
    // Remaining timers end by themselves: nothing retries for ever.
    await clock.advance(patienceMs);
    expect(clock.pending, "pending timers").toBe(0);
    if (connected.status === "rejected") return [classify({ what: "connect", reason: connected.reason })];
    return ends.map(classify);
  } catch (cause) {
    const injected = [...near.injected, "at the server:", ...far.injected].join("\n");
    throw new Error(`seed ${seed} on ${era}: ${cause}\n\n${transcript.brief()}\n\nfaults:\n${injected}`, { cause });
  }
}

async function talk(client: Client, { abortAtMs, closeAtMs }: ReturnType<typeof planOf>): Promise<CallEnd[]> {
  const controller = new AbortController();
  const stops = [
    abortAtMs === undefined ? () => {} : clock.after(abortAtMs, () => controller.abort()),
    closeAtMs === undefined ? () => {} : clock.after(closeAtMs, () => client.close()),
  ];
  const calls = callAll(client, controller.signal);
  const settledOnce = await settled("a call", Promise.all(calls));
  for (const stop of stops) stop();
  await settled("client.close", client.close());
  await settled("client.closed", client.closed);
  const [late] = await settled("a late call", Promise.all([toEnd("late", client.callTool("echo", { text: "" }))]));
  expect(late?.reason, "a call after close").toMatchObject({ code: "connection-closed" });
  return settledOnce;
}

describe.each([
  { era: "2026-07-28", runs: 4_500 },
  { era: "2025-11-25", runs: 4_500 },
  { era: "auto", runs: 1_000 },
])("$runs runs on $era", ({ era, runs }) => {
  const seen = new Map<string, number>();

  // Without faults every call has its result. This also loads the modules that are loaded lazily.
  beforeAll(async () => {
    const [near, far] = createMemoryPair({ serialize: true });
    const serving = serveChannel(server, far);
    const client = await connect(near, { era, answers: { elicit: () => ({ action: "accept", content: {} }) } });
    clock = createClock();
    const calls = Promise.all(callAll(client, new AbortController().signal));
    const ends = await settled("a call", calls, Number.POSITIVE_INFINITY);
    expect(ends.map(classify)).toEqual(new Array(9).fill("result"));
    await client.close();
    await serving.closed;
  });

  const firsts = Array.from({ length: runs / seedsPerTest }, (_, part) => part * seedsPerTest);
  test.each(firsts)("every call settles with a result or a reason, seeds from %d", async (first) => {
    for (let seed = first; seed < first + seedsPerTest; seed += 1) {
      for (const end of await run(seed, era)) seen.set(end, (seen.get(end) ?? 0) + 1);
    }
  });

  test("every kind of end occurs at least 50 times", () => {
    const kinds = ["result", "rpc-error", "timeout", "cancelled", "connection-closed", "answer-invalid"];
    expect(kinds.filter((kind) => (seen.get(kind) ?? 0) < 50)).toEqual([]);
  });
});
