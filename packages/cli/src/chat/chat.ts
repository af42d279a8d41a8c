import type { CallToolResult } from "portolan";
import type { Host, Run, RunInput, RunState, ServerEntry } from "portolan-host";
import type { Model } from "portolan-host/models";
import { askMissingOfPrompt, proposeFor } from "../ask/missing.ts";
import type { CommandContext } from "../command.ts";
import { Failure, toFailure } from "../failure.ts";
import { chooseModel, showRetries } from "../models.ts";
import { showResult } from "../output/content.ts";
import { failureLines } from "../output/failure-lines.ts";
import { explainUnused } from "../servers/explain.ts";
import { QuestionDismissed, TypeAhead } from "../terminal/input.ts";
import { showCommand } from "./chat-commands.ts";
import { ChatHistory } from "./history.ts";
import { type AttachedResource, completeLine, parseLine } from "./line.ts";
import {
  modelHint,
  modelLabel,
  type NextSteps,
  runFailure,
  showRun,
  withoutNotice,
  withTurnEnds,
} from "./model-run.ts";
import { pickResource } from "./pick.ts";

/** One message of the person: what the conversation was before it, for `/undo`. */
interface Exchange {
  readonly said: string;
  readonly before: RunState | undefined;
  /** Tools that were called with success, as `server.tool`. */
  readonly calls: ReadonlySet<string>;
}

/** Options of a chat. */
export interface ChatOptions {
  /** The model to begin with, and others to change to. */
  readonly models: readonly [Model, ...Model[]];
  /** The entries of the host's servers. */
  readonly servers: readonly ServerEntry[];
  /** The calls that the person has allowed. */
  readonly approvedCalls: Set<string>;
}

/** A conversation with a model. */
export class Chat {
  readonly #context: CommandContext;
  readonly #host: Host;
  readonly #models: readonly Model[];
  readonly #servers: readonly ServerEntry[];
  readonly #approvedCalls: Set<string>;
  #model: Model;
  #history: ChatHistory | undefined;
  #attached: readonly AttachedResource[] = [];
  #state: RunState | undefined;
  #exchanges: Exchange[] = [];
  #run: Run | undefined;
  #lastResult: CallToolResult | undefined;
  /** True after `/clear`, which also forgets the last result. */
  #isCleared = false;
  /** Notices that were already shown. */
  readonly #notices = new Set<string>();
  /** Input after the current line, such as further pasted lines. */
  readonly #typed = new TypeAhead();

  constructor(context: CommandContext, host: Host, { models, servers, approvedCalls }: ChatOptions) {
    this.#context = context;
    this.#host = host;
    this.#models = models;
    this.#servers = servers;
    this.#approvedCalls = approvedCalls;
    this.#model = models[0];
  }

  /** Reads and handles lines until the person leaves: Ctrl-D, or Ctrl-C twice at the empty prompt. */
  async talk(): Promise<void> {
    const { onInterrupt, terminal, screen } = this.#context;
    this.#history = await ChatHistory.open(this.#context);
    // The person has just answered about these, and the first lines of the chat name them.
    for (const status of this.#host.servers.filter(({ state }) => state === "untrusted")) {
      const { message } = explainUnused(this.#context, this.#servers, status) ?? {};
      if (message !== undefined) this.#notices.add(message);
    }
    let interrupts = 0;
    const interrupted = () => {
      interrupts += 1;
      if (interrupts < 2) terminal.say(screen.style("dim", "press Ctrl-C again to leave"));
      return interrupts >= 2;
    };
    // Between two questions there is nothing to cancel.
    const release = onInterrupt(() => {
      terminal.say();
      return interrupted() ? "leave" : undefined;
    });
    try {
      for (;;) {
        const line = await this.#readLine();
        if (line === "leave") return;
        if (line === "cleared") interrupts = 0;
        else if (line === "cancel") {
          if (interrupted()) return;
        } else {
          interrupts = 0;
          if (await this.handleLine(line.said)) return;
        }
      }
    } finally {
      release();
    }
  }

  /** Cancels the answer that the model is giving. */
  cancelRun(): void {
    this.#run?.cancel("the user cancelled");
  }

  async #readLine(): Promise<{ readonly said: string } | "cancel" | "cleared" | "leave"> {
    const { terminal, screen, signal } = this.#context;
    const prompt = `${screen.style("bold", ">")} `;
    const models = this.#models.map(({ id }) => id);
    const complete = (line: string) => completeLine(line, this.#host, signal, models);
    const history = this.#history?.lines ?? [];
    try {
      const said = await terminal.ask(signal, () => terminal.line({ prompt, complete, history, typed: this.#typed }));
      await this.#history?.add(said);
      return { said };
    } catch (reason) {
      if (!(reason instanceof QuestionDismissed)) throw reason;
      if (reason.how === "decline") return "leave";
      return reason.typed === "" ? "cancel" : "cleared";
    }
  }

  /** Handles one line. Returns true when the conversation is over. */
  async handleLine(line: string): Promise<boolean> {
    const { terminal, screen, isJson, signal } = this.#context;
    if (line.trim() === "") return false;
    try {
      const said = parseLine(line, this.#host.catalog);
      if (said.kind === "command") {
        if (said.name === "quit") return true;
        await this.#runCommand(said.name, said.rest.trim());
      } else if (said.kind === "pick") {
        const picked = await pickResource(this.#context, this.#host, said.query);
        if (picked) {
          this.#attached = [...this.#attached, picked];
          terminal.say(`  ${screen.style("dim", `${screen.safe(picked.uri)} is attached to your next message`)}`);
        }
      } else if (said.kind === "prompt") {
        const { server, name, arguments: declared = [] } = said.prompt;
        const propose = proposeFor(this.#host, server, name, this.#context.signal);
        const args = await askMissingOfPrompt(this.#context, said.args, declared, propose);
        await this.#answer({ server, prompt: name, args }, [], line);
      } else {
        // Pasted text may name resources that the person did not notice.
        for (const { server, uri } of isJson ? [] : said.attach) {
          terminal.say(`  ${screen.style("dim", screen.safe(`${server}: ${uri} is attached`))}`);
        }
        await this.#answer(said.text, said.attach, line);
      }
    } catch (reason) {
      const { kind, message, next } = toFailure(reason);
      if (isJson) throw reason;
      // A question before the answer, such as for an argument of a prompt, was left with Ctrl-C.
      if (kind === "interrupted" && !signal.aborted) {
        terminal.say(screen.style("dim", "cancelled"));
        return false;
      }
      terminal.say(failureLines(screen, { kind, message, next }, terminal.columns).join("\n"));
    }
    return false;
  }

  async #runCommand(name: string, rest: string): Promise<void> {
    const { terminal, screen } = this.#context;
    const dim = (text: string) => terminal.say(`  ${screen.style("dim", screen.safe(text))}`);
    switch (name) {
      case "model":
        return this.#chooseModel(rest);
      case "clear":
        this.#state = undefined;
        this.#exchanges = [];
        this.#attached = [];
        this.#lastResult = undefined;
        this.#isCleared = true;
        return dim("New conversation: the model no longer sees the earlier messages.");
      case "undo":
        return this.#undo();
      case "result":
        if (this.#lastResult) return terminal.say(showResult(this.#lastResult, screen, ""));
        return dim(this.#isCleared ? "No tool was called since /clear." : "No tool was called yet.");
      default:
        return showCommand(this.#context, this.#host, name, rest);
    }
  }

  #chooseModel(named: string): void {
    const { terminal, screen, system } = this.#context;
    if (named !== "") {
      const known = this.#models.find(({ id }) => id === named);
      try {
        this.#model = known ?? chooseModel(system.env, named, showRetries(this.#context));
      } catch (reason) {
        if (!(reason instanceof Failure)) throw reason;
        const variable = /^(?:anthropic:|claude)/i.test(named) ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY";
        throw new Failure(reason.kind, `${reason.message}; the models here: /model`, {
          next: `Set ${variable} and start again`,
        });
      }
    }
    const models = [this.#model, ...this.#models.filter(({ id }) => id !== this.#model.id)];
    for (const model of named === "" ? models : [this.#model]) {
      const isCurrent = model === this.#model;
      const mark = isCurrent ? screen.style("green", screen.mark("ok")) : " ";
      terminal.say(`  ${mark} ${screen.safe(modelLabel(model))}`);
    }
    const how = models.length > 1 ? "change it: /model <name>" : (modelHint(this.#model) ?? "");
    if (named === "" && how !== "") terminal.say(`  ${screen.style("dim", how)}`);
  }

  #undo(): void {
    const { terminal, screen } = this.#context;
    const last = this.#exchanges.pop();
    if (!last) {
      terminal.say(`  ${screen.style("dim", "There is no message to remove.")}`);
      return;
    }
    this.#state = last.before;
    const said = screen.cut(screen.safe(last.said), Math.max(20, terminal.columns - 40));
    terminal.say(`  ${screen.style("dim", `Removed from the conversation: ${said}`)}`);
    const calls = [...last.calls].join(", ");
    if (calls !== "") terminal.say(`  ${screen.style("dim", `What these tools did stays: ${screen.safe(calls)}`)}`);
  }

  async #answer(task: RunInput, attach: readonly AttachedResource[], said: string): Promise<void> {
    const { signal, onInterrupt, terminal, screen } = this.#context;
    const history = this.#state;
    // The screen has introduced the model, a pipe gets its notice with the first message.
    const model = screen.isInteractive ? withoutNotice(this.#model) : this.#model;
    let explainsTools = false;
    const run = this.#host.run(task, {
      signal,
      model: withTurnEnds(model, (end) => {
        explainsTools = end.explainsTools ?? false;
      }),
      attach: [...this.#attached, ...attach],
      ...(history && { history }),
    });
    this.#run = run;
    this.#attached = [];
    const calls = new Set<string>();
    let hasLongResult = false;
    let isCancelled = false;
    let slow: NodeJS.Timeout | undefined;
    const release = onInterrupt(() => {
      if (isCancelled) return "leave";
      isCancelled = true;
      // The terminal has written ^C on the current line.
      if (!terminal.isAsking) terminal.say();
      const sayWhy = () => {
        // An open question reports by itself that it was withdrawn.
        if (!terminal.isAsking) terminal.say(screen.style("dim", "cancelling; press Ctrl-C again to leave at once"));
      };
      slow = setTimeout(sayWhy, slowCancelMs);
      this.cancelRun();
      return undefined;
    });
    try {
      const done = await showRun(this.#context, run, {
        host: this.#host,
        servers: this.#servers,
        known: this.#notices,
        isChat: true,
        approvedCalls: this.#approvedCalls,
        repeatsResults: this.#model.repeatsResults,
        answered: ({ result }, call) => {
          this.#lastResult = result;
          hasLongResult = textLength(result) > maxRepeatedChars;
          // A call that was denied or failed did nothing that stays.
          if (call && !result.isError) calls.add(`${call.server}.${call.tool}`);
        },
      });
      this.#state = done.state;
      this.#exchanges = [...this.#exchanges, { said, before: history, calls }].slice(-maxUndo);
      if (done.reason === "cancelled") {
        if (!signal.aborted) terminal.say(screen.style("dim", "cancelled"));
        return;
      }
      if (screen.isInteractive && this.#model.id === "demo") {
        if (explainsTools) terminal.say(`  ${screen.mark("next")} /tools`);
        else if (hasLongResult && done.text.length < textLength(this.#lastResult))
          terminal.say(`  ${screen.mark("next")} /result ${screen.style("dim", "shows all")}`);
      }
      const failure = runFailure(done, nextSteps);
      if (failure !== undefined) throw failure;
    } finally {
      clearTimeout(slow);
      this.#run = undefined;
      release();
    }
  }
}

const goOn = 'type "go on"';
const nextSteps: NextSteps = {
  "max-turns": goOn,
  "max-calls": goOn,
  "max-tokens": goOn,
  context: "/clear",
  refusal: "/undo",
};

/** At most this many messages can be removed again. */
const maxUndo = 50;

/** The demo repeats at least this much of a result. */
const maxRepeatedChars = 500;

function textLength(result: CallToolResult | undefined): number {
  return (result?.content ?? []).reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0);
}

/** Most calls are cancelled faster; then there is nothing to wait for. */
const slowCancelMs = 500;
