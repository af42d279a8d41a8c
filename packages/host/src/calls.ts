import type { CallToolResult, GetPromptResult, JsonObject, ReadResourceResult } from "portolan";
import { PortolanError, RpcError } from "portolan";
import type { Answers, CallOptions, Client, Clock } from "portolan/client";
import { CallFailure } from "portolan/client";
import type { CallHandle, OptionKinds, SerializedCallOptions, VerbatimArguments } from "portolan/internal";
import { callOptionKinds, onAbort, readArgumentsText, toError } from "portolan/internal";
import { CallEntry } from "./activity/entry-bytes.ts";
import type { Activity, ActivityLog } from "./activity/index.ts";
import type { Visits } from "./answers/visits.ts";
import type { HostCallOptions, HostEvent, RunningCall } from "./api.ts";
import type { OfferedTool } from "./apps/access.ts";
import { callEvent, endedEvent, toRunningCall } from "./call-events.ts";
import type { Catalog, CatalogTool } from "./catalog/catalog.ts";
import { type Consent, DeniedError, denied } from "./consent.ts";
import { markUntrusted, noteResources, noteResultResources } from "./content-origins.ts";
import type { DefinitionReview } from "./definition-review.ts";
import type { Feed } from "./feed.ts";
import type { HostedServer } from "./hosted-server.ts";
import { quickCallMs } from "./limits.ts";
import type { OpenQuestions } from "./open-questions.ts";
import type { LocalTasks, TaskStart } from "./tasks/local-tasks.ts";
import { TaskDetachedError } from "./tasks/tasks.ts";

/** Sends one request to a server. */
type ServerRequest<T> = (client: Client, options: CallOptions) => Promise<T>;

/** Shared options of calls without options: the fast path allocates none. */
export const noOptions: HostCallOptions & CallOptions = {};

const { signal, onProgress, idleMs, totalMs, meta, answers } = callOptionKinds;

export const hostCallOptionKinds: OptionKinds<HostCallOptions> = {
  ...{ signal, onProgress, idleMs, totalMs, meta, answers },
  by: "string",
  conversation: "object",
  run: "string",
  callId: "string",
  beforeSend: "function",
  mayHaveRun: "boolean",
  ...{ argumentsText: "string", output: "string", onOutputProblems: "function" },
};

/** Parts of the host that calls use. */
export interface CallsOptions {
  readonly activity: ActivityLog;
  readonly catalog: Catalog;
  readonly consent: Consent;
  readonly questions: OpenQuestions;
  readonly review: DefinitionReview;
  readonly visits: Visits;
  readonly callLog: CallLog;
  readonly feed: Feed<HostEvent>;
  readonly clock: Clock;
  /** Returns the handlers of the server's own requests during this call. */
  readonly answersFor: (server: HostedServer, options: HostCallOptions) => Answers;
  /** Follows calls that become tasks. Undefined: the host has no tasks. */
  readonly tasks: LocalTasks | undefined;
}

/** All calls to servers on the user's behalf: approved, sent and logged. */
export class Calls {
  readonly #options: CallsOptions;
  /** Distinguishes the calls of several hosts that write to one log. */
  readonly #name = crypto.randomUUID().slice(0, 8);
  #count = 0;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /** The calls that have begun and not ended, in the order of their beginning. */
  get running(): readonly RunningCall[] {
    return this.#options.callLog.running.map(toRunningCall);
  }

  /** Ends a running call. Returns false if there is none with this id. */
  cancel(id: string, reason: string | undefined): boolean {
    const { callLog, questions } = this.#options;
    const logged = callLog.running.find((call) => call.id === id);
    if (!logged) return false;
    const why = reason === undefined ? "" : `: ${reason}`;
    const effect = logged.isSent ? ". It was sent before, so it may have taken effect" : "";
    logged.cancelled ??= new CallFailure("cancelled", `The call was cancelled by the user${why}${effect}`, {
      name: "AbortError",
      requestMayHaveRun: logged.isSent,
    });
    logged.running?.cancel(logged.cancelled);
    questions.withdrawCall(id, logged.cancelled);
    return true;
  }

  /** Calls a tool with as few promises as possible where the server is connected and a rule allows the call. */
  callTool(
    server: HostedServer,
    name: string,
    args: JsonObject,
    options: HostCallOptions,
    start?: TaskStart,
  ): Promise<CallToolResult> {
    try {
      const verbatim = options.argumentsText === undefined ? undefined : readVerbatim(name, args, options);
      const used = verbatim?.args ?? args;
      const logged = new LoggedCall("call", server, name, used, options);
      logged.argsText = verbatim ? verbatim.text : toJsonText(args);
      logged.rewrite = verbatim?.rewrite;
      this.#begin(logged);
      const { client } = server;
      if (client) return this.#callTool(logged, client, used, start);
      return this.#connect(logged).then((connected) => this.#callTool(logged, connected, used, start));
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  }

  /** Calls a tool that an app offers, with the consent, the log and the care that its server's own tools get. */
  async callAppTool(
    server: HostedServer,
    tool: OfferedTool,
    args: JsonObject,
    options: HostCallOptions,
  ): Promise<CallToolResult> {
    const { catalog, callLog, clock, consent } = this.#options;
    const { signal, beforeSend } = options;
    const logged = new LoggedCall("call", server, tool.name, args, options, tool.app);
    logged.argsText = toJsonText(args);
    this.#begin(logged);
    const asking = { ...options, resembles: catalog.lookalikeOf(tool.name) };
    await this.#permitted(logged, consent.permitAppTool(logged.id, server, tool, args, asking));
    try {
      await beforeSend?.();
      if (logged.cancelled) throw logged.cancelled;
      // The app may have changed the tool, or may be gone, since the model or the user saw it.
      tool.check();
    } catch (reason) {
      throw this.#refuse(logged, reason, true);
    }
    const stop = new AbortController();
    const stopWaiting = signal && onAbort(signal, () => stop.abort(signal.reason));
    if (signal?.aborted) stop.abort(signal.reason);
    logged.running = { cancel: (reason) => stop.abort(reason) };
    logged.startedAt = clock.now();
    callLog.markSent(logged);
    try {
      const result = await tool.call(args, stop.signal).catch((thrown: unknown) => this.#fail(logged, thrown));
      return noteResultResources(server, this.#succeed(logged, result), options);
    } finally {
      stopWaiting?.();
    }
  }

  async readResource(server: HostedServer, uri: string, options: HostCallOptions): Promise<ReadResourceResult> {
    const logged = new LoggedCall("resource", server, uri, undefined, options);
    this.#begin(logged);
    const client = server.client ?? (await this.#connect(logged));
    await this.#permitted(logged, this.#options.consent.permitResource(logged.id, server, uri, options));
    const request: ServerRequest<ReadResourceResult> = (running, call) => running.readResource(uri, call);
    const result = await this.#perform(logged, client, request);
    options.conversation?.resourcesFrom.add(server.name);
    return result;
  }

  /**
   * Reads a file of a skill that the user has allowed, or allows by `permit`. What a skill says is untrusted, whatever its
   * server's settings.
   */
  async readSkill(
    server: HostedServer,
    uri: string,
    options: HostCallOptions,
    request: ServerRequest<ReadResourceResult>,
    permit?: (id: string) => Promise<void>,
  ): Promise<void> {
    const logged = new LoggedCall("resource", server, uri, undefined, options);
    this.#begin(logged);
    const client = server.client ?? (await this.#connect(logged));
    if (permit) await this.#permitted(logged, permit(logged.id));
    options.conversation?.contentFrom.add(server.name);
    await this.#perform(logged, client, request);
    options.conversation?.resourcesFrom.add(server.name);
  }

  async getPrompt(
    server: HostedServer,
    name: string,
    args: { [name: string]: string },
    options: HostCallOptions,
  ): Promise<GetPromptResult> {
    const logged = new LoggedCall("prompt", server, name, args, options);
    this.#begin(logged);
    const client = server.client ?? (await this.#connect(logged));
    const request: ServerRequest<GetPromptResult> = (running, call) => running.getPrompt(name, args, call);
    const result = await this.#perform(logged, client, request);
    const blocks = result.messages.map(({ content }) => content);
    noteResources(server, blocks, options);
    return result;
  }

  #callTool(logged: LoggedCall, client: Client, args: JsonObject, start?: TaskStart): Promise<CallToolResult> {
    const { id, server, name, options } = logged;
    const { tasks } = this.#options;
    if (options.by === "user" && this.#isUnlisted(server, name)) {
      return this.#perform(logged, client, (running, call) =>
        tasks ? tasks.call(running, logged, args, call, start) : running.callTool(name, args, call),
      );
    }
    let tool: CatalogTool;
    try {
      tool = this.#checkTool(logged);
    } catch (reason) {
      return this.#reviewed(logged, reason).then(() => this.#callTool(logged, client, args, start));
    }
    const request: ServerRequest<CallToolResult> = (running, call) => {
      // After a restart the server may be a different one, and the definition may have changed while the caller got ready.
      if (running !== client || options.beforeSend) this.#checkSame(server, tool);
      const called = tasks ? tasks.call(running, logged, args, call, start) : running.callTool(name, args, call);
      return options.conversation ? called.then((result) => noteResultResources(server, result, options)) : called;
    };
    let approval: Promise<void> | undefined;
    try {
      approval = this.#options.consent.permitTool(id, server, tool, args, options);
    } catch (reason) {
      throw this.#refuse(logged, reason);
    }
    if (!approval) return this.#perform(logged, client, request);
    return approval.then(
      () => {
        try {
          // Checked again, because the definition may have changed while the user decided.
          this.#checkTool(logged, tool);
        } catch (reason) {
          return this.#reviewed(logged, reason).then(() => this.#callTool(logged, client, args, start));
        }
        return this.#perform(logged, client, request);
      },
      (reason) => {
        throw this.#refuse(logged, reason);
      },
    );
  }

  /** Begins a call. Throws if a required log cannot be written. */
  #begin(logged: LoggedCall): void {
    const { activity, callLog, feed } = this.#options;
    activity.ready();
    this.#count += 1;
    logged.id = `${this.#name}-${this.#count}`;
    callLog.add(logged);
    if (feed.hasReaders) feed.emit(callEvent(logged));
  }

  /** Returns the client of the server; logs a server that cannot be reached. */
  async #connect(logged: LoggedCall): Promise<Client> {
    const { server, options } = logged;
    try {
      return await this.#use(logged);
    } catch (reason) {
      markUntrusted(server, options);
      throw this.#refuse(logged, reason, true);
    }
  }

  /** Returns the client of the server. A cancelled call stops waiting for it. */
  async #use(logged: LoggedCall): Promise<Client> {
    const { server, options } = logged;
    const { signal } = options;
    const stop = new AbortController();
    const stopWaiting = signal && onAbort(signal, () => stop.abort(signal.reason));
    if (signal?.aborted) stop.abort(signal.reason);
    logged.running = { cancel: (reason) => stop.abort(reason) };
    if (logged.cancelled) stop.abort(logged.cancelled);
    try {
      return await server.use(stop.signal);
    } finally {
      stopWaiting?.();
      logged.running = undefined;
    }
  }

  /** Waits for the user's consent. */
  async #permitted(logged: LoggedCall, approval: Promise<void>): Promise<void> {
    try {
      await approval;
    } catch (reason) {
      throw this.#refuse(logged, reason);
    }
  }

  /**
   * Ends a call that was not sent, and returns the reason. `mustLog` is false for a refusal by the user or a rule, which is in
   * the log already.
   */
  #refuse(logged: LoggedCall, thrown: unknown, mustLog = false): unknown {
    const { callLog } = this.#options;
    const reason = logged.cancelled ?? thrown;
    const failure = failureOf(logged, reason);
    if (mustLog) callLog.endUnsent(logged, failure);
    else callLog.remove(logged);
    this.#emitEnd(logged, reason instanceof DeniedError ? { ...failure, how: "refused" } : failure);
    return reason;
  }

  /** Returns the tool if it may be called and has not changed. */
  #checkTool({ server, name, options }: LoggedCall, previous?: CatalogTool): CatalogTool {
    const tool = previous ? this.#checkSame(server, previous) : this.#find(server, name);
    const { by = "model" } = options;
    // Enforced here, because neither a model nor a page can be trusted to leave alone what it is not shown.
    if (by !== "user" && !tool.isFor[by]) throw notFor(by, tool);
    return tool;
  }

  /** Asks the user about a changed definition, where that is possible; ends the call otherwise. */
  async #reviewed(logged: LoggedCall, refusal: unknown): Promise<void> {
    const { catalog, questions, review } = this.#options;
    const { server, name, options } = logged;
    const { by = "model", answers } = options;
    const tool = catalog.tool(server.name, name);
    const mayCall = tool?.isQuarantined && (by === "user" || tool.isFor[by]);
    if (!mayCall || !questions.canAsk("changed", answers)) throw this.#refuse(logged, refusal, true);
    await this.#permitted(logged, review.ask(logged, tool.definition));
  }

  /** True if a tool is unknown because its server answers no list of tools. A user may name such a tool, a model not. */
  #isUnlisted(server: HostedServer, name: string): boolean {
    if (this.#options.catalog.tool(server.name, name)) return false;
    const problems = server.status.listProblems ?? [];
    return problems.some(({ list, kind }) => list === "tools" && (kind === "failed" || kind === "unsupported"));
  }

  #find(server: HostedServer, name: string): CatalogTool {
    const tool = this.#options.catalog.tool(server.name, name);
    if (!tool) {
      const similar = this.#options.catalog
        .search(name, { server: server.name, limit: 3 })
        .map((advice) => advice.name);
      const advice = similar.length === 0 ? "" : `; did you mean ${similar.join(" or ")}?`;
      throw new PortolanError("invalid-argument", `${server.name} has no tool ${JSON.stringify(name)}${advice}`);
    }
    if (tool.isQuarantined) throw definitionChanged(server, name);
    return tool;
  }

  #checkSame(server: HostedServer, { name, digest }: CatalogTool): CatalogTool {
    const tool = this.#find(server, name);
    if (tool.digest !== digest) throw definitionChanged(server, name);
    return tool;
  }

  /** Sends a request and logs its outcome. Hot path: one promise, and no async function. */
  #perform<T extends object>(
    logged: LoggedCall,
    client: Client,
    request: ServerRequest<T>,
    isReady = false,
  ): Promise<T> {
    const { callLog, clock } = this.#options;
    const { beforeSend } = logged.options;
    if (beforeSend && !isReady) {
      return beforeSend().then(
        () => this.#perform(logged, client, request, true),
        (reason) => {
          throw this.#refuse(logged, reason, true);
        },
      );
    }
    // Cancelled in the moment between the user's consent and this one.
    if (logged.cancelled) return Promise.reject(this.#refuse(logged, logged.cancelled, true));
    logged.startedAt = clock.now();
    callLog.markSent(logged);
    const call = this.#callOptions(logged);
    const succeed = (result: T) => this.#succeed(logged, result);
    let sent: Promise<T>;
    try {
      sent = request(client, call);
    } catch (thrown) {
      // A request that cannot be sent is a rejection, too.
      sent = Promise.reject(thrown);
    }
    return sent.then(succeed, (thrown) => {
      if (!wasNotSent(thrown)) return this.#fail(logged, thrown);
      const sentAgain = this.#sendAgain(logged, request, call);
      return sentAgain.then(succeed, (reason) => this.#fail(logged, reason));
    });
  }

  #succeed<T extends object>(logged: LoggedCall, result: T): T {
    const { callLog, feed, clock, visits } = this.#options;
    const { server, options } = logged;
    if (logged.app === undefined) server.heard();
    callLog.end(logged, clock.now() - logged.startedAt, result);
    if (feed.hasReaders) this.#emitEnd(logged);
    if (visits.open.size > 0) visits.callEnded(logged.id);
    if (options.conversation) markUntrusted(server, options);
    return result;
  }

  #fail(logged: LoggedCall, thrown: unknown): never {
    const { callLog, clock, visits } = this.#options;
    const { server, options } = logged;
    if (thrown instanceof RpcError && logged.app === undefined) server.heard();
    const reason = logged.cancelled ?? thrown;
    const failure = failureOf(logged, reason);
    if (reason instanceof TaskDetachedError) callLog.detach(logged);
    else callLog.end(logged, clock.now() - logged.startedAt, undefined, failure);
    this.#emitEnd(logged, failure);
    visits.callEnded(logged.id);
    markUntrusted(server, options);
    throw reason;
  }

  /** Sends a call again, once, because it certainly did not reach the server. */
  async #sendAgain<T>(logged: LoggedCall, request: ServerRequest<T>, call: CallOptions): Promise<T> {
    return request(await this.#use(logged), call);
  }

  #callOptions(logged: LoggedCall): SerializedCallOptions {
    const { id, server, name, argsText, rewrite, options } = logged;
    const { feed, answersFor } = this.#options;
    if (options === noOptions && !feed.hasReaders) {
      return { serializedArguments: argsText, label: id, handle: logged };
    }
    const { signal, idleMs, totalMs, meta, onProgress, answers, run, argumentsText, output, onOutputProblems } =
      options;
    const wantsProgress = onProgress !== undefined || feed.hasReaders;
    return {
      serializedArguments: argsText,
      label: id,
      // The client refuses these for anything but a tool.
      ...(rewrite ? { rewrite } : argumentsText !== undefined && { argumentsText }),
      ...(output !== undefined && { output }),
      ...(onOutputProblems && { onOutputProblems }),
      handle: logged,
      ...(signal && { signal }),
      ...(idleMs !== undefined && { idleMs }),
      ...(totalMs !== undefined && { totalMs }),
      ...(meta && { meta }),
      ...(wantsProgress && {
        onProgress: (progress) => {
          feed.emit({ kind: "progress", server: server.name, id, name, progress });
          onProgress?.(progress);
        },
      }),
      ...((answers || run !== undefined) && { answers: answersFor(server, options) }),
    };
  }

  #emitEnd(logged: LoggedCall, failure?: ShownFailure): void {
    const { feed, clock } = this.#options;
    if (feed.hasReaders) feed.emit(endedEvent(logged, logged.isSent ? clock.now() - logged.startedAt : 0, failure));
  }
}

/** True if a request certainly did not reach the server. */
function wasNotSent(thrown: unknown): boolean {
  return thrown instanceof CallFailure && !thrown.requestMayHaveRun && thrown.code === "connection-closed";
}

/** Returns why a call has no result, for the log. */
export function failureOf(
  { options, cancelled }: Pick<LoggedCall, "options" | "cancelled">,
  reason: unknown,
): LoggedFailure {
  const wasStopped = cancelled !== undefined || options.signal?.aborted === true;
  return { how: wasStopped ? "cancelled" : "failed", message: toError(reason).message };
}

/**
 * Serializes arguments once, for the server and the log. Returns undefined for invalid ones, which the client then
 * reports.
 */
function toJsonText(args: JsonObject | undefined): string | undefined {
  try {
    return JSON.stringify(args);
  } catch {
    return undefined;
  }
}

/** Reads arguments that are sent as the user wrote them. */
function readVerbatim(
  name: string,
  args: JsonObject,
  { by = "model", argumentsText = "" }: HostCallOptions,
): VerbatimArguments {
  const what = `callTool "${name}"`;
  // Numbers may have digits that JavaScript does not read: a question about the call could show other values than are sent.
  const why =
    by !== "user"
      ? 'only for calls with `by: "user"`, which are not asked about'
      : Object.keys(args).length > 0 && "expected no arguments beside it";
  if (why) throw new PortolanError("invalid-argument", `${what}: argumentsText: ${why}`);
  return readArgumentsText(argumentsText, what);
}

function notFor(by: "model" | "app", { server, name }: CatalogTool): PortolanError {
  const whose = by === "app" ? "models, not for apps" : "the server's apps, not for models";
  return denied(`${server}.${name}`, `is for ${whose}`, "not-for-caller");
}

function definitionChanged(server: HostedServer, name: string): PortolanError {
  return denied(
    `${server.name}.${name}`,
    "is blocked: its definition changed since it was accepted. Review it with changedDefinitions(), then accept() it",
    "definition-changed",
  );
}

/** One call while it runs, and its entry in the log. */
export class LoggedCall implements CallHandle {
  readonly kind: "call" | "resource" | "prompt";
  /** Empty until it begins. */
  id = "";
  readonly server: HostedServer;
  readonly name: string;
  readonly args: JsonObject | undefined;
  readonly options: HostCallOptions;
  /** The URI of the app that offers the tool; undefined for a tool of the server itself. */
  readonly app: string | undefined;
  /** The arguments as they were sent. */
  argsText: string | undefined = undefined;
  /** Defined for arguments whose text the caller has written. */
  rewrite: SerializedCallOptions["rewrite"];
  /** When it was sent, by the host's clock. */
  startedAt = 0;
  /** Milliseconds since 1970. */
  readonly beganAt: number = Date.now();
  /** The step that can be cancelled now. */
  running: { cancel(reason: Error): void } | undefined = undefined;
  /** Why the user has cancelled it. */
  cancelled: CallFailure | undefined = undefined;
  isSent = false;
  /** Its beginning is in the log. */
  isLogged = false;
  /**
   * Links of the list of running calls, in the order of their beginning. A `Set` would cost more than the rest of the log.
   */
  previous: LoggedCall | undefined = undefined;
  next: LoggedCall | undefined = undefined;
  isOpen = false;

  constructor(
    kind: LoggedCall["kind"],
    server: HostedServer,
    name: string,
    args: JsonObject | undefined,
    options: HostCallOptions,
    app?: string,
  ) {
    this.kind = kind;
    this.server = server;
    this.name = name;
    this.args = args;
    this.options = options;
    this.app = app;
  }
}

/** Why a call has no result, as the log has it. */
export interface LoggedFailure {
  readonly how: "cancelled" | "failed";
  readonly message: string;
}

/** Why a call has no result, as events have it: in the log a refusal is an entry of its own. */
export interface ShownFailure extends Omit<LoggedFailure, "how"> {
  readonly how: LoggedFailure["how"] | "refused";
}

/** A call that became a task, at its end. */
export interface EndedTask {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly ms: number;
  readonly result: object | undefined;
  readonly failure: LoggedFailure | undefined;
}

/** Logs calls: quick ones in one entry, longer ones at their beginning and at their end. Knows those that run. */
export class CallLog {
  readonly #activity: ActivityLog;
  readonly #clock: Clock;
  #first: LoggedCall | undefined;
  #last: LoggedCall | undefined;
  #isTimerSet = false;

  constructor(activity: ActivityLog, clock: Clock) {
    this.#activity = activity;
    this.#clock = clock;
  }

  /** The calls that have begun and not ended. */
  get running(): LoggedCall[] {
    const all: LoggedCall[] = [];
    for (let logged = this.#first; logged; logged = logged.next) all.push(logged);
    return all;
  }

  /** Adds a call to the running ones; it may still need consent. `end`, `endUnsent`, `detach` and `remove` take it out. */
  add(logged: LoggedCall): void {
    logged.isOpen = true;
    logged.previous = this.#last;
    if (this.#last) this.#last.next = logged;
    else this.#first = logged;
    this.#last = logged;
  }

  /** Notes that a call is sent. */
  markSent(logged: LoggedCall): void {
    logged.isSent = true;
    if (this.#isTimerSet) return;
    this.#isTimerSet = true;
    this.#clock.after(quickCallMs, () => this.#recordSent());
  }

  /** Logs the end of a call, with its result or its failure. */
  end(logged: LoggedCall, ms: number, result: object | undefined, failure?: LoggedFailure): void {
    const { kind, id, server, name, args, options, app } = logged;
    const kept = result && withoutProtocolMembers(result);
    this.remove(logged);
    if (logged.isLogged) {
      this.#activity.record({ kind: "result", of: kind, id, server: server.name, name, ms, ...failure, result: kept });
    } else if (kept && app !== undefined) {
      this.#activity.record({ ...entryOf(logged), ms, result: kept });
    } else if (kept) {
      const { by = "model", run } = options;
      this.#activity.record(new CallEntry(kind, id, server.name, name, by, run, args, logged.argsText, ms, kept));
    } else {
      this.#activity.record({ ...entryOf(logged), ms, ...failure });
    }
  }

  /** Logs the beginning of a call that goes on as a task, without its caller. `endTask` logs its end. */
  detach(logged: LoggedCall): void {
    this.remove(logged);
    if (!logged.isLogged) this.#activity.record(entryOf(logged));
  }

  /** Logs the end of a call that became a task, whose caller no longer waits for it. */
  endTask(ended: EndedTask): void {
    const { id, server, name, ms, result, failure } = ended;
    const kept = result && withoutProtocolMembers(result);
    this.#activity.record({ kind: "result", of: "call", id, server, name, ms, ...failure, result: kept });
  }

  /** Logs a call that was never sent. */
  endUnsent(logged: LoggedCall, failure: LoggedFailure): void {
    this.remove(logged);
    this.#activity.record({ ...entryOf(logged), ...failure });
  }

  /** Takes a call out of the running ones, and logs nothing. */
  remove(logged: LoggedCall): void {
    if (!logged.isOpen) return;
    const { previous, next } = logged;
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
    logged.isOpen = false;
    logged.previous = undefined;
    logged.next = undefined;
  }

  #recordSent(): void {
    this.#isTimerSet = false;
    for (let logged = this.#first; logged; logged = logged.next) {
      if (!logged.isSent || logged.isLogged) continue;
      logged.isLogged = true;
      this.#activity.record(entryOf(logged));
    }
  }
}

function entryOf({ kind, id, server, name, args, argsText, options, app }: LoggedCall): Activity {
  // The arguments as they were sent, because the caller may have changed the object since.
  const sent: unknown = argsText === undefined ? args : JSON.parse(argsText);
  // JSON leaves out members that are undefined.
  return { kind, id, server: server.name, name, app, by: options.by ?? "model", run: options.run, args: sent };
}

/** Returns a result without the members that the protocol adds. */
function withoutProtocolMembers(result: object): object {
  let others = 0;
  let isClean = true;
  for (const name in result) {
    if (protocolMembers[name]) isClean = false;
    else if (name !== "content") others += 1;
  }
  if (isClean) return result;
  // Hot path: most results have nothing else.
  if (others === 0 && "content" in result) return { content: result.content };
  const kept: { [name: string]: unknown } = {};
  for (const name in result) {
    if (!protocolMembers[name]) kept[name] = result[name as keyof typeof result];
  }
  return kept;
}

/** Members of results that belong to the protocol; without a prototype, because servers choose the names looked up. */
const protocolMembers: { readonly [name: string]: true | undefined } = Object.assign(Object.create(null), {
  _meta: true,
  resultType: true,
  ttlMs: true,
  cacheScope: true,
});
