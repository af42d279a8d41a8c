import type { CallToolResult, ContentBlock, GetPromptResult, JsonObject, ReadResourceResult } from "portolan";
import { PortolanError, RpcError } from "portolan";
import type { Answers, CallOptions, Client, Clock } from "portolan/client";
import { CallFailure } from "portolan/client";
import type { OptionKinds, SerializedCallOptions } from "portolan/internal";
import { callOptionKinds, toError } from "portolan/internal";
import { CallEntry } from "./activity/entry-bytes.ts";
import type { Activity, ActivityLog } from "./activity/index.ts";
import type { HostCallOptions, HostEvent } from "./api.ts";
import type { Catalog, CatalogTool } from "./catalog/catalog.ts";
import { type Consent, denied } from "./consent.ts";
import type { Feed } from "./feed.ts";
import type { HostedServer } from "./hosted-server.ts";
import { quickCallMs } from "./limits.ts";
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
};

/** Parts of the host that calls use. */
export interface CallsOptions {
  readonly catalog: Catalog;
  readonly consent: Consent;
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

  /** Calls a tool with as few promises as possible where the server is connected and a rule allows the call. */
  callTool(
    server: HostedServer,
    name: string,
    args: JsonObject,
    options: HostCallOptions,
    start?: TaskStart,
  ): Promise<CallToolResult> {
    try {
      const logged = new LoggedCall("call", this.newId(), server, name, args, options);
      logged.argsText = toJsonText(args);
      const { client } = server;
      if (client) return this.#callTool(logged, client, args, start);
      return this.#connect(logged).then((connected) => this.#callTool(logged, connected, args, start));
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  }

  async readResource(server: HostedServer, uri: string, options: HostCallOptions): Promise<ReadResourceResult> {
    const logged = new LoggedCall("resource", this.newId(), server, uri, undefined, options);
    const client = server.client ?? (await this.#connect(logged));
    await this.#options.consent.permitResource(logged.id, server, uri, options);
    const request: ServerRequest<ReadResourceResult> = (running, call) => running.readResource(uri, call);
    const result = await this.#perform(logged, client, request);
    options.conversation?.resourcesFrom.add(server.name);
    return result;
  }

  /** Reads a file of a skill that the user has allowed. What a skill says is untrusted, whatever its server's settings. */
  async readSkill(
    server: HostedServer,
    uri: string,
    options: HostCallOptions,
    request: ServerRequest<ReadResourceResult>,
  ): Promise<void> {
    const logged = new LoggedCall("resource", this.newId(), server, uri, undefined, options);
    const client = server.client ?? (await this.#connect(logged));
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
    const logged = new LoggedCall("prompt", this.newId(), server, name, args, options);
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
    const tool = this.#checkTool(logged);
    const request: ServerRequest<CallToolResult> = (running, call) => {
      // After a restart the server may be a different one.
      if (running !== client) this.#checkSame(server, tool);
      const called = tasks ? tasks.call(running, logged, args, call, start) : running.callTool(name, args, call);
      return options.conversation ? called.then((result) => noteResultResources(server, result, options)) : called;
    };
    const approval = this.#options.consent.permitTool(id, server, tool, args, options);
    if (!approval) return this.#perform(logged, client, request);
    return approval.then(() => {
      // Checked again, because the definition may have changed while the user decided.
      this.#checkTool(logged, tool);
      return this.#perform(logged, client, request);
    });
  }

  /** Returns the id of the next call. Throws if a required log cannot be written. */
  newId(): string {
    this.#options.callLog.ready();
    this.#count += 1;
    return `${this.#name}-${this.#count}`;
  }

  /** Returns the client of the server; logs a server that cannot be reached. */
  async #connect(logged: LoggedCall): Promise<Client> {
    const { server, options } = logged;
    try {
      return await server.use(options.signal);
    } catch (reason) {
      markUntrusted(server, options);
      this.#options.callLog.fail(logged, failureOf(reason, options));
      throw reason;
    }
  }

  /** Returns the tool if it may be called and has not changed; logs the call otherwise. */
  #checkTool(logged: LoggedCall, previous?: CatalogTool): CatalogTool {
    try {
      const tool = previous ? this.#checkSame(logged.server, previous) : this.#find(logged.server, logged.name);
      const { by = "model" } = logged.options;
      // Enforced here, because neither a model nor a page can be trusted to leave alone what it is not shown.
      if (by !== "user" && !tool.isFor[by]) throw notFor(by, tool);
      return tool;
    } catch (reason) {
      this.#options.callLog.fail(logged, failureOf(reason, logged.options));
      throw reason;
    }
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
  #perform<T extends object>(logged: LoggedCall, client: Client, request: ServerRequest<T>): Promise<T> {
    const { callLog, feed, clock } = this.#options;
    logged.startedAt = clock.now();
    callLog.begin(logged);
    if (feed.hasReaders) {
      const { id, server, name, options } = logged;
      feed.emit({ kind: "call", server: server.name, id, name, ...runOf(options) });
    }
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
    const { callLog, feed, clock } = this.#options;
    const { server, options } = logged;
    server.heard();
    callLog.end(logged, clock.now() - logged.startedAt, result);
    if (feed.hasReaders) this.#emitEnd(logged, "done");
    if (options.conversation) markUntrusted(server, options);
    return result;
  }

  #fail(logged: LoggedCall, thrown: unknown): never {
    const { callLog, clock } = this.#options;
    const { server, options } = logged;
    if (thrown instanceof RpcError) server.heard();
    const isLeftRunning = thrown instanceof TaskDetachedError;
    if (isLeftRunning) callLog.leave(logged);
    const failure = failureOf(thrown, options);
    if (!isLeftRunning) callLog.end(logged, clock.now() - logged.startedAt, undefined, failure);
    this.#emitEnd(logged, failure.how);
    markUntrusted(server, options);
    throw thrown;
  }

  /** Sends a call again, once, because it certainly did not reach the server. */
  async #sendAgain<T>({ server, options }: LoggedCall, request: ServerRequest<T>, call: CallOptions): Promise<T> {
    return request(await server.use(options.signal), call);
  }

  #callOptions({ id, server, name, argsText: argumentsText, options }: LoggedCall): SerializedCallOptions {
    const { feed, answersFor } = this.#options;
    if (options === noOptions && !feed.hasReaders) return { argumentsText };
    const { signal, idleMs, totalMs, meta, onProgress, answers, run } = options;
    const wantsProgress = onProgress !== undefined || feed.hasReaders;
    return {
      argumentsText,
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

  #emitEnd({ id, server, name, startedAt }: LoggedCall, how: "done" | "failed" | "cancelled"): void {
    const { feed, clock } = this.#options;
    feed.emit({ kind: "ended", server: server.name, id, name, how, ms: clock.now() - startedAt });
  }
}

/** True if a request certainly did not reach the server. */
function wasNotSent(thrown: unknown): boolean {
  return thrown instanceof CallFailure && !thrown.requestMayHaveRun && thrown.code === "connection-closed";
}

/** Returns why a call has no result, for the log. */
export function failureOf(thrown: unknown, { signal }: HostCallOptions): CallFailed {
  return { how: signal?.aborted ? "cancelled" : "failed", message: toError(thrown).message };
}

/** Marks a server's content as part of the conversation. An error message is its content, too. */
export function markUntrusted(
  { name, entry }: HostedServer,
  { conversation }: Pick<HostCallOptions, "conversation">,
): void {
  if (conversation && entry.settings.trustContent !== true) conversation.contentFrom.add(name);
}

/** Notes resources that are embedded in a result, and returns it. */
export function noteResultResources(
  server: HostedServer,
  result: CallToolResult,
  options: Pick<HostCallOptions, "conversation">,
): CallToolResult {
  noteResources(server, result.content, options);
  return result;
}

/** Notes resources that are embedded in a result or a prompt. */
function noteResources(
  { name }: HostedServer,
  blocks: readonly ContentBlock[],
  options: Pick<HostCallOptions, "conversation">,
): void {
  if (blocks.some((block) => block?.type === "resource")) options.conversation?.resourcesFrom.add(name);
}

/**
 * Serializes arguments once, for the server and the log. Returns undefined for invalid ones, which the client then
 * reports.
 */
function toJsonText(args: JsonObject): string | undefined {
  try {
    return JSON.stringify(args);
  } catch {
    return undefined;
  }
}

function notFor(by: "model" | "app", { server, name }: CatalogTool): PortolanError {
  const whose = by === "app" ? "models, not for apps" : "the server's apps, not for models";
  return denied(`${server}.${name}`, `is for ${whose}`);
}

function definitionChanged(server: HostedServer, name: string): PortolanError {
  return denied(
    `${server.name}.${name}`,
    "is blocked: its definition changed since it was accepted. Review it with changedDefinitions(), then accept() it",
  );
}

/** One call while it runs, and its entry in the log. */
export class LoggedCall {
  readonly kind: "call" | "resource" | "prompt";
  readonly id: string;
  readonly server: HostedServer;
  readonly name: string;
  readonly args: JsonObject | undefined;
  readonly options: HostCallOptions;
  /** The arguments as they were sent. */
  argsText: string | undefined = undefined;
  startedAt = 0;
  /**
   * Links of the list of open calls, in the order of their beginning. A `Set` would cost more than the rest of the log.
   */
  previous: LoggedCall | undefined = undefined;
  next: LoggedCall | undefined = undefined;
  isOpen = false;

  constructor(
    kind: LoggedCall["kind"],
    id: string,
    server: HostedServer,
    name: string,
    args: JsonObject | undefined,
    options: HostCallOptions,
  ) {
    this.kind = kind;
    this.id = id;
    this.server = server;
    this.name = name;
    this.args = args;
    this.options = options;
  }
}

/** Why a call has no result. */
export interface CallFailed {
  readonly how: "cancelled" | "failed";
  readonly message: string;
}

/** A call that became a task, at its end. */
export interface EndedTask {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly ms: number;
  readonly result: object | undefined;
  readonly failure: CallFailed | undefined;
}

/** Logs calls: quick ones in one entry, longer ones at their beginning and at their end. */
export class CallLog {
  readonly #activity: ActivityLog;
  readonly #clock: Clock;
  /** Open calls that are not logged yet. */
  #first: LoggedCall | undefined;
  #last: LoggedCall | undefined;
  #isTimerSet = false;

  constructor(activity: ActivityLog, clock: Clock) {
    this.#activity = activity;
    this.#clock = clock;
  }

  /** Throws if the log is required and cannot be written. */
  ready(): void {
    this.#activity.ready();
  }

  begin(logged: LoggedCall): void {
    logged.isOpen = true;
    logged.previous = this.#last;
    if (this.#last) this.#last.next = logged;
    else this.#first = logged;
    this.#last = logged;
    if (this.#isTimerSet) return;
    this.#isTimerSet = true;
    this.#clock.after(quickCallMs, () => this.#recordOpen());
  }

  /** Logs the end of a call, with its result or its failure. */
  end(logged: LoggedCall, ms: number, result: object | undefined, failure?: CallFailed): void {
    const { kind, id, server, name, args, options } = logged;
    const kept = result && withoutProtocolMembers(result);
    if (!this.#unlink(logged)) {
      this.#activity.record({ kind: "result", of: kind, id, server: server.name, name, ms, ...failure, result: kept });
    } else if (kept) {
      const { by = "model", run } = options;
      this.#activity.record(new CallEntry(kind, id, server.name, name, by, run, args, logged.argsText, ms, kept));
    } else {
      this.#activity.record({ ...entryOf(logged), ms, ...failure });
    }
  }

  /** Logs the beginning of a call that goes on without its caller. */
  leave(logged: LoggedCall): void {
    if (this.#unlink(logged)) this.#activity.record(entryOf(logged));
  }

  /** Logs the end of a call that became a task, whose caller no longer waits for it. */
  endTask(ended: EndedTask): void {
    const { id, server, name, ms, result, failure } = ended;
    const kept = result && withoutProtocolMembers(result);
    this.#activity.record({ kind: "result", of: "call", id, server, name, ms, ...failure, result: kept });
  }

  /** Logs a call that was never sent. */
  fail(logged: LoggedCall, failure: CallFailed): void {
    this.#activity.record({ ...entryOf(logged), ...failure });
  }

  #recordOpen(): void {
    this.#isTimerSet = false;
    for (let logged = this.#first; logged; logged = this.#first) {
      this.#unlink(logged);
      this.#activity.record(entryOf(logged));
    }
  }

  /** Removes a call from the open ones. Returns false if its beginning is logged already. */
  #unlink(logged: LoggedCall): boolean {
    if (!logged.isOpen) return false;
    const { previous, next } = logged;
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
    logged.isOpen = false;
    logged.previous = undefined;
    logged.next = undefined;
    return true;
  }
}

function entryOf({ kind, id, server, name, args, argsText, options }: LoggedCall): Activity {
  // The arguments as they were sent, because the caller may have changed the object since.
  const sent: unknown = argsText === undefined ? args : JSON.parse(argsText);
  // JSON leaves out members that are undefined.
  return { kind, id, server: server.name, name, by: options.by ?? "model", run: options.run, args: sent };
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

/** Returns the run that a call belongs to, for an event or entry. */
export function runOf({ run }: HostCallOptions): { run?: string } {
  return run === undefined ? {} : { run };
}
