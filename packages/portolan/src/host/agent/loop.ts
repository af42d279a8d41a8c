import { toError } from "../../client/failures.ts";
import type { Model } from "../../models/model.ts";
import type { SamplingContent, SamplingMessage, ToolResultContent } from "../../protocol/types/index.ts";
import type { Conversation, Host } from "../api.ts";
import { type CallRoom, digestOf, makeCall, Paused } from "./calls.ts";
import { fit } from "./context.ts";
import { systemPrompt } from "./instructions.ts";
import { Aside, type Presentation, toAttachment, toMessages } from "./prompt.ts";
import type { RunDone, RunEnd, RunEvent, RunOptions, RunState, Task, WantedCall } from "./run.ts";
import { isState, messagesOf, resultsIn } from "./state.ts";
import { Toolbox } from "./toolbox.ts";
import { readTurn, type Turn } from "./turn.ts";

/** Of what the model can take, so much at most goes to the tools it is shown. */
const toolShare = 0.25;
const sideBySide = 8;

/** What a run works with. */
export interface LoopOptions {
  readonly id: string;
  readonly host: Pick<Host, "callTool" | "readResource" | "getPrompt" | "catalog" | "servers">;
  readonly model: Model;
  readonly task: Task | RunState;
  readonly options: RunOptions;
  readonly signal: AbortSignal;
  readonly tell: (event: RunEvent) => Promise<void>;
  /** Has the servers started whose offers are not known yet; gives the names of those that failed, and why. */
  readonly prepare: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Whether the words of a server may be taken for what they are. */
  readonly trustsContent: (server: string) => boolean;
  /** Whether a tool only reads, as far as its server is believed: such calls are made side by side. */
  readonly isSafe: (server: string, tool: string) => boolean;
}

/** A model that calls tools until it has said all it has to say, or something stops it. */
export class Loop {
  readonly #with: LoopOptions;
  readonly #conversation: Conversation;
  readonly #toolbox: Toolbox;
  readonly #aside: Aside;
  readonly #presentation: Presentation;
  readonly #contextTokens: number;
  readonly #usage: { inputTokens: number; outputTokens: number } = { inputTokens: 0, outputTokens: 0 };
  #messages: SamplingMessage[];
  #pending: readonly WantedCall[];
  #results: readonly ToolResultContent[];
  /** Answers to what is pending at the beginning; they hold for nothing that comes later. */
  #decisions: RunOptions["decisions"];
  #turns: number;
  #calls: number;
  #text = "";

  constructor(options: LoopOptions) {
    this.#with = options;
    const { task, model } = options;
    const { contextTokens = model.capabilities.contextTokens ?? 32_000, history = [], decisions } = options.options;
    const state = isState(task) ? task : undefined;
    const before = state ?? ("messages" in history ? history : undefined);
    this.#contextTokens = contextTokens;
    this.#messages = [...(state?.messages ?? messagesOf(history))];
    this.#pending = state?.pending ?? [];
    this.#results = state ? resultsIn(state) : [];
    this.#decisions = decisions;
    this.#turns = state?.turns ?? 0;
    this.#calls = state?.calls ?? 0;
    this.#conversation = {
      contentFrom: new Set(before?.contentFrom),
      resourcesFrom: new Set(before?.resourcesFrom),
    };
    this.#aside = new Aside(before?.aside ?? {});
    this.#toolbox = new Toolbox(options.host.catalog, {
      maxTokens: contextTokens * toolShare,
      found: before?.found ?? [],
      ...pick(options.options),
    });
    this.#presentation = { model, aside: this.#aside, maxChars: options.options.maxResultChars ?? 20_000 };
  }

  /** Works until the end and tells it; never rejects. */
  async run(): Promise<RunDone> {
    let reason: RunEnd;
    let error: Error | undefined;
    try {
      reason = await this.#work();
    } catch (thrown) {
      reason = this.#with.signal.aborted ? "cancelled" : "failed";
      error = toError(thrown);
    }
    const done: RunDone = {
      type: "done",
      reason,
      text: this.#text,
      usage: this.#usage,
      state: this.#state,
      ...(error && { error }),
    };
    await this.#with.tell(done);
    return done;
  }

  async #work(): Promise<RunEnd> {
    const { task, options, model, tell, prepare, signal } = this.#with;
    if (model.notice !== undefined) await tell({ type: "notice", text: `${model.id}: ${model.notice}` });
    for (const text of await prepare(signal)) await tell({ type: "notice", text });
    if (!isState(task)) this.#messages.push(...(await this.#begin(task)));
    const { maxTurns = 20, maxCalls = 100 } = options;
    for (;;) {
      if (this.#calls + this.#pending.length > maxCalls) return "max-calls";
      if (this.#pending.length + this.#results.length > 0) {
        const isDone = await this.#makeCalls();
        if (!isDone) return "approval";
      }
      if (this.#turns >= maxTurns) return "max-turns";
      const turn = await this.#speak();
      if (turn === undefined) return "context";
      if (turn.calls.length === 0 && turn.unreadable.length === 0) return endOf(turn.stopReason);
      this.#pending = turn.calls;
      // A call that cannot be read has its answer at once.
      this.#results = turn.unreadable.map(({ id, name }) => refuse(id, name));
    }
  }

  /** What the user says: the task, a server's prompt, and the resources that go with it. */
  async #begin(task: Task): Promise<SamplingMessage[]> {
    const { host, model, options, signal, id: run } = this.#with;
    const call = { by: "user", run, conversation: this.#conversation, signal } as const;
    const messages: SamplingMessage[] = [];
    let words = typeof task === "string" ? task : task.text;
    if (typeof task !== "string") {
      const prompt = await host.getPrompt(task.server, task.prompt, task.args ?? {}, call);
      messages.push(...toMessages(prompt, model));
    }
    const attached: SamplingContent[] = [];
    for (const { server, uri } of options.attach ?? []) {
      const contents = await host.readResource(server, uri, call);
      attached.push(...toAttachment(server, uri, contents, this.#presentation));
    }
    if (attached.length > 0) words ??= "Use what is attached.";
    if (words !== undefined) messages.push({ role: "user", content: [...attached, { type: "text", text: words }] });
    return messages;
  }

  /** Has the model speak once; undefined when there is no room for what it would have to read. */
  async #speak(): Promise<Turn | undefined> {
    const { model, options, host, signal, tell } = this.#with;
    const { maxTokens = 4_096 } = options;
    if (!this.#aside.isEmpty) this.#toolbox.offerMore();
    const servers = options.servers ?? host.servers.map(({ name }) => name);
    const system = systemPrompt(options.system, host.catalog, servers);
    const tools = model.capabilities.tools ? this.#toolbox.tools() : [];
    const room = this.#contextTokens - Math.min(maxTokens, this.#contextTokens / 2);
    const messages = fit({ system, tools, messages: this.#messages }, room, this.#aside);
    if (!messages) return undefined;
    this.#messages = [...messages];
    this.#turns += 1;

    const turn = await readTurn(model, { system, messages, tools, maxTokens, signal }, tell);
    const { inputTokens = 0, outputTokens = 0 } = turn.usage ?? {};
    this.#usage.inputTokens += inputTokens;
    this.#usage.outputTokens += outputTokens;
    if (turn.usage) await tell({ type: "usage", model: turn.model, usage: turn.usage });
    this.#text = turn.text;
    if (turn.content.length > 0) this.#messages.push({ role: "assistant", content: [...turn.content] });
    return turn;
  }

  /** Makes the calls of a turn: those that only read side by side, the others one after the other. False when one must be approved first. */
  async #makeCalls(): Promise<boolean> {
    const room: CallRoom = {
      ...this.#with,
      run: this.#with.id,
      toolbox: this.#toolbox,
      conversation: this.#conversation,
      presentation: this.#presentation,
      decisions: this.#decisions ?? {},
    };
    for (const group of this.#groups()) {
      const results = await Promise.allSettled(group.map((call) => makeCall(call, room)));
      const made = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
      const ids = new Set(made.map(({ toolUseId }) => toolUseId));
      // At once, whatever became of the others: what is done must not be done again by whoever goes on from here.
      this.#results = [...this.#results, ...made];
      this.#pending = this.#pending.filter(({ id }) => !ids.has(id));
      this.#calls += made.length;
      const failed = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
      for (const reason of failed) if (!(reason instanceof Paused)) throw reason;
      if (room.signal.aborted) throw toError(room.signal.reason);
      // What comes after a call that waits may build on it.
      if (failed.length > 0) {
        this.#pending = this.#pending.map((call) => ({ ...call, digest: digestOf(call, this.#toolbox) }));
        return false;
      }
    }
    this.#decisions = undefined;
    this.#messages.push({ role: "user", content: [...this.#results] });
    this.#results = [];
    return true;
  }

  #groups(): WantedCall[][] {
    const groups: WantedCall[][] = [];
    let isOpen = false;
    for (const call of this.#pending) {
      const tool = this.#toolbox.find(call.name);
      const isSafe = tool !== undefined && this.#with.isSafe(tool.server, tool.name);
      const last = groups.at(-1);
      if (isSafe && isOpen && last && last.length < sideBySide) last.push(call);
      else groups.push([call]);
      isOpen = isSafe;
    }
    return groups;
  }

  get #state(): RunState {
    const { contentFrom, resourcesFrom } = this.#conversation;
    return {
      id: this.#with.id,
      messages: this.#messages,
      pending: this.#pending,
      results: this.#results.length === 0 ? [] : [{ role: "user", content: [...this.#results] }],
      contentFrom: [...contentFrom],
      resourcesFrom: [...resourcesFrom],
      found: this.#toolbox.found,
      aside: this.#aside.toJSON(),
      turns: this.#turns,
      calls: this.#calls,
    };
  }
}

function endOf(stopReason: string): RunEnd {
  if (stopReason === "maxTokens") return "max-tokens";
  return stopReason === "refusal" ? "refusal" : "done";
}

function refuse(toolUseId: string, name: string): ToolResultContent {
  const text = `The arguments of ${name} were not a JSON object. Call it again with one.`;
  return { type: "tool_result", toolUseId, content: [{ type: "text", text }], isError: true };
}

function pick({ servers, only, except }: RunOptions): Pick<RunOptions, "servers" | "only" | "except"> {
  return { ...(servers && { servers }), ...(only && { only }), ...(except && { except }) };
}
