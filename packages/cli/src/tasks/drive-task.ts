import type { Host, HostTask } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { QuestionDismissed } from "../terminal/input.ts";

/** A call whose task this command waits for. */
export interface DrivenTask {
  /** Resolves if the person leaves the task running. */
  readonly left: Promise<HostTask>;
  /** True if the person has cancelled the task. */
  readonly wasCancelled: boolean;
  end(): void;
}

/**
 * Handles Ctrl-C for a call that has become a task: on a terminal the person chooses whether the task goes on, elsewhere
 * it is cancelled. A second Ctrl-C ends the command.
 */
export function driveTask(
  context: CommandContext,
  host: Host,
  say: (message: string) => void,
  known?: HostTask,
): DrivenTask {
  const events = host.events({ kinds: ["task"] });
  let release: (() => void) | undefined;
  let wasCancelled = false;
  let leave: (task: HostTask) => void = () => {};
  const left = new Promise<HostTask>((resolve) => {
    leave = resolve;
  });
  const follow = async () => {
    for await (const event of events) {
      if (event.kind !== "task") continue;
      const { how, task } = event;
      if (how === "ended") release?.();
      else if (task.message !== undefined) say(task.message);
      if (how === "created") handle(task);
    }
  };
  const interrupt = async (task: HostTask) => {
    const choice = context.screen.isInteractive ? await choose(context, task) : "cancel";
    if (choice === "leave") leave(task);
    if (choice !== "cancel") return;
    wasCancelled = true;
    // The call fails when the server has acknowledged it.
    await host.tasks.cancel(task.id).catch(({ message }: Error) => context.warn(message));
  };
  const handle = (task: HostTask) => {
    let isInterrupted = false;
    release = context.onInterrupt(() => {
      if (isInterrupted) return "leave";
      isInterrupted = true;
      void interrupt(task).finally(() => {
        isInterrupted = false;
      });
      return undefined;
    });
  };
  if (known) handle(known);
  // The feed of a host never fails.
  void follow();
  return {
    left,
    get wasCancelled() {
      return wasCancelled;
    },
    end() {
      release?.();
      void events.return?.();
    },
  };
}

type Choice = "leave" | "cancel" | "wait";

async function choose({ terminal, screen }: CommandContext, task: HostTask): Promise<Choice> {
  const what = `${task.server}.${task.tool}`;
  return terminal
    .ask(undefined, () => {
      terminal.say(`${screen.safe(what)} runs as task ${task.id}.`);
      return terminal.choose([
        { key: "l", word: "leave", label: "leave it running", value: "leave" as const },
        { key: "c", word: "cancel", label: "cancel it", value: "cancel" as const },
        { key: "w", word: "wait", label: "go on waiting", value: "wait" as const },
      ]);
    })
    .catch((reason: unknown) => {
      if (reason instanceof QuestionDismissed) return "cancel" as const;
      throw reason;
    });
}
