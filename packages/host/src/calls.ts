import type { CallToolResult, ContentBlock, GetPromptResult, JsonObject, ReadResourceResult } from "portolan";
import { PortolanError } from "portolan";
import type { Answers, CallOptions, Client, Clock } from "portolan/client";
import { CallFailure } from "portolan/client";
import type { WrittenCallOptions } from "portolan/internal";
import { toError } from "portolan/internal";
import type { Activity, ActivityLog } from "./activity/index.ts";
import { CallEntry } from "./activity/writer.ts";
import type { HostCallOptions, HostEvent } from "./api.ts";
import type { Catalog, CatalogTool } from "./catalog/catalog.ts";
import { type Consent, denied } from "./consent.ts";
import type { Feed } from "./feed.ts";
import type { HostedServer } from "./hosted-server.ts";

/** Asks a server for something. */
type Act<T> = (client: Client, options: CallOptions) => Promise<T>;

/** What calls without wishes of their own are made with: nothing is made for them. */
export const plain: HostCallOptions & CallOptions = {};

/** What calls are made with. */
export interface CallsOptions {
  readonly catalog: Catalog;
  readonly consent: Consent;
  readonly diary: Diary;
  readonly feed: Feed<HostEvent>;
  readonly clock: Clock;
  /** How a server's questions are answered in the course of some call. */
  readonly answersFor: (server: HostedServer, options: HostCallOptions) => Answers;
}

/** Everything that is asked of servers on the user's behalf: agreed to, done, and written down. */
export class Calls {
  readonly #with: CallsOptions;
  /** A log holds the calls of many hosts, one after the other. */
  readonly #name = crypto.randomUUID().slice(0, 8);
  #count = 0;

  constructor(options: CallsOptions) {
    this.#with = options;
  }

  /** As few promises as can be, for a server that runs and a tool that a rule allows. */
  callTool(server: HostedServer, name: string, args: JsonObject, options: HostCallOptions): Promise<CallToolResult> {
    try {
      const deed = new LoggedCall("call", this.#begin(), server, name, args, options);
      deed.argsText = written(args);
      const { client } = server;
      if (client) return this.#callTool(deed, client, args);
      return this.#reach(deed).then((reached) => this.#callTool(deed, reached, args));
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  }

  async readResource(server: HostedServer, uri: string, options: HostCallOptions): Promise<ReadResourceResult> {
    const deed = new LoggedCall("resource", this.#begin(), server, uri, undefined, options);
    const client = server.client ?? (await this.#reach(deed));
    await this.#with.consent.permitResource(deed.id, server, uri, options);
    const act: Act<ReadResourceResult> = (running, call) => running.readResource(uri, call);
    const result = await this.#act(deed, client, act);
    options.conversation?.resourcesFrom.add(server.name);
    return result;
  }

  async getPrompt(
    server: HostedServer,
    name: string,
    args: { [name: string]: string },
    options: HostCallOptions,
  ): Promise<GetPromptResult> {
    const deed = new LoggedCall("prompt", this.#begin(), server, name, args, options);
    const client = server.client ?? (await this.#reach(deed));
    const act: Act<GetPromptResult> = (running, call) => running.getPrompt(name, args, call);
    const result = await this.#act(deed, client, act);
    const brings = result.messages.map(({ content }) => content);
    noteResources(server, brings, options);
    return result;
  }

  #callTool(deed: LoggedCall, client: Client, args: JsonObject): Promise<CallToolResult> {
    const { id, server, name, options } = deed;
    const tool = this.#known(deed);
    const act: Act<CallToolResult> = (running, call) => {
      // Another process may be another server.
      if (running !== client) this.#checkSame(server, tool);
      const called = running.callTool(name, args, call);
      return options.conversation ? called.then((result) => bringing(server, result, options)) : called;
    };
    const asking = this.#with.consent.permitTool(id, server, tool, args, options);
    if (!asking) return this.#act(deed, client, act);
    return asking.then(() => {
      // Looked at again: the user may have taken their time, and the server its chance.
      this.#known(deed, tool);
      return this.#act(deed, client, act);
    });
  }

  /** Nothing is done that could not be written down, where that is required. */
  #begin(): string {
    this.#with.diary.ready();
    this.#count += 1;
    return `${this.#name}-${this.#count}`;
  }

  /** The running server; that it cannot be reached is written down. */
  async #reach(deed: LoggedCall): Promise<Client> {
    const { server, options } = deed;
    try {
      return await server.use(options.signal);
    } catch (reason) {
      taint(server, options);
      this.#with.diary.fail(deed, failureOf(reason, options));
      throw reason;
    }
  }

  /** The tool that a deed is about, if it may be called and is still what it was; that it is not is written down. */
  #known(deed: LoggedCall, before?: CatalogTool): CatalogTool {
    try {
      return before ? this.#checkSame(deed.server, before) : this.#find(deed.server, deed.name);
    } catch (reason) {
      this.#with.diary.fail(deed, failureOf(reason, deed.options));
      throw reason;
    }
  }

  #find(server: HostedServer, name: string): CatalogTool {
    const tool = this.#with.catalog.tool(server.name, name);
    if (!tool) {
      const known = this.#with.catalog.search(name, { server: server.name, limit: 3 }).map((near) => near.name);
      const near = known.length === 0 ? "" : `; near to it are ${known.join(", ")}`;
      throw new PortolanError("invalid-argument", `${server.name} has no tool ${JSON.stringify(name)}${near}`);
    }
    if (tool.isQuarantined) throw changed(server, name);
    return tool;
  }

  #checkSame(server: HostedServer, { name, digest }: CatalogTool): CatalogTool {
    const tool = this.#find(server, name);
    if (tool.digest !== digest) throw changed(server, name);
    return tool;
  }

  /** Does it and writes down how it went. */
  async #act<T extends object>(deed: LoggedCall, client: Client, act: Act<T>): Promise<T> {
    const { diary, feed, clock } = this.#with;
    const { id, server, name, options } = deed;
    const begun = clock.now();
    diary.begin(deed);
    if (feed.isHeard) feed.tell({ kind: "call", server: server.name, id, name, ...runOf(options) });
    const call = this.#callOptions(deed);
    try {
      let result: T;
      try {
        result = await act(client, call);
      } catch (thrown) {
        result = await this.#again(thrown, deed, act, call);
      }
      diary.end(deed, clock.now() - begun, result);
      if (feed.isHeard) this.#tellEnd(deed, "done", begun);
      return result;
    } catch (thrown) {
      const failure = failureOf(thrown, options);
      diary.end(deed, clock.now() - begun, undefined, failure);
      this.#tellEnd(deed, failure.how, begun);
      throw thrown;
    } finally {
      taint(server, options);
    }
  }

  /** A call that certainly did not reach its server is made once more. */
  async #again<T>(thrown: unknown, { server, options }: LoggedCall, act: Act<T>, call: CallOptions): Promise<T> {
    const neverRan = thrown instanceof CallFailure && !thrown.requestMayHaveRun && thrown.code === "connection-closed";
    if (!neverRan) throw thrown;
    return act(await server.use(options.signal), call);
  }

  #callOptions({ id, server, name, argsText: argumentsText, options }: LoggedCall): WrittenCallOptions {
    const { feed, answersFor } = this.#with;
    if (options === plain && !feed.isHeard) return { argumentsText };
    const { signal, idleMs, totalMs, meta, onProgress, answers, run } = options;
    const hears = onProgress !== undefined || feed.isHeard;
    return {
      argumentsText,
      ...(signal && { signal }),
      ...(idleMs !== undefined && { idleMs }),
      ...(totalMs !== undefined && { totalMs }),
      ...(meta && { meta }),
      ...(hears && {
        onProgress: (progress) => {
          feed.tell({ kind: "progress", server: server.name, id, name, progress });
          onProgress?.(progress);
        },
      }),
      ...((answers || run !== undefined) && { answers: answersFor(server, options) }),
    };
  }

  #tellEnd({ id, server, name }: LoggedCall, how: "done" | "failed" | "cancelled", begun: number): void {
    const { feed, clock } = this.#with;
    feed.tell({ kind: "ended", server: server.name, id, name, how, ms: clock.now() - begun });
  }
}

function failureOf(thrown: unknown, { signal }: HostCallOptions): Failure {
  return { how: signal?.aborted ? "cancelled" : "failed", message: toError(thrown).message };
}

/** What a server says is in the conversation from now on; why it failed is in its own words, too. */
function taint({ name, entry }: HostedServer, { conversation }: HostCallOptions): void {
  if (conversation && entry.settings.trustContent !== true) conversation.contentFrom.add(name);
}

function bringing(server: HostedServer, result: CallToolResult, options: HostCallOptions): CallToolResult {
  noteResources(server, result.content, options);
  return result;
}

/** A resource is one, too, where a result or a prompt brings it along. */
function noteResources({ name }: HostedServer, blocks: readonly ContentBlock[], options: HostCallOptions): void {
  if (blocks.some((block) => block?.type === "resource")) options.conversation?.resourcesFrom.add(name);
}

/** Written once, for the server and for the log; undefined where that cannot be, which the client explains. */
function written(args: JsonObject): string | undefined {
  try {
    return JSON.stringify(args);
  } catch {
    return undefined;
  }
}

function changed(server: HostedServer, name: string): PortolanError {
  return denied(
    `${server.name}.${name} is not the tool that was accepted: its definition has changed; look at it (changedDefinitions) and accept it first`,
  );
}

/** Something that is asked of a server. */
export class LoggedCall {
  readonly kind: "call" | "resource" | "prompt";
  readonly id: string;
  readonly server: HostedServer;
  readonly name: string;
  readonly args: JsonObject | undefined;
  readonly options: HostCallOptions;
  /** The arguments as JSON, as they were sent. */
  argsText: string | undefined = undefined;
  /** Those that are open, in the order in which they began; a set would cost more than all else that a diary does. */
  before: LoggedCall | undefined = undefined;
  after: LoggedCall | undefined = undefined;
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

/** Why a deed has no result. */
export interface Failure {
  readonly how: "cancelled" | "failed";
  readonly message: string;
}

/** What takes longer is written down before it has ended. */
const shortMs = 100;

/** Writes down what is asked of servers and what came of it: what is quick in one entry, what takes longer in two. */
export class Diary {
  readonly #activity: ActivityLog;
  readonly #clock: Clock;
  /** What has begun and is not written down yet. */
  #first: LoggedCall | undefined;
  #last: LoggedCall | undefined;
  #isWatching = false;

  constructor(activity: ActivityLog, clock: Clock) {
    this.#activity = activity;
    this.#clock = clock;
  }

  /** Throws when nothing can be written down and all must be. */
  ready(): void {
    this.#activity.ready();
  }

  begin(deed: LoggedCall): void {
    deed.isOpen = true;
    deed.before = this.#last;
    if (this.#last) this.#last.after = deed;
    else this.#first = deed;
    this.#last = deed;
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#clock.after(shortMs, () => this.#writeOpen());
  }

  /** It came to an end: with a result, or because of something that was thrown. */
  end(deed: LoggedCall, ms: number, result: object | undefined, failure?: Failure): void {
    const { kind, id, server, name, args, options } = deed;
    const said = result && saidBy(result);
    if (!this.#take(deed)) {
      this.#activity.record({ kind: "result", of: kind, id, server: server.name, name, ms, ...failure, result: said });
    } else if (said) {
      const { by = "model", run } = options;
      this.#activity.record(new CallEntry(kind, id, server.name, name, by, run, args, deed.argsText, ms, said));
    } else {
      this.#activity.record({ ...entryOf(deed), ms, ...failure });
    }
  }

  /** It never began. */
  fail(deed: LoggedCall, failure: Failure): void {
    this.#activity.record({ ...entryOf(deed), ...failure });
  }

  #writeOpen(): void {
    this.#isWatching = false;
    for (let deed = this.#first; deed; deed = this.#first) {
      this.#take(deed);
      this.#activity.record(entryOf(deed));
    }
  }

  /** Whether it was not written down yet. */
  #take(deed: LoggedCall): boolean {
    if (!deed.isOpen) return false;
    const { before, after } = deed;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    deed.isOpen = false;
    deed.before = undefined;
    deed.after = undefined;
    return true;
  }
}

function entryOf({ kind, id, server, name, args, argsText, options }: LoggedCall): Activity {
  // As they were sent: their owner may have changed them since.
  const sent: unknown = argsText === undefined ? args : JSON.parse(argsText);
  // Members without a value are not written.
  return { kind, id, server: server.name, name, by: options.by ?? "model", run: options.run, args: sent };
}

/** A result without what the protocol adds to it, which says nothing of what was done. */
function saidBy(result: object): object {
  const said: { [name: string]: unknown } = {};
  for (const name in result) {
    if (name === "_meta" || name === "resultType" || name === "ttlMs" || name === "cacheScope") continue;
    said[name] = result[name as keyof typeof result];
  }
  return said;
}

/** The run that a call is part of, if it is. */
export function runOf({ run }: HostCallOptions): { run?: string } {
  return run === undefined ? {} : { run };
}
