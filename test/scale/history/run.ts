import { setTimeout as sleep } from "node:timers/promises";
import { checkHandlers, checkHistory, checkKeys, missedBy, type Violation, workSteps } from "./check.ts";
import { OwnClient } from "./own-client.ts";
import { Random } from "./random.ts";
import { RawStatefulClient } from "./raw-stateful.ts";
import { RawStatelessClient } from "./raw-stateless.ts";
import { HistoryRecord, type RecordedSubscription } from "./record.ts";
import { type Fault, faultWeights, type World } from "./world.ts";

/** Times of a run. */
export interface Timing {
  /** Time in which the clients send and faults happen. */
  readonly activeMs: number;
  /** Time after a fault until everything has to work again. */
  readonly recoverMs: number;
  /** Time after which a call that has not ended hangs. */
  readonly hangMs: number;
  /** Time after which nothing is left of clients that have gone. */
  readonly restMs: number;
  /** Time for which a run waits for its clients. On a busy machine everything takes longer, and nothing of it is wrong. */
  readonly patienceMs: number;
}

export const shortTiming: Timing = {
  activeMs: 2_500,
  recoverMs: 10_000,
  hangMs: 10_000,
  // Less than `abandonMs`, which ends what should have ended before.
  restMs: 8_000,
  patienceMs: 90_000,
};

/** The outcome of one history. */
export interface HistoryOutcome {
  readonly seed: number;
  readonly calls: number;
  readonly violations: readonly Violation[];
  /** The shortest trace that shows the first violation. */
  readonly trace: string;
}

type AnyClient = OwnClient | RawStatefulClient | RawStatelessClient;

/** Runs histories at the same time in one world, with the faults of another seed. */
export async function runHistories(
  world: World,
  seeds: readonly number[],
  faultSeed: number,
  timing: Timing,
): Promise<HistoryOutcome[]> {
  const begunAt = Date.now();
  const firstFault = world.faults.length;
  const earlier = world.faults.filter(({ until }) => until + timing.recoverMs >= begunAt);
  const ports = world.nodes.map(({ name, port }) => `${name} serves port ${port}`).join(", ");
  const histories = seeds.map((seed) => new History(world, seed, begunAt));
  const late = timing.patienceMs;
  await Promise.all(histories.map((history) => within(late, history, "opened", history.open())));
  const endsAt = Date.now() + timing.activeMs;
  await Promise.all([
    makeFaults(world, new Random(faultSeed), endsAt),
    ...histories.map((history) => within(timing.activeMs + late, history, "stopped", history.act(endsAt))),
  ]);
  await Promise.all(histories.map((history) => history.settle(timing, earlier, () => world.faults.slice(firstFault))));
  await Promise.all(histories.map((history) => within(late, history, "closed", history.close())));
  const faults = world.faults.slice(firstFault);
  const rest = await checkRest(
    world,
    histories.flatMap((history) => history.endedSessions),
    begunAt,
    timing.restMs,
  );
  const journal = world.journal().filter(({ at }) => at >= begunAt);
  return histories.map((history, at) => {
    const around = {
      ...{ faults, earlier },
      journal,
      killed: world.killed,
      statuses: history.statuses,
      recoverMs: timing.recoverMs,
      hangMs: timing.hangMs,
    };
    const violations = [...checkHistory(history.record, around), ...(at === 0 ? rest : [])];
    const [first] = violations;
    const { seed, calls } = history.record;
    if (!first) return { seed, calls: calls.length, violations, trace: "" };
    const others = [
      { at: begunAt, text: `-- ${ports}` },
      ...[...earlier, ...faults].flatMap(({ what, from, until }) => [
        { at: from, text: `-- ${what}` },
        { at: until, text: `-- over: ${what}` },
      ]),
      ...world.proxy.passed
        .filter(
          ({ at: time, client }) =>
            time >= begunAt &&
            first.about.some((name) => `${name}-`.startsWith(`${client}-`) || client === `${seed}-${name}`),
        )
        .map(({ at: time, text }) => ({ at: time, text: `   proxy: ${text}` })),
      ...journal
        // Without a call: an error that the process has reported.
        .filter(({ call }) => call === "" || first.about.includes(call))
        .map(({ at: time, node, call, what }) => ({ at: time, text: `   ${node}: ${call} ${what.slice(0, 200)}` })),
    ];
    return { seed, calls: calls.length, violations, trace: history.record.trace(first.about, others) };
  });
}

/** Waits for the clients of a history, but not for ever. */
async function within(ms: number, { record }: History, what: string, work: Promise<void>): Promise<void> {
  const isLate = await Promise.race([work.then(() => false), sleep(ms, true, { ref: false })]);
  if (isLate) record.violation("history", `its clients have not ${what} within ${ms} ms`);
}

/** Faults of processes, of Redis and of sockets, which happen beside each other. */
const lanes: readonly (readonly (keyof typeof faultWeights)[])[] = [
  ["kill", "terminate", "freeze"],
  ["redis pause", "redis restart", "redis flush", "redis fail-over", "redis cut"],
  ["cut", "delay"],
];

async function makeFaults(world: World, random: Random, endsAt: number): Promise<void> {
  // Some runs leave one of the lanes alone, so that what it would excuse is not excused.
  const used = lanes.filter(() => random.next() < 0.7);
  await Promise.all(
    (used.length > 0 ? used : lanes.slice(2)).map(async (kinds) => {
      const own = new Random(random.whole(1, 1_000_000_000));
      const weights = Object.fromEntries(kinds.map((kind) => [kind, faultWeights[kind]]));
      for (;;) {
        await sleep(own.whole(50, 1_200));
        if (Date.now() >= endsAt) return;
        await world.fault(own.weighted(weights) as keyof typeof faultWeights, own);
      }
    }),
  );
}

/** Four clients of both eras, and everything that they saw. */
class History {
  readonly record: HistoryRecord;
  readonly #world: World;
  readonly #clients: readonly AnyClient[];
  readonly #raw: RawStatefulClient;
  readonly #running = new Set<Promise<void>>();
  #published = 0;

  constructor(world: World, seed: number, begunAt: number) {
    this.#world = world;
    this.record = new HistoryRecord(seed, begunAt);
    const { url } = world;
    this.#raw = new RawStatefulClient("raw-stateful", url, this.record);
    this.#clients = [
      this.#raw,
      new OwnClient("own-stateful", url, this.record, "stateful"),
      new RawStatelessClient("raw-stateless", url, this.record),
      new OwnClient("own-stateless", url, this.record, "stateless"),
    ];
  }

  get statuses() {
    return this.#clients.flatMap(({ name, statuses }) => statuses.map((status) => ({ client: name, ...status })));
  }

  get endedSessions(): readonly string[] {
    return this.#raw.ended;
  }

  async open(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.open()));
  }

  async act(endsAt: number): Promise<void> {
    await Promise.all(this.#clients.map((client, at) => this.#actAs(client, endsAt, this.record.seed * 10 + at)));
  }

  async #actAs(client: AnyClient, endsAt: number, seed: number): Promise<void> {
    const random = new Random(seed);
    const weights = { echo: 3, work: 3, ask: 4, cancel: 2, subscribe: 3, publish: 8 };
    while (Date.now() < endsAt) {
      const step = this.#step(client, random.weighted(weights), random);
      this.#running.add(step);
      step.finally(() => this.#running.delete(step));
      // Some steps wait for the one before, others run beside it.
      if (random.next() < 0.3) await Promise.race([step, sleep(endsAt - Date.now())]);
      await sleep(random.whole(10, 150));
    }
  }

  async #step(client: AnyClient, what: string, random: Random): Promise<void> {
    const { seed } = this.record;
    const parents = [`note://${seed}/${client.name}`, `note://${seed}/all`];
    if (what === "echo" || what === "ask") await client.call(what, {});
    if (what === "work") await client.call("work", { steps: workSteps, stepMs: random.whole(5, 60) });
    if (what === "cancel") await client.cancelled(random.whole(30, 300));
    if (what === "subscribe") {
      const uri = random.pick(parents);
      if (!this.record.subscriptions.some((one) => one.client === client.name && one.uri === uri))
        await client.subscribe(uri);
    }
    if (what === "publish") await this.#publish(random.pick(parents), random.whole(0, 2));
  }

  async #publish(parent: string, at: number): Promise<void> {
    const node = this.#world.nodes[at];
    this.#published += 1;
    const uri = `${parent}/${this.#published}`;
    const before = Date.now();
    const done = await node?.publish(uri);
    if (!done || !node) return;
    const passedOnAt = done.isPassedOn ? Date.now() : undefined;
    this.record.note(node.name, `published ${uri}${done.isPassedOn ? "" : ", but Redis was away"}`);
    this.record.publications.push({ uri, parent, node: node.name, at: Math.min(before, done.at), passedOnAt });
  }

  /** Waits until all calls have ended and every subscriber has heard a last change. */
  async settle(
    { patienceMs, recoverMs }: Timing,
    earlier: readonly Fault[],
    faults: () => readonly Fault[],
  ): Promise<void> {
    const late = Date.now() + patienceMs;
    while (this.#running.size > 0 && Date.now() < late) await sleep(20);
    const { subscriptions, publications } = this.record;
    const publishLast = async (uris: Iterable<string>) => {
      for (const [at, uri] of [...new Set(uris)].entries()) await this.#publish(uri, at % 3);
    };
    await publishLast(subscriptions.map(({ uri }) => uri));
    while (Date.now() < late) {
      const last = new Map(publications.map((publication) => [publication.parent, publication]));
      // A session that had to begin again subscribes again: it has to hear a later change.
      const later = subscriptions.filter(({ uri, confirmedAt = 0 }) => confirmedAt >= (last.get(uri)?.at ?? 0));
      await publishLast(later.map(({ uri }) => uri));
      const isHeard = ({ uri, confirmedAt, heard, gaps }: RecordedSubscription) => {
        if (confirmedAt === undefined) return false;
        const { uri: changed, at = 0 } = last.get(uri) ?? {};
        const isTold = heard.some((one) => one.uri === changed || (one.uri === uri && one.at >= at));
        return isTold || gaps.some((gap) => gap >= at);
      };
      if (later.length === 0 && subscriptions.every(isHeard)) break;
      await sleep(20);
    }
    // A client that could not subscribe again tries later, and is told then of what it missed.
    const missesSome = () => {
      const around = { faults: faults(), earlier, recoverMs };
      return this.record.subscriptions.some((one) => missedBy(one, this.record, around).length > 0);
    };
    while (missesSome() && Date.now() < late) await sleep(100);
    // What is sent twice needs a moment to arrive.
    await sleep(100);
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#clients.map(async (client) => {
        await client.close();
        this.record.note(client.name, "has closed");
      }),
    );
  }
}

/** Checks that nothing is left of clients that have gone: no handler, no connection, no key. */
async function checkRest(
  world: World,
  ended: readonly string[],
  begunAt: number,
  restMs: number,
): Promise<Violation[]> {
  let found: Violation[] = [];
  for (const late = Date.now() + restMs; Date.now() < late; ) {
    const journal = world.journal().filter(({ at }) => at >= begunAt);
    found = [...checkHandlers(journal, world.killed), ...checkKeys(await keysOf(world), ended)];
    for (const connection of world.proxy.connections)
      found.push({ text: `a connection is left: ${connection}`, about: [] });
    for (const node of world.nodes)
      if (node.port === undefined) found.push({ text: `${node.name} has ended`, about: [] });
    if (found.length === 0) break;
    await sleep(50);
  }
  return found;
}

/** Returns all keys of Redis with their expiry. */
export async function keysOf(world: World): Promise<{ key: string; ttlMs: number }[]> {
  const script =
    "local all = {} for _, key in ipairs(redis.call('KEYS', '*')) do all[#all + 1] = redis.call('PTTL', key) .. ' ' .. key end return table.concat(all, string.char(10))";
  const reply = await world.redis(`EVAL "${script}" 0`);
  if (!reply.startsWith("$")) throw new Error(`expected the keys of Redis, got ${reply}`);
  return reply
    .split("\r\n")
    .slice(1)
    .join("\r\n")
    .split("\n")
    .filter((line) => /^-?\d+ /.test(line))
    .map((line) => {
      const at = line.indexOf(" ");
      return { key: line.slice(at + 1).trim(), ttlMs: Number(line.slice(0, at)) };
    });
}
