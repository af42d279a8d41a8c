import { closeInboxes, connect, type GradeContext, open, type Target, transportsOf } from "./connect.ts";
import { findHarmless, findTool, type Hints, type Role } from "./hints.ts";
import type { Inbox } from "./inbox.ts";
import { at } from "./json.ts";
import { knownGapOf } from "./known-gaps.ts";
import type { Peer } from "./peer.ts";
import { hasCapability, probe, type ServerProfile } from "./probe.ts";
import { ExpectationFailed, NotApplicable, TimedOut } from "./reply.ts";
import type { Grade, Report, Totals, Verdict } from "./report.ts";
import { type RevisionDate, revisions } from "./revisions.ts";
import { appliesTo, lastStateful, type Scenario, type ScenarioContext } from "./scenario.ts";
import { scenarios } from "./scenarios/index.ts";
import { type OnMessage, Trace } from "./trace.ts";

export interface GradeOptions {
  /** Revisions to grade. Default: all. */
  readonly revisions?: readonly RevisionDate[];
  /** Selects the scenarios to run. Default: all. */
  readonly filter?: (scenario: Scenario) => boolean;
  /** How long the server may take for each response. Default: 10,000. */
  readonly timeoutMs?: number;
  /** How long a process may take to start. Default: three times `timeoutMs`. */
  readonly startMs?: number;
  /** Tools of the server that play the roles which scenarios need. */
  readonly hints?: Hints;
  /** Names of tools that may be called, whatever they do. Default: test tools and read-only ones may be called. */
  readonly tools?: readonly string[];
  /** Aborts the grading: the connections are closed, and there is no report. */
  readonly signal?: AbortSignal;
  /** Called with each verdict as soon as it is known. */
  readonly onVerdict?: (verdict: Verdict) => void;
  /** Called with every message, in both directions. */
  readonly onMessage?: OnMessage;
}

/** After this many timeouts in a row the remaining scenarios are not run. */
const maxSilences = 4;

type Counts = Pick<Totals, "pass" | "fail" | "warn" | "notApplicable">;

/** Grades a server in every revision that it supports, over every transport of the target. */
export async function grade(target: Target, options: GradeOptions = {}): Promise<Report> {
  const { timeoutMs = 10_000, startMs = 3 * timeoutMs, revisions: wanted, signal } = options;
  const totals: Totals[] = [];
  const verdicts: Verdict[] = [];
  const trace = new Trace(options.onMessage);
  const inboxes = new Set<Inbox>();
  const tools: ToolLog = { listed: new Set(), called: new Set() };
  signal?.addEventListener("abort", () => closeInboxes(inboxes), { once: true });
  for (const transport of transportsOf(target)) {
    for (const revision of revisions) {
      if (!(wanted?.includes(revision.date) ?? true) || !revision.transports.includes(transport)) continue;
      signal?.throwIfAborted();
      const context = { target, transport, revision, timeoutMs, startMs, trace, signal, inboxes };
      trace.scenario = undefined;
      const { profile, peer } = await probe(context);
      if (!peer) signal?.throwIfAborted();
      const found = peer
        ? await new Grader(context, profile, peer, options, tools).run()
        : gradeNoHandshake(profile, options);
      verdicts.push(...found);
      totals.push({ ...toRow(profile), ...count(found) });
    }
  }
  const isSpoken = totals.some((row) => row.isSpoken);
  const failed = verdicts.filter((verdict) => verdict.grade === "fail");
  return {
    target: "url" in target ? target.url : [target.command, ...(target.args ?? [])].join(" "),
    isPassed: isSpoken && failed.length === 0,
    hasOnlyKnownGaps: isSpoken && failed.every((verdict) => verdict.knownGap !== undefined),
    toolsCalled: [...tools.called],
    toolsNotCalled: [...tools.listed].filter((name) => !tools.called.has(name)),
    totals,
    verdicts,
    ...(!isSpoken && { problem: "The server supports none of the revisions over any of the transports" }),
  };
}

function toRow({ revision, transport, isSpoken, reason }: ServerProfile): Omit<Totals, keyof Counts> {
  return { revision, transport, isSpoken, ...(reason !== undefined && { reason }) };
}

/** Grades a missing handshake. An unanswered `initialize` is a fault; in the other cases the server may be of another kind. */
function gradeNoHandshake(profile: ServerProfile, { onVerdict }: GradeOptions): Verdict[] {
  const { revision, transport, isSilent = false, reason = "" } = profile;
  if (!isSilent || revision > lastStateful || transport === "http-sse") return [];
  const verdict: Verdict = {
    scenario: "handshake/answered",
    title: "initialize is answered, at least with an error",
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

/** The tools of the server, and those that were called. */
interface ToolLog {
  readonly listed: Set<string>;
  readonly called: Set<string>;
}

/** Grades one revision over one transport. */
class Grader {
  readonly #context: GradeContext;
  readonly #profile: ServerProfile;
  readonly #options: GradeOptions;
  readonly #tools: ToolLog;
  #shared: Peer | undefined;
  #silences = 0;

  constructor(context: GradeContext, profile: ServerProfile, shared: Peer, options: GradeOptions, tools: ToolLog) {
    this.#context = context;
    this.#profile = profile;
    this.#shared = shared;
    this.#options = options;
    this.#tools = tools;
    for (const tool of profile.tools) {
      const name = at(tool, "name");
      if (typeof name === "string") tools.listed.add(name);
    }
  }

  async run(): Promise<Verdict[]> {
    const { filter = () => true, onVerdict } = this.#options;
    const verdicts: Verdict[] = [];
    try {
      for (const scenario of scenarios) {
        if (!appliesTo(scenario, this.#context) || !filter(scenario)) continue;
        this.#context.signal?.throwIfAborted();
        const verdict = await this.#judge(scenario);
        // An aborted scenario has no verdict.
        this.#context.signal?.throwIfAborted();
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
    const lacking = needs.find((path) => !hasCapability(this.#profile, path));
    const [grade, evidence] = lacking
      ? (["not applicable", `the server does not announce ${lacking}`] as const)
      : await this.#play(scenario);
    const { revision, transport } = this.#profile;
    const verdict = { scenario: id, title, requirements, strength, revision, transport, grade, evidence };
    const knownGap = knownGapOf(verdict);
    return knownGap === undefined ? verdict : { ...verdict, knownGap };
  }

  async #play(scenario: Scenario): Promise<readonly [Grade, string]> {
    const bad = scenario.strength === "must" ? "fail" : "warn";
    if (this.#silences >= maxSilences) return [bad, "not run: the server did not respond in too many scenarios"];
    const own = new ScenarioPeers();
    this.#context.trace.scenario = scenario.id;
    try {
      return ["pass", await this.#inTime(scenario.run(this.#scenarioContext(own)))];
    } catch (error) {
      if (error instanceof NotApplicable) return ["not applicable", error.message];
      if (error instanceof TimedOut || this.#shared?.inbox.closedReason !== undefined) {
        this.#silences += 1;
        // A late message must not be taken for the response to a later request.
        await this.#drop();
      }
      return [bad, error instanceof ExpectationFailed ? error.message : `the grader failed: ${error}`];
    } finally {
      await own.close();
    }
  }

  /** Limits the time of a scenario, whatever it waits for. */
  async #inTime(running: Promise<string>): Promise<string> {
    const { timeoutMs, startMs, signal } = this.#context;
    const limitMs = 3 * timeoutMs + startMs;
    let timer: NodeJS.Timeout | undefined;
    let closeInboxes = () => {};
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new TimedOut(`waited ${limitMs} ms for the end of the scenario`)), limitMs);
      closeInboxes = () => reject(signal?.reason);
      signal?.addEventListener("abort", closeInboxes);
    });
    try {
      const evidence = await Promise.race([running, late]);
      this.#silences = 0;
      return evidence;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", closeInboxes);
    }
  }

  #scenarioContext(own: ScenarioPeers): ScenarioContext {
    const { hints = {}, tools: allowed = [] } = this.#options;
    const { tools } = this.#profile;
    const noted = (name: string) => this.#tools.called.add(name);
    const find = (role: Role) => {
      const tool = findTool(role, hints, tools, allowed);
      if (tool) noted(tool.name);
      return tool;
    };
    return {
      ...this.#context,
      profile: this.#profile,
      shared: () => this.#share(),
      open: (options) => own.keep(open(this.#context, options)),
      connect: (options) => own.keep(connect(this.#context, options)),
      findTool: find,
      tool: (role) => {
        const tool = find(role);
        if (!tool) throw new NotApplicable(`the server has no known tool for the role ${role}`);
        return tool;
      },
      harmlessTool: () => {
        const name = findHarmless(hints, tools, allowed);
        if (name === undefined) {
          const { date, labelsTools } = this.#context.revision;
          throw new NotApplicable(
            labelsTools
              ? "no tool may be called: none is a known test tool, labelled read-only, or named"
              : `no tool may be called: none is a known test tool or named, and ${date} has no read-only labels`,
          );
        }
        noted(name);
        return name;
      },
    };
  }

  async #share(): Promise<Peer> {
    if (this.#shared?.inbox.closedReason !== undefined) await this.#drop();
    this.#shared ??= await reach(open(this.#context));
    return this.#shared;
  }

  async #drop(): Promise<void> {
    const shared = this.#shared;
    this.#shared = undefined;
    await shared?.close();
  }
}

/** The connections of one scenario. */
class ScenarioPeers {
  readonly #peers: Peer[] = [];
  #isOver = false;

  async keep(opening: Promise<Peer>): Promise<Peer> {
    const peer = await reach(opening);
    this.#peers.push(peer);
    // The scenario ended while this connection was opening.
    if (this.#isOver) await peer.close();
    return peer;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled(this.#peers.map((peer) => peer.close()));
  }
}

/** Treats a server that refuses a second connection like one that does not respond. */
async function reach(opening: Promise<Peer>): Promise<Peer> {
  try {
    return await opening;
  } catch (error) {
    throw new TimedOut(`opened another connection; ${error instanceof Error ? error.message : error}`);
  }
}
