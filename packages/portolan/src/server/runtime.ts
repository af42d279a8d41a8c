import { Lazy } from "../async.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type { Storage } from "../storage/storage.ts";
import type { RoundState } from "./ask/round-state.ts";
import type { ServedExchange } from "./call/exchange.ts";
import type { ErrorReport, ServerOptions } from "./define/definition.ts";
import type { Snapshot } from "./define/snapshot.ts";
import type { CompiledTool } from "./define/tools.ts";
import { extra, type LoadPart } from "./extension.ts";
import { preloadMs } from "./limits.ts";
import { type Audience, Hub, type Publication } from "./subscribe/hub.ts";

/** The state that all connections of one server share: its compiled features, and everything that outlives a request. */
export class ServerRuntime {
  /** Replaced as a whole when a live server changes; a running call keeps the feature it began with. */
  snapshot: Snapshot;
  readonly hub: Hub = new Hub((error) => this.report(error));
  /** Functions that hand publications to other processes. */
  readonly relays: Set<(publication: Publication) => void> = new Set();
  /** Functions that return the requests in progress of one connection or endpoint. */
  readonly inFlight: Set<() => Iterable<ServedExchange>> = new Set();
  /** The state of questions between their rounds; made when the first question is asked. */
  roundState: RoundState | undefined;
  /** Returns whether it reports an error of the storage itself, less often. Present if the server has a storage. */
  declare takeOver?: (error: unknown, about: ErrorReport) => boolean;

  /** The storage that other processes share, of the first endpoint that has one. */
  declare storage?: Storage;

  /** True if a function that starts the server awaits `ready`, which rejects with an invalid feature. */
  #isAwaited = false;
  readonly #reported = new WeakSet<object>();

  constructor(snapshot: Snapshot) {
    this.snapshot = snapshot;
  }

  /** Resolves when all features are loaded. Rejects if one of the server's own is invalid. */
  async ready(): Promise<void> {
    this.#isAwaited = true;
    const { snapshot } = this;
    await snapshot.loading;
    const { leaveOutInvalid = false } = snapshot.options;
    const needed = snapshot.invalid.find(({ isMounted = leaveOutInvalid }) => !isMounted);
    if (needed) throw needed.problem;
    this.reportInvalid();
  }

  /** Reports the features that are left out once all are loaded, unless a caller of `ready` learns of them. */
  reportWhenLoaded(): void {
    Promise.resolve(this.snapshot.loading).then(() => this.#isAwaited || this.reportInvalid());
  }

  /** Reports the features that are left out, the risky patterns of the others, and a server without any, each once. */
  reportInvalid(): void {
    const { invalid, options, parts, isLive } = this.snapshot;
    // A live server gets its features later, and a server that stands for another one may have none.
    const isComplete = !isLive && !options.leaveOutInvalid;
    if (isComplete && Object.values(parts).every((part) => [...part].length === 0) && this.#isFirst(parts)) {
      this.#warn((late) => [late.nothingOffered()]);
    }
    for (const { problem } of invalid) if (problem && this.#isFirst(problem)) reportError(options, problem, {});
    this.#reportRisks(parts.tools);
  }

  /** Reports risky patterns, a few tools in each turn: a handshake must not wait for thousands of them. */
  #reportRisks(tools: readonly CompiledTool[]): void {
    for (const tool of tools.slice(0, toolsPerTurn)) {
      if (!this.#isFirst(tool) || !hasPattern(tool.input?.jsonSchema)) continue;
      this.#warn((late) => late.riskyPatternsOf(tool, this.snapshot.options));
    }
    const others = tools.slice(toolsPerTurn);
    if (others.length > 0) setTimeout(() => this.#reportRisks(others), riskPauseMs);
  }

  #warn(warningsOf: (late: Warnings) => unknown[]): void {
    const report = (error: unknown) => reportError(this.snapshot.options, error, {});
    Promise.resolve(warnings.get())
      .then((late) => warningsOf(late).forEach(report))
      .catch(report);
  }

  /**
   * Loads all parts of the server soon after its start, with `others`: a part that is loaded with its first request could
   * fail for good, because node remembers a failed import(), such as one without a free file descriptor or after an upgrade.
   */
  preload(others: readonly LoadPart[] = []): void {
    const load = async () => (await extra.get()).loadParts(this, others);
    const timer = setTimeout(() => load().catch((cause) => this.report(cause)), preloadMs);
    (timer as { unref?(): void }).unref?.();
  }

  /** Sends a notification to the subscribers of its topic, in this process and in those that share a storage with it. */
  publish(topic: string, payload: JsonObject, audience?: Audience): void {
    // Short, because the ids of events may name it. It has to be unique among those of a minute.
    const id = this.relays.size > 0 ? crypto.randomUUID().slice(-12) : undefined;
    this.hub.publish(topic, payload, audience, id);
    for (const relay of this.relays) relay({ topic, payload, audience, id });
  }

  /** Returns true the first time that it is called with an object. */
  #isFirst(known: object): boolean {
    return !this.#reported.has(known) && !!this.#reported.add(known);
  }

  /** Reports an error that the peer does not see. Returns the reference that the peer gets instead. */
  report(error: unknown, origin?: ErrorReport): string {
    const about = { ...origin, reference: crypto.randomUUID().slice(0, 8) };
    if (!this.takeOver?.(error, about)) reportError(this.snapshot.options, error, about);
    return about.reference;
  }
}

/** Tools whose patterns are looked at in one turn, and the pause before the next ones. */
const toolsPerTurn = 250;
const riskPauseMs = 10;

type Warnings = typeof import("./define/warnings.ts");
/** The texts for an operator, and the code that prints them. */
export const warnings: Lazy<Warnings> = /* @__PURE__ */ new Lazy(() => import("./define/warnings.ts"));

function hasPattern(schema: unknown): boolean | undefined {
  try {
    return JSON.stringify(schema)?.includes('"pattern":');
  } catch {
    // A schema without a JSON form fails where it is listed.
    return undefined;
  }
}

/** Hands an error to `onError`. If `onError` throws, both errors are printed. */
export function reportError({ onError = print }: ServerOptions<unknown>, error: unknown, about: ErrorReport): void {
  try {
    onError(error, about);
  } catch (failure) {
    print(error, about);
    print(failure, about);
  }
}

function print(error: unknown, about: ErrorReport): void {
  const { stack = error } = Object(error);
  // At once, because the process may be about to end. Controls and lines of a peer must not pass for ours.
  const plain = () =>
    `${JSON.stringify(about)} ${stack}`.replace(/\p{C}/gu, (found) => (found === "\n" ? "\n  " : "?"));
  console.error("portolan:", warnings.loaded?.toLog(error, about) ?? plain());
}
