import type { SamplingContent, SamplingMessage, ToolResultContent } from "portolan";
import { toError } from "portolan/internal";
import type { ContentOrigins, Host } from "../api.ts";
import { waitFor } from "../consent.ts";
import { display } from "../display/index.ts";
import { maxRunCalls, maxRunTurns, maxTurnTokens } from "../limits.ts";
import type { Model } from "../models/model.ts";
import { estimateTokens } from "../models/tokens.ts";
import { Checkpoints } from "./checkpoints.ts";
import { toAppWords, toAttachment, toMessages } from "./present.ts";
import { isState, messagesOf, Requests } from "./prompt.ts";
import type { RunDone, RunEnd, RunEvent, RunInput, RunOptions, RunState, RunTask } from "./run.ts";
import { RunTasks } from "./run-tasks.ts";
import { RunSkills } from "./skill-tools.ts";
import { type ModelTurn, readTurn } from "./turn.ts";
import { TurnCalls, withTasks } from "./turn-calls.ts";

/** Options of `Loop`. */
export interface LoopOptions {
  readonly id: string;
  readonly host: Pick<Host, "callTool" | "readResource" | "getPrompt" | "catalog" | "servers" | "tasks" | "skills">;
  readonly model: Model;
  readonly input: RunInput | RunState;
  readonly options: RunOptions;
  readonly signal: AbortSignal;
  readonly emit: (event: RunEvent) => Promise<void>;
  /** Starts the servers whose features are not known yet. Returns name and one sentence for each that failed. */
  readonly prepare: (signal: AbortSignal) => Promise<readonly (readonly [server: string, sentence: string])[]>;
  /** Resolves when the changes of lists are in the catalog. `called` are the servers that were called since. */
  readonly settleLists: (called: ReadonlySet<string>, signal: AbortSignal) => Promise<void>;
  /** True if a server's content is trusted. */
  readonly trustsContent: (server: string) => boolean;
  /** True if a tool is read-only, as far as its server is trusted. Such calls run in parallel. */
  readonly isReadOnly: (server: string, tool: string) => boolean;
}

/** The agent loop: a model that calls tools until it has finished or something stops it. */
export class Loop {
  readonly #options: LoopOptions;
  readonly #conversation: ContentOrigins;
  readonly #requests: Requests;
  readonly #tasks: RunTasks;
  readonly #skills: RunSkills;
  readonly #checkpoints: Checkpoints;
  readonly #turnCalls: TurnCalls;
  readonly #usage: { inputTokens: number; outputTokens: number } = { inputTokens: 0, outputTokens: 0 };
  #messages: SamplingMessage[];
  /** Answers for the calls that are pending at the start; not valid for later calls. */
  #decisions: RunOptions["decisions"];
  #turns: number;
  /** True if the model asked for nothing in its last turn. */
  #hasFinished: boolean;
  #text = "";
  /** Servers that were called in this turn, and may have changed their tools by that. */
  #called = new Set<string>();

  constructor(options: LoopOptions) {
    this.#options = options;
    const { input, model } = options;
    const { history = [], decisions } = options.options;
    const given = isState(input) ? input : "messages" in history ? history : undefined;
    const before = given && withTasks(given, options.host);
    const state = isState(input) ? before : undefined;
    this.#messages = [...(state?.messages ?? messagesOf(before ?? history))];
    this.#checkpoints = new Checkpoints(options.options.checkpoint, () => this.#state, options.signal);
    this.#turnCalls = new TurnCalls(state, this.#checkpoints, options.isReadOnly);
    this.#decisions = decisions;
    this.#turns = state?.turns ?? 0;
    this.#hasFinished = state?.isDone ?? false;
    this.#conversation = {
      contentFrom: new Set(before?.contentFrom),
      resourcesFrom: new Set(before?.resourcesFrom),
      skillsFrom: new Set(before?.skillsFrom),
    };
    this.#requests = new Requests(options.host, model, options.options, before);
    this.#skills = new RunSkills(options.host, this.#requests.toolbox.isWanted);
    const tasks = [...(before?.tasks ?? []), ...(before && !state ? detachedCalls(before, options.host) : [])];
    const { host, signal, emit } = options;
    this.#tasks = new RunTasks(
      {
        host,
        signal,
        emit,
        conversation: this.#conversation,
        presentation: this.#requests.presentation,
        answers: options.options.answers,
        // A failure ends the run at its next checkpoint.
        onResult: () => void this.#checkpoints.save().catch(() => {}),
      },
      tasks,
    );
  }

  /** Takes note of an event that the host has sent to the run. */
  observe(event: RunEvent): void {
    this.#turnCalls.observe(event);
  }

  /** Runs to the end and emits it. Never rejects. */
  async run(): Promise<RunDone> {
    let reason: RunEnd;
    let error: Error | undefined;
    try {
      reason = await this.#loop();
    } catch (thrown) {
      reason = this.#options.signal.aborted ? "cancelled" : "failed";
      error = toError(thrown);
    }
    await this.#checkpoints.end();
    await this.#tasks.end();
    const tasks = this.#tasks.all;
    // A run that is continued after its end takes another turn; only after a crash there is nothing to do.
    const { isDone: _, ...state } = this.#state;
    const done: RunDone = {
      type: "done",
      reason,
      text: this.#text,
      usage: this.#usage,
      ...(tasks.length > 0 && { tasks }),
      state,
      ...(error && { error }),
    };
    await this.#options.emit(done);
    return done;
  }

  async #loop(): Promise<RunEnd> {
    const { input, options, model, emit, prepare, signal } = this.#options;
    if (model.notice !== undefined) await emit({ type: "notice", text: `${model.id}: ${model.notice}` });
    for (const [server, text] of await prepare(signal)) await emit({ type: "notice", text, server });
    if (!isState(input)) {
      this.#messages.push(...(await this.#firstMessages(input)));
      await this.#checkpoints.save();
    }
    const { maxTurns = maxRunTurns, maxCalls = maxRunCalls } = options;
    const isNew = this.#messages.at(-1)?.role === "user" || !this.#turnCalls.isEmpty;
    // The model has finished its work: only the results of its tasks are new to it.
    if (!isNew && this.#tasks.all.length > 0) {
      await this.#tasks.one();
      if (!this.#takeEnded()) return "done";
    }
    if (this.#isDone) {
      this.#text = lastTextOf(this.#messages);
      return "done";
    }
    for (;;) {
      if (this.#turnCalls.made + this.#turnCalls.pending.length > maxCalls) return "max-calls";
      if (!this.#turnCalls.isEmpty) {
        const isDone = await this.#runCalls();
        if (!isDone) return "approval";
      }
      this.#takeEnded();
      if (this.#turns >= maxTurns) return "max-turns";
      const turn = await this.#takeTurn();
      if (turn === undefined) return "context";
      await this.#checkpoints.save();
      if (turn.calls.length === 0 && turn.unreadable.length === 0) {
        const end = endOf(turn.stopReason);
        if (end === "done" && this.#tasks.all.some(({ content }) => content)) continue;
        return end;
      }
    }
  }

  /** Adds the results of ended tasks to the conversation. Returns false if there are none. */
  #takeEnded(): boolean {
    const message = this.#tasks.take();
    if (message) this.#messages.push(message);
    return message !== undefined;
  }

  /** Returns the user's messages: the text, a server's prompt, and the attached resources. */
  async #firstMessages(input: RunInput): Promise<SamplingMessage[]> {
    const { host, model, options, signal, id: run, trustsContent } = this.#options;
    const call = { by: "user", run, conversation: this.#conversation, signal } as const;
    const messages: SamplingMessage[] = [];
    let text = typeof input === "string" ? input : input.text;
    if (typeof input !== "string") {
      const prompt = await host.getPrompt(input.server, input.prompt, input.args ?? {}, call);
      messages.push(...toMessages(prompt, model));
    }
    const { presentation } = this.#requests;
    const attached: SamplingContent[] = [];
    for (const item of options.attach ?? []) {
      const { server } = item;
      if ("app" in item) {
        attached.push(...toAppWords(item, presentation));
        if (!trustsContent(server)) this.#conversation.contentFrom.add(server);
        continue;
      }
      const contents = await host.readResource(server, item.uri, call);
      attached.push(...toAttachment(server, item.uri, contents, presentation));
    }
    this.#requests.resourceTokens += estimateTokens(attached);
    if (attached.length > 0) text ??= "Use the attached resources.";
    if (text !== undefined) messages.push({ role: "user", content: [...attached, { type: "text", text }] });
    return messages;
  }

  /** Lets the model take one turn. Returns undefined if its request does not fit into the context. */
  async #takeTurn(): Promise<ModelTurn | undefined> {
    const { model, options, signal, emit, settleLists } = this.#options;
    const { maxTokens = maxTurnTokens } = options;
    await settleLists(this.#called, signal);
    this.#called = new Set();
    await waitFor(this.#requests.toolbox.settleApps(), signal);
    for (const { server, message } of await this.#skills.update(signal)) {
      await emit({ type: "notice", server, text: `The skills of ${display(server)} are not all listed: ${message}` });
    }
    this.#requests.toolbox.skillTools = this.#skills.tools;
    const { system, tools, messages, tokens } = this.#requests.next(this.#messages);
    if (!messages) return undefined;
    this.#messages = [...messages];
    this.#turns += 1;
    await emit({ type: "context", tokens });

    const turn = await readTurn(model, { system, messages, tools, maxTokens, signal }, emit);
    const { inputTokens = 0, outputTokens = 0 } = turn.usage ?? {};
    this.#usage.inputTokens += inputTokens;
    this.#usage.outputTokens += outputTokens;
    if (turn.usage) await emit({ type: "usage", model: turn.model, usage: turn.usage });
    this.#text = turn.text;
    // Together, so that no state has the turn without its calls.
    if (turn.content.length > 0) this.#messages.push({ role: "assistant", content: [...turn.content] });
    // A call with invalid arguments gets its result at once.
    this.#turnCalls.begin(
      turn.calls,
      turn.unreadable.map(({ id, name }) => rejectArguments(id, name)),
    );
    this.#hasFinished = this.#turnCalls.isEmpty && endOf(turn.stopReason) === "done";
    return turn;
  }

  /** Makes the calls of a turn. Returns false if one needs approval first. */
  async #runCalls(): Promise<boolean> {
    for (const { name } of this.#turnCalls.pending) {
      const tool = this.#requests.toolbox.find(name);
      if (tool && !tool.offer) this.#called.add(tool.server);
    }
    const isDone = await this.#turnCalls.make({
      ...this.#options,
      run: this.#options.id,
      toolbox: this.#requests.toolbox,
      conversation: this.#conversation,
      presentation: this.#requests.presentation,
      tasks: this.#tasks,
      skills: this.#skills,
      decisions: this.#decisions ?? {},
    });
    if (!isDone) return false;
    this.#decisions = undefined;
    this.#messages.push({ role: "user", content: [...this.#turnCalls.results] });
    this.#turnCalls.begin([], []);
    return true;
  }

  /** True if nothing has come since the model has finished. */
  get #isDone(): boolean {
    return this.#hasFinished && this.#messages.at(-1)?.role === "assistant";
  }

  get #state(): RunState {
    const { contentFrom, resourcesFrom, skillsFrom = new Set() } = this.#conversation;
    const tasks = this.#tasks.all;
    const { pending, results, made } = this.#turnCalls;
    const { longResults, resourceTokens } = this.#requests;
    return {
      id: this.#options.id,
      // A copy, because the application may write it while the run goes on.
      messages: [...this.#messages],
      pending,
      results: results.length === 0 ? [] : [{ role: "user", content: [...results] }],
      contentFrom: [...contentFrom],
      resourcesFrom: [...resourcesFrom],
      ...(skillsFrom.size > 0 && { skillsFrom: [...skillsFrom] }),
      found: this.#requests.toolbox.found,
      ...(resourceTokens > 0 && { resourceTokens }),
      longResults: longResults.toJSON(),
      turns: this.#turns,
      calls: made,
      ...(this.#isDone && { isDone: true }),
      ...(tasks.length > 0 && { tasks }),
    };
  }
}

/** Returns the calls of an interrupted turn that went on as tasks. A new run hears of their results. */
function detachedCalls({ pending }: RunState, { catalog }: Pick<Host, "catalog">): RunTask[] {
  return pending.flatMap(({ id: callId, name, task: id }) => {
    const { server = "", name: tool = name } = catalog.byModelName(name) ?? {};
    return id === undefined ? [] : [{ id, callId, server, tool }];
  });
}

function lastTextOf(messages: readonly SamplingMessage[]): string {
  const blocks = [messages.at(-1)?.content ?? []].flat();
  return blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
}

function endOf(stopReason: string): RunEnd {
  if (stopReason === "maxTokens") return "max-tokens";
  return stopReason === "refusal" ? "refusal" : "done";
}

function rejectArguments(toolUseId: string, name: string): ToolResultContent {
  const text = `The arguments of ${name} were not a JSON object. Call it again with one.`;
  return { type: "tool_result", toolUseId, content: [{ type: "text", text }], isError: true };
}
