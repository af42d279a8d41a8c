import { connect, giveUp, open, type Place, type Target, transportsOf } from "./connect.ts";
import { findTool, type Hints, type Role } from "./hints.ts";
import type { Inbox } from "./inbox.ts";
import type { Peer } from "./peer.ts";
import { Failed, NotApplicable, Silence } from "./reply.ts";
import type { Grade, Report, Totals, Verdict } from "./report.ts";
import { type RevisionDate, revisions } from "./revisions.ts";
import { belongs, lastStateful, type Scenario, type Stage } from "./scenario.ts";
import { scenarios } from "./scenarios/index.ts";
import { offers, type Surface, survey } from "./surface.ts";
import { type OnMessage, Trace } from "./trace.ts";

export interface GradeOptions {
  /** All of them unless said otherwise. */
  readonly revisions?: readonly RevisionDate[];
  /** Which scenarios to run; all unless said otherwise. */
  readonly filter?: (scenario: Scenario) => boolean;
  /** How long a server may take for each thing; 10 s unless said otherwise. */
  readonly timeoutMs?: number;
  /** How long a process may take to start; three times as long unless said otherwise. */
  readonly startMs?: number;
  /** Tools of the server for the roles that scenarios need. */
  readonly hints?: Hints;
  /** Ends it before its time: the connections are closed, and there is no report. */
  readonly signal?: AbortSignal;
  /** Hears each verdict as it falls. */
  readonly onVerdict?: (verdict: Verdict) => void;
  /** Hears every message that passes, in both directions. */
  readonly onMessage?: OnMessage;
}

/** A server that lets this many scenarios wait in vain is not asked any more. */
const maxSilences = 4;

type Counts = Pick<Totals, "pass" | "fail" | "warn" | "notApplicable">;

/** Grades a server in every revision it speaks, over every transport the target allows. */
export async function grade(target: Target, options: GradeOptions = {}): Promise<Report> {
  const { timeoutMs = 10_000, startMs = 3 * timeoutMs, revisions: wanted, signal } = options;
  const totals: Totals[] = [];
  const verdicts: Verdict[] = [];
  const trace = new Trace(options.onMessage);
  const inboxes = new Set<Inbox>();
  signal?.addEventListener("abort", () => giveUp(inboxes), { once: true });
  for (const transport of transportsOf(target)) {
    for (const revision of revisions) {
      if (!(wanted?.includes(revision.date) ?? true) || !revision.transports.includes(transport)) continue;
      signal?.throwIfAborted();
      const place = { target, transport, revision, timeoutMs, startMs, trace, signal, inboxes };
      trace.scenario = undefined;
      const { surface, peer } = await survey(place);
      if (!peer) signal?.throwIfAborted();
      const found = peer ? await new Grader(place, surface, peer, options).run() : gradeSilence(surface, options);
      verdicts.push(...found);
      totals.push({ ...toRow(surface), ...count(found) });
    }
  }
  const isSpoken = totals.some((row) => row.isSpoken);
  return {
    target: "url" in target ? target.url : [target.command, ...(target.args ?? [])].join(" "),
    isPassed: isSpoken && verdicts.every((verdict) => verdict.grade !== "fail"),
    totals,
    verdicts,
    ...(!isSpoken && { problem: "The server speaks none of the revisions over any transport that was tried" }),
  };
}

function toRow({ revision, transport, isSpoken, reason }: Surface): Omit<Totals, keyof Counts> {
  return { revision, transport, isSpoken, ...(reason !== undefined && { reason }) };
}

/** A handshake that is not answered is a fault of its own; on all else the server may be of another kind. */
function gradeSilence(surface: Surface, { onVerdict }: GradeOptions): Verdict[] {
  const { revision, transport, isSilent = false, reason = "" } = surface;
  if (!isSilent || revision > lastStateful || transport === "http-sse") return [];
  const verdict: Verdict = {
    scenario: "handshake/answered",
    title: "a handshake is answered, if only with an error",
    requirements: ["B1"],
    strength: "must",
    revision,
    transport,
    grade: "fail",
    evidence: reason,
  };
  onVerdict?.(verdict);
  return [verdict];
}

function count(verdicts: readonly Verdict[]): Counts {
  const of = (grade: Grade) => verdicts.filter((verdict) => verdict.grade === grade).length;
  return { pass: of("pass"), fail: of("fail"), warn: of("warn"), notApplicable: of("not applicable") };
}

/** Grades one revision over one transport. */
class Grader {
  readonly #place: Place;
  readonly #surface: Surface;
  readonly #options: GradeOptions;
  #shared: Peer | undefined;
  #silences = 0;

  constructor(place: Place, surface: Surface, shared: Peer, options: GradeOptions) {
    this.#place = place;
    this.#surface = surface;
    this.#shared = shared;
    this.#options = options;
  }

  async run(): Promise<Verdict[]> {
    const { filter = () => true, onVerdict } = this.#options;
    const verdicts: Verdict[] = [];
    try {
      for (const scenario of scenarios) {
        if (!belongs(scenario, this.#place) || !filter(scenario)) continue;
        this.#place.signal?.throwIfAborted();
        const verdict = await this.#judge(scenario);
        // Nobody was there any more to be judged.
        this.#place.signal?.throwIfAborted();
        verdicts.push(verdict);
        onVerdict?.(verdict);
      }
    } finally {
      await this.#drop();
    }
    return verdicts;
  }

  async #judge(scenario: Scenario): Promise<Verdict> {
    const { id, title, requirements, strength, needs = [] } = scenario;
    const lacking = needs.find((path) => !offers(this.#surface, path));
    const [grade, evidence] = lacking
      ? (["not applicable", `the server does not announce ${lacking}`] as const)
      : await this.#play(scenario);
    const { revision, transport } = this.#surface;
    return { scenario: id, title, requirements, strength, revision, transport, grade, evidence };
  }

  async #play(scenario: Scenario): Promise<readonly [Grade, string]> {
    const bad = scenario.strength === "must" ? "fail" : "warn";
    if (this.#silences >= maxSilences) return [bad, "not tried: the server let too many scenarios wait in vain"];
    const own = new OwnPeers();
    this.#place.trace.scenario = scenario.id;
    try {
      return ["pass", await this.#inTime(scenario.run(this.#stage(own)))];
    } catch (error) {
      if (error instanceof NotApplicable) return ["not applicable", error.message];
      if (error instanceof Silence || this.#shared?.inbox.over !== undefined) {
        this.#silences += 1;
        // What still comes would be taken for something else.
        await this.#drop();
      }
      return [bad, error instanceof Failed ? error.message : `the grader could not go on: ${error}`];
    } finally {
      await own.close();
    }
  }

  /** Whatever a scenario waits for, it ends. */
  async #inTime(running: Promise<string>): Promise<string> {
    const { timeoutMs, startMs, signal } = this.#place;
    const limitMs = 3 * timeoutMs + startMs;
    let timer: NodeJS.Timeout | undefined;
    let giveUp = () => {};
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Silence(`waited ${limitMs} ms for the end of the scenario`)), limitMs);
      giveUp = () => reject(signal?.reason);
      signal?.addEventListener("abort", giveUp);
    });
    try {
      const evidence = await Promise.race([running, late]);
      this.#silences = 0;
      return evidence;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
    }
  }

  #stage(own: OwnPeers): Stage {
    const find = (role: Role) => findTool(role, this.#options.hints ?? {}, this.#surface.tools);
    return {
      ...this.#place,
      surface: this.#surface,
      shared: () => this.#share(),
      open: (options) => own.keep(open(this.#place, options)),
      connect: (options) => own.keep(connect(this.#place, options)),
      findTool: find,
      tool: (role) => {
        const tool = find(role);
        if (!tool) throw new NotApplicable(`no tool of the server is known for the role ${role}`);
        return tool;
      },
    };
  }

  async #share(): Promise<Peer> {
    if (this.#shared?.inbox.over !== undefined) await this.#drop();
    this.#shared ??= await reach(open(this.#place));
    return this.#shared;
  }

  async #drop(): Promise<void> {
    const shared = this.#shared;
    this.#shared = undefined;
    await shared?.close();
  }
}

/** The connections of one scenario. */
class OwnPeers {
  readonly #peers: Peer[] = [];
  #isOver = false;

  async keep(opening: Promise<Peer>): Promise<Peer> {
    const peer = await reach(opening);
    this.#peers.push(peer);
    // The scenario was given up while this was opening.
    if (this.#isOver) await peer.close();
    return peer;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#peers.map((peer) => peer.close()));
  }
}

/** A server that cannot be reached again is as good as one that says nothing. */
async function reach(opening: Promise<Peer>): Promise<Peer> {
  try {
    return await opening;
  } catch (error) {
    throw new Silence(`opened another connection; ${error instanceof Error ? error.message : error}`);
  }
}
