import type { Run, RunDone, RunEvent, RunInput, RunOptions, RunState } from "portolan-host";
import type { AppSession } from "portolan-host/apps";
import type { Model } from "portolan-host/models";
import type { Block, CallEnd, CallRecord, ContextTokens, ConversationHead } from "../../api.ts";
import type { ConsoleBase } from "../base.ts";
import type { CallRecords, EndedCall } from "../calls/calls.ts";
import { ApiRefusal, messageOf, toPageText } from "../failure.ts";
import { batchMs, maxBlocks, maxConversationChars, maxTitleChars, textSaveMs } from "../limits.ts";
import type { AnsweredQuestion } from "../questions/questions.ts";
import { type BegunRun, type ConversationContent, type ConversationSettings, toLines } from "./content.ts";
import { Journal } from "./journal.ts";

export interface ConversationParts {
  readonly base: ConsoleBase;
  readonly calls: CallRecords;
  readonly file: string;
  readonly findModel: (id: string) => Model | undefined;
  /** The apps that are open beside the conversation. */
  readonly apps: Iterable<AppSession>;
  /** Is told of each run that begins and ends. */
  readonly onRun: (run: Run, isRunning: boolean) => void;
}

/** How a run that was interrupted goes on. */
export type Uncertain = "ask-again" | "tell-model";

type NewBlock = Block extends infer B ? (B extends Block ? Omit<B, "id"> : never) : never;

/** One conversation: its blocks, its journal, and the run that works in it. */
export class Conversation {
  readonly id: string;
  readonly #parts: ConversationParts;
  readonly #content: ConversationContent;
  readonly #journal: Journal;
  /** True once it is deleted: pages get no more events of it, because they would show it again. */
  #isRemoved = false;
  #run: Run | undefined;
  /** Resolves when all events of the last run are in the journal's queue. */
  #following: Promise<void> = Promise.resolve();
  #tokens: ContextTokens | undefined;
  /** Open questions of the run. */
  readonly #waiting = new Set<string>();
  /** The block that text is appended to. */
  #open: Extract<Block, { kind: "text" | "thinking" }> | undefined;
  #saveTimer: NodeJS.Timeout | undefined;
  /** Text of the open block that was not sent yet. */
  #unsent: { readonly block: string; readonly from: number } | undefined;
  /** Calls that the user cancelled and that have not ended yet. */
  readonly #cancelled = new Set<string>();
  #sendTimer: NodeJS.Timeout | undefined;
  #nextBlock = 1;

  constructor(content: ConversationContent, parts: ConversationParts) {
    this.id = content.id;
    this.#content = content;
    this.#parts = parts;
    this.#journal = new Journal(parts.file, () => toLines(content));
    for (const id of content.blocks.keys()) this.#nextBlock = Math.max(this.#nextBlock, Number(id.slice(1)) + 1);
    if (content.begun) this.#markInterrupted();
  }

  get head(): ConversationHead {
    const { id, createdAt, changedAt, settings, usage } = this.#content;
    return {
      ...{ id, ...settings, createdAt, changedAt },
      state: this.#state,
      ...(this.#tokens && { tokens: this.#tokens }),
      ...(usage && { usage }),
    };
  }

  get blocks(): readonly Block[] {
    return [...this.#content.blocks.values()];
  }

  block(id: string): Block | undefined {
    return this.#content.blocks.get(id);
  }

  get #state(): ConversationHead["state"] {
    if (this.#run) return this.#waiting.size > 0 ? "waiting" : "running";
    if (this.#content.begun) return "interrupted";
    return this.#content.hasFailed ? "failed" : "idle";
  }

  /** Writes the first lines. */
  async create(): Promise<void> {
    for (const line of toLines(this.#content)) await this.#journal.append(line);
    this.#showHead();
  }

  async change(changed: Partial<ConversationSettings>): Promise<void> {
    this.#content.settings = { ...this.#content.settings, ...changed };
    this.#content.changedAt = Date.now();
    this.#showHead();
    await this.#journal.append({ set: changed, at: this.#content.changedAt });
  }

  /** Shows new tokens of an attached resource, or that it changed. */
  noteAttached(server: string, uri: string, facts: { readonly tokens?: number; readonly isChanged?: boolean }): void {
    const { attached } = this.#content.settings;
    if (!attached.some((one) => one.server === server && one.uri === uri)) return;
    const noted = attached.map((one) => (one.server === server && one.uri === uri ? { ...one, ...facts } : one));
    this.#content.settings = { ...this.#content.settings, attached: noted };
    this.#showHead();
  }

  /** Sends a message of the user to the model. Resolves when it is stored. */
  async send(task: RunInput): Promise<void> {
    this.#checkIdle();
    if (this.#content.blocks.size >= maxBlocks || this.#isTooLong) {
      throw new ApiRefusal("busy", "The conversation is too long.", { next: "Begin another one." });
    }
    const { attached, title } = this.#content.settings;
    const text = typeof task === "string" ? task : (task.text ?? "");
    const prompt = typeof task === "string" ? undefined : { server: task.server, name: task.prompt };
    // Unfinished calls of the last run belong to its state; the model is told that they were not made.
    const options = { ...this.#options(), ...this.#history() };
    const words = [...this.#parts.apps].flatMap((app) => app.takeContext() ?? []);
    const attach = [...attached.map(({ server, uri }) => ({ server, uri })), ...words];
    const begun = { task, attach };
    const run = this.#start(task, { ...options, attach }, begun);
    const ofApps = words.map(({ server, app: uri }) => ({ server, uri, name: "Words of its app" }));
    const block: NewBlock = {
      ...{ kind: "user", text, attached: [...attached, ...ofApps], at: Date.now() },
      ...(prompt && { prompt }),
    };
    const added = this.#add(block);
    const named = title === "" ? { title: titleOf(text || (prompt?.name ?? "")) } : {};
    await Promise.all([added, this.change({ ...named, attached: [] })]);
    this.#following = this.#follow(run);
  }

  /** Goes on with a run that was interrupted. */
  async continue(uncertain: Uncertain | undefined): Promise<void> {
    this.#checkIdle();
    const { begun, state } = this.#content;
    if (!begun) throw new ApiRefusal("busy", "The conversation was not interrupted.");
    const more = uncertain === undefined ? {} : { uncertain };
    const isStarted = state !== undefined && this.#isStateOf(state);
    const run = isStarted
      ? this.#start(state, { ...this.#options(), ...more }, begun)
      : this.#start(begun.task, { ...this.#options(), attach: begun.attach, ...this.#history() }, begun);
    await Promise.all(
      this.blocks.map((block) =>
        block.kind === "uncertain" && !block.isSettled ? this.#put({ ...block, isSettled: true }) : undefined,
      ),
    );
    this.#following = this.#follow(run);
  }

  cancel(): void {
    if (!this.#run) throw new ApiRefusal("busy", "The conversation is not running.");
    this.#run.cancel("cancelled by the user");
  }

  async preview(text: string): Promise<ContextTokens> {
    const { attached } = this.#content.settings;
    const words = [...this.#parts.apps].flatMap((app) => app.context ?? []);
    const attach = [...attached.map(({ server, uri }) => ({ server, uri })), ...words];
    const { checkpoint: _, ...options } = this.#options();
    const { host } = this.#parts.base;
    return (await host.preview(text, { ...options, attach, ...this.#history() })).tokens;
  }

  /** Resolves when everything that was shown so far is on the disk. */
  get stored(): Promise<void> {
    return this.#journal.written;
  }

  /** A question of the run is open. */
  asked(question: string, call: string | undefined): void {
    this.#waiting.add(question);
    if (call !== undefined) this.#parts.calls.change(call, { waitsFor: question });
    this.#showHead();
  }

  /** A question of the run has ended. */
  answered(question: string, { summary, grant }: AnsweredQuestion, subject: string, call: string | undefined): void {
    if (!this.#waiting.delete(question)) return;
    if (call !== undefined) this.#parts.calls.change(call, { waitsFor: "" });
    if (summary !== undefined) {
      this.#keep(
        this.#add({
          kind: "answered",
          question,
          summary,
          subject,
          at: Date.now(),
          ...(call !== undefined && { call }),
          ...(grant !== undefined && { grant }),
        }),
      );
    }
    this.#showHead();
  }

  /** Returns the record of a call of the present run. */
  callOf(callId: string | undefined): string | undefined {
    const block = callId === undefined ? undefined : this.block(this.#content.calls.get(callId) ?? "");
    return block?.kind === "call" ? block.call : undefined;
  }

  /** A call of the conversation has ended, or more is known of its end. */
  callEnded(record: CallRecord): void {
    for (const [callId, id] of this.#content.calls) {
      const block = this.block(id);
      if (block?.kind === "call" && block.call === record.id) this.#keep(this.#putCall(callId, record));
    }
  }

  async remove(): Promise<void> {
    this.#isRemoved = true;
    this.#run?.cancel("the conversation was removed");
    await this.#following;
    clearTimeout(this.#saveTimer);
    await this.#journal.remove();
  }

  async close(): Promise<void> {
    await this.#following;
    clearTimeout(this.#saveTimer);
    clearTimeout(this.#sendTimer);
    await this.#journal.close();
  }

  get #isTooLong(): boolean {
    let chars = 0;
    for (const block of this.#content.blocks.values()) chars += JSON.stringify(block).length;
    return chars > maxConversationChars;
  }

  #checkIdle(): void {
    if (this.#run) throw new ApiRefusal("busy", "The model is still working.", { next: "Wait for it, or stop it." });
  }

  /** True if the run of a state is the one that was interrupted, and not the one before it. */
  #isStateOf({ id }: RunState): boolean {
    return this.#content.begun?.run === id;
  }

  #history(): Pick<RunOptions, "history"> {
    const { state } = this.#content;
    return state ? { history: state } : {};
  }

  #options(): RunOptions {
    const { model: id, off } = this.#content.settings;
    const model = this.#parts.findModel(id);
    if (!model) {
      throw new ApiRefusal("not-found", `The model ${JSON.stringify(id)} is not there any more.`, {
        next: "Choose another model.",
      });
    }
    return {
      model,
      except: off,
      apps: this.#parts.apps,
      checkpoint: async (state) => {
        this.#content.state = state;
        await this.#journal.append({ checkpoint: state });
      },
    };
  }

  #start(task: RunInput | RunState, options: RunOptions, begun: BegunRun): Run {
    const run = this.#parts.base.host.run(task, options);
    this.#run = run;
    this.#content.begun = { ...begun, run: run.id };
    this.#content.hasFailed = false;
    this.#content.calls.clear();
    this.#parts.onRun(run, true);
    this.#keep(this.#journal.append({ begun: this.#content.begun }));
    return run;
  }

  async #follow(run: Run): Promise<void> {
    try {
      for await (const event of run.events()) this.#hear(event);
    } catch (reason) {
      this.#parts.base.onError(reason);
    }
  }

  #hear(event: RunEvent): void {
    const { calls } = this.#parts;
    switch (event.type) {
      case "text":
      case "thinking":
        this.#append(event.type, event.delta);
        return;
      case "tool":
        this.#hearTool(event);
        return;
      case "notice": {
        const { server } = event;
        const text = toPageText(event.text);
        // Each run says it: in one conversation once is enough, until something else is said.
        const last = this.blocks.findLast((block) => block.kind === "notice" && block.server === server);
        if (last?.kind === "notice" && last.text === text) return;
        this.#keep(this.#add({ kind: "notice", text, ...(server !== undefined && { server }) }));
        return;
      }
      case "usage": {
        const { inputTokens: input = 0, outputTokens: output = 0 } = event.usage;
        const { inputTokens = 0, outputTokens = 0 } = this.#content.usage ?? {};
        this.#content.usage = { inputTokens: inputTokens + input, outputTokens: outputTokens + output };
        this.#showHead();
        return;
      }
      case "context":
        this.#tokens = event.tokens;
        this.#showHead();
        return;
      case "task": {
        const call = this.callOf(event.task.callId);
        if (call !== undefined) calls.change(call, { task: event.task.id });
        return;
      }
      case "lost":
        this.#keep(this.#add({ kind: "notice", text: `${event.count} events of the run were lost.` }));
        return;
      case "done":
        this.#end(event);
        return;
      default:
        return;
    }
  }

  #hearTool(event: Extract<RunEvent, { type: "tool" }>): void {
    const { calls, base } = this.#parts;
    if (event.stage === "call") {
      const { id: callId, server, tool, app, args } = event;
      const run = this.#run;
      const record = calls.begin(
        {
          ...{ server, tool, by: "model", argumentsText: JSON.stringify(args), conversation: this.id },
          ...(app !== undefined && { app }),
        },
        () => {
          const running = base.host.calls.find((one) => one.run === run?.id && one.callId === callId);
          if (!running || !base.host.cancel(running.id)) return false;
          this.#cancelled.add(callId);
          return true;
        },
      );
      const block = this.#newId();
      this.#content.calls.set(callId, block);
      this.#keep(this.#putCall(callId, record));
      return;
    }
    const call = this.callOf(event.id);
    if (call === undefined) return;
    if (event.stage === "progress") calls.progress(call, event.progress);
    else {
      const isCancelled = this.#cancelled.delete(event.id) && event.result.isError === true;
      calls.end(call, isCancelled ? toCancelled(event) : toEnd(event));
    }
  }

  #putCall(callId: string, record: CallRecord): Promise<void> {
    const id = this.#content.calls.get(callId) ?? this.#newId();
    return this.#put({ id, kind: "call", call: record.id, record }, { callId });
  }

  #append(kind: "text" | "thinking", delta: string): void {
    const open = this.#open;
    if (open?.kind !== kind) {
      this.#closeText();
      const block = { id: this.#newId(), kind, text: delta };
      this.#open = block;
      this.#content.blocks.set(block.id, block);
      this.#publishBlock(block);
    } else {
      const { id, text: from } = open;
      const block = { ...open, text: from + delta };
      this.#open = block;
      this.#content.blocks.set(id, block);
      this.#unsent ??= { block: id, from: from.length };
      this.#sendTimer ??= setTimeout(() => this.#sendText(), batchMs);
    }
    // A crash loses at most the words of the last moment.
    this.#saveTimer ??= setTimeout(() => {
      this.#saveTimer = undefined;
      if (this.#open) this.#keep(this.#journal.append({ block: this.#open }));
    }, textSaveMs);
  }

  /** Sends the text that was appended since it was sent last. */
  #sendText(): void {
    clearTimeout(this.#sendTimer);
    this.#sendTimer = undefined;
    const { block = "", from = 0 } = this.#unsent ?? {};
    this.#unsent = undefined;
    const found = this.block(block);
    if (this.#isRemoved || (found?.kind !== "text" && found?.kind !== "thinking")) return;
    const delta = found.text.slice(from);
    this.#parts.base.publish({ kind: "delta", conversation: this.id, block, from, delta });
  }

  #closeText(isCut = false): void {
    if (!this.#open) return;
    this.#sendText();
    const block = isCut && this.#open.kind === "text" ? { ...this.#open, isCut } : this.#open;
    this.#open = undefined;
    this.#keep(this.#put(block));
  }

  #end({ reason, error, state }: RunDone): void {
    const run = this.#run;
    if (this.#parts.base.closing.aborted) {
      // The next start of the console goes on with it.
      this.#closeText(true);
      this.#content.state = state;
      this.#keep(this.#journal.append({ checkpoint: state }));
      return;
    }
    const hasFailed = reason === "failed" || reason === "context";
    this.#closeText(hasFailed || reason === "cancelled");
    for (const [callId, block] of this.#content.calls) {
      const call = this.callOf(callId);
      if (call === undefined || this.block(block)?.kind !== "call") continue;
      this.#parts.calls.end(call, { how: "cancelled", message: "The run ended first." });
    }
    if (reason !== "done") {
      this.#keep(this.#add({ kind: "end", reason, ...(error && { message: messageOf(error) }) }));
    }
    Object.assign(this.#content, { state, begun: undefined, hasFailed, changedAt: Date.now() });
    this.#run = undefined;
    this.#waiting.clear();
    const { usage, changedAt } = this.#content;
    this.#keep(this.#journal.append({ checkpoint: state, usage, ended: { hasFailed }, at: changedAt }));
    if (run) this.#parts.onRun(run, false);
    this.#showHead();
  }

  /** Says of an interrupted run what is known of it: its text was cut, and its calls may have taken effect. */
  #markInterrupted(): void {
    const { blocks, state } = this.#content;
    const begun = state?.pending.filter((call) => call.begun) ?? [];
    const unsent = new Set(state?.pending.filter((call) => !call.begun).map(({ id }) => this.#content.calls.get(id)));
    const last = this.blocks.at(-1);
    if (last?.kind === "text") blocks.set(last.id, { ...last, isCut: true });
    for (const block of this.blocks) {
      if (block.kind !== "call" || block.record.end) continue;
      const ms = Math.max(0, this.#content.changedAt - block.record.startedAt);
      const { waitsFor: _, visits: __, ...record } = block.record;
      // A call that was sent is marked before in the state of its run.
      const isUnsent = state !== undefined && this.#isStateOf(state) && unsent.has(block.id);
      const end: CallEnd = isUnsent
        ? { how: "unsent", ms: 0, message: "Not sent: you had not answered." }
        : { how: "unknown", ms, message: "The console ended while this call ran." };
      blocks.set(block.id, { ...block, record: { ...record, end } });
    }
    if (this.blocks.some((block) => block.kind === "uncertain" && !block.isSettled)) return;
    for (const { id: callId, name, input } of begun) {
      const call = blocks.get(this.#content.calls.get(callId) ?? "");
      const { server, tool } = call?.kind === "call" ? call.record : { server: "", tool: name };
      const id = this.#newId();
      const argumentsText = JSON.stringify(input);
      blocks.set(id, { id, kind: "uncertain", server, tool, argumentsText, isSettled: false });
    }
  }

  #newId(): string {
    const id = `b${this.#nextBlock}`;
    this.#nextBlock += 1;
    return id;
  }

  #add(block: NewBlock): Promise<void> {
    this.#closeText();
    return this.#put({ id: this.#newId(), ...block });
  }

  /** Shows a block, and stores it. */
  #put(block: Block, more: { readonly callId?: string } = {}): Promise<void> {
    // A new block ends the text before it; a new version of an earlier one does not.
    if (this.#open && !this.#content.blocks.has(block.id)) this.#closeText();
    this.#content.blocks.set(block.id, block);
    this.#publishBlock(block);
    return this.#journal.append({ block, ...more });
  }

  #publishBlock(block: Block): void {
    if (!this.#isRemoved) this.#parts.base.publish({ kind: "block", conversation: this.id, block });
  }

  #showHead(): void {
    if (!this.#isRemoved) this.#parts.base.publish({ kind: "conversation", conversation: this.head });
  }

  /** Reports a failure of the journal, where nobody waits for it. */
  #keep(written: Promise<void>): void {
    written.catch(this.#parts.base.onError);
  }
}

function titleOf(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length <= maxTitleChars ? line : `${line.slice(0, maxTitleChars - 1)}…`;
}

/** The result of a cancelled call is written by the host, not by the server. */
function toCancelled({ result }: Extract<RunEvent, { type: "tool"; stage: "result" }>): EndedCall {
  const [first] = result.content;
  const message = first?.type === "text" ? first.text : "You cancelled the call";
  return { how: "cancelled", message: message.replace(/\.?$/, ".") };
}

function toEnd(event: Extract<RunEvent, { type: "tool"; stage: "result" }>): EndedCall {
  const { result, refusal, mayHaveRun, seen } = event;
  if (refusal !== undefined) return { how: "refused", message: refusal };
  if (mayHaveRun) {
    const [first] = result.content;
    return { how: "unknown", result, ...(first?.type === "text" && { message: first.text }) };
  }
  return { how: "done", result, ...(seen && { seen }) };
}
