import type { Host, RunInput, RunState } from "portolan-host";
import type { Model } from "portolan-host/models";
import { askMissingOfPrompt, proposeFor } from "../ask/missing.ts";
import type { CommandContext } from "../command.ts";
import { toFailure } from "../failure.ts";
import { QuestionDismissed, TypeAhead } from "../terminal/input.ts";
import { showCommand } from "./chat-commands.ts";
import { type AttachedResource, completeLine, parseLine } from "./line.ts";
import { runFailure, showRun } from "./model-run.ts";
import { pickResource } from "./pick.ts";

/** A conversation with a model. */
export class Chat {
  readonly #context: CommandContext;
  readonly #host: Host;
  /** The newest first. */
  readonly #history: string[] = [];
  #attached: readonly AttachedResource[] = [];
  #state: RunState | undefined;
  /** Notices that were already shown. */
  readonly #notices = new Set<string>();
  readonly #repeatsResults: boolean | undefined;
  /** Input after the current line, such as further pasted lines. */
  readonly #typed = new TypeAhead();

  constructor(context: CommandContext, host: Host, { repeatsResults }: Pick<Model, "repeatsResults"> = {}) {
    this.#context = context;
    this.#host = host;
    this.#repeatsResults = repeatsResults;
  }

  /** Reads and handles lines until the person leaves: Ctrl-D, or Ctrl-C twice at the prompt. */
  async talk(): Promise<void> {
    const { onInterrupt } = this.#context;
    // Between two questions Ctrl-C ends the conversation, not the program.
    let isOver = false;
    const release = onInterrupt(() => {
      if (isOver) return "leave";
      isOver = true;
      return undefined;
    });
    try {
      let interrupts = 0;
      while (!isOver && interrupts < 2) {
        const line = await this.#readLine();
        if (line === "cancel") {
          interrupts += 1;
          continue;
        }
        interrupts = 0;
        if (line === "leave" || (await this.handleLine(line.said))) return;
      }
    } finally {
      release();
    }
  }

  async #readLine(): Promise<{ readonly said: string } | "cancel" | "leave"> {
    const { terminal, screen, signal } = this.#context;
    const prompt = `${screen.style("bold", ">")} `;
    const complete = (line: string) => completeLine(line, this.#host, signal);
    try {
      const said = await terminal.ask(signal, () =>
        terminal.line({ prompt, complete, history: this.#history, typed: this.#typed }),
      );
      if (said.trim() !== "") this.#history.unshift(said);
      return { said };
    } catch (reason) {
      if (!(reason instanceof QuestionDismissed)) throw reason;
      if (reason.how === "decline") return "leave";
      terminal.say(screen.style("dim", "press Ctrl-C again to leave"));
      return "cancel";
    }
  }

  /** Handles one line. Returns true when the conversation is over. */
  async handleLine(line: string): Promise<boolean> {
    const { terminal, screen, isJson } = this.#context;
    if (line.trim() === "") return false;
    try {
      const said = parseLine(line, this.#host.catalog);
      if (said.kind === "command") {
        if (said.name === "quit") return true;
        await showCommand(this.#context, this.#host, said.name, said.rest);
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
        await this.#run({ server, prompt: name, args }, []);
      } else {
        // Pasted text may name resources that the person did not notice.
        for (const { server, uri } of isJson ? [] : said.attach) {
          terminal.say(`  ${screen.style("dim", screen.safe(`${server}: ${uri} is attached`))}`);
        }
        await this.#run(said.text, said.attach);
      }
    } catch (reason) {
      const { kind, message, next } = toFailure(reason);
      if (isJson) throw reason;
      terminal.say(`${screen.style("red", `${screen.mark("bad")} ${kind}`)} ${screen.safe(message)}`);
      if (next !== undefined) terminal.say(`  ${screen.mark("next")} ${screen.safe(next)}`);
    }
    return false;
  }

  async #run(task: RunInput, attach: readonly AttachedResource[]): Promise<void> {
    const { signal, onInterrupt, terminal, screen } = this.#context;
    const history = this.#state;
    const run = this.#host.run(task, {
      signal,
      attach: [...this.#attached, ...attach],
      ...(history && { history }),
    });
    this.#attached = [];
    let isCancelled = false;
    const release = onInterrupt(() => {
      if (isCancelled) return "leave";
      isCancelled = true;
      // An open question reports by itself that it was withdrawn.
      if (!terminal.isAsking) terminal.say(screen.style("dim", "cancelled; press Ctrl-C again to leave"));
      run.cancel("the user cancelled");
      return undefined;
    });
    try {
      const done = await showRun(this.#context, run, { known: this.#notices, repeatsResults: this.#repeatsResults });
      this.#state = done.state;
      const failure = isCancelled ? undefined : runFailure(done);
      if (failure !== undefined) throw failure;
    } finally {
      release();
    }
  }
}
