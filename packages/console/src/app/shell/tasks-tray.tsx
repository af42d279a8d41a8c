import type { HostTask } from "portolan-host";
import type { JSX } from "preact";
import { durationText } from "../chat/times.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { MenuButton } from "../parts/popover.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";

const words: { readonly [S in HostTask["state"]]: string } = {
  working: "works",
  input_required: "waits for you",
  completed: "done",
  failed: "failed",
  cancelled: "cancelled",
  lost: "lost",
};

/** The tasks that servers run in the background. */
export function TasksTray(): JSX.Element | null {
  const page = usePage();
  const tasks = page.store.tasks.all.value;
  const running = tasks.filter(({ state }) => state === "working" || state === "input_required").length;
  return (
    <MenuButton
      of="dialog"
      label="Tasks"
      button={{
        tone: "quiet",
        icon: "tasks",
        class: "tasks-button",
        children: (
          <>
            <span class="n-text">Tasks</span>
            {running > 0 && (
              <Badge tone="accent">
                {running} <span class="hidden">running</span>
              </Badge>
            )}
          </>
        ),
      }}
    >
      {() =>
        tasks.length === 0 ? (
          <Empty icon="tasks" title="No tasks">
            <p>A server that works for longer goes on here.</p>
          </Empty>
        ) : (
          <ul class="task-list">
            {tasks.map((task) => (
              <TaskRow key={task.id} task={task} />
            ))}
          </ul>
        )
      }
    </MenuButton>
  );
}

function TaskRow({ task }: { task: HostTask }): JSX.Element {
  const page = usePage();
  const { id, server, tool, state, message, startedAt } = task;
  const isRunning = state === "working" || state === "input_required";
  const cancel = () => page.api.change("task.cancel", { id });
  const remove = () => page.store.tasks.remove(id);
  return (
    <li class="task-row">
      <div class="row">
        {state === "working" ? (
          <span class="spin" />
        ) : (
          <Icon
            name={state === "completed" ? "check" : state === "input_required" ? "ask" : "warn"}
            class={state === "completed" ? "c-ok" : state === "input_required" ? "c-accent" : "c-danger"}
          />
        )}
        <span class="t2 cut">
          <ServerText text={server} />
        </span>
        <span class="tool cut grow">
          <ServerText text={tool} />
        </span>
        <span class="small t3 num nowrap">
          {isRunning ? durationText(page.slowClock.value - Date.parse(startedAt)) : words[state]}
        </span>
        {isRunning ? (
          <Button size="small" icon="stop" onClick={() => void page.attempt(cancel)}>
            Cancel
          </Button>
        ) : (
          <Button tone="quiet" size="small" icon="x" label="Close" onClick={remove} />
        )}
      </div>
      {message !== undefined && (
        <p class="small t2">
          <ServerText text={message} />
        </p>
      )}
    </li>
  );
}
