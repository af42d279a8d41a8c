import type { HostEvent, HostTask } from "portolan-host";
import type { ConsoleBase } from "../base.ts";
import { ApiRefusal } from "../failure.ts";
import { name } from "../takes.ts";
import { changes, type VerbTable } from "../verbs.ts";

/** The tasks of the host, and how long-running calls end. */
export class TaskRecords {
  readonly #base: ConsoleBase;
  #known = new Set<string>();

  constructor(base: ConsoleBase) {
    this.#base = base;
  }

  get all(): readonly HostTask[] {
    return this.#base.host.tasks.list();
  }

  hear(event: HostEvent): void {
    if (event.kind !== "task" && event.kind !== "lost") return;
    if (event.kind === "task") this.#base.publish({ kind: "task", task: event.task });
    // The host forgets a task whose result was taken, and tells nobody.
    const present = new Set(this.all.map(({ id }) => id));
    for (const id of this.#known) if (!present.has(id)) this.#base.publish({ kind: "task-gone", id });
    this.#known = present;
  }
}

export function taskVerbs({ host }: ConsoleBase): VerbTable<"task.cancel"> {
  return {
    "task.cancel": changes({ id: name }, async ({ id }) => {
      if (!host.tasks.list().some((task) => task.id === id))
        throw new ApiRefusal("not-found", "There is no such task.");
      await host.tasks.cancel(id);
      return {};
    }),
  };
}
