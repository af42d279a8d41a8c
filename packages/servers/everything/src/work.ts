import { setTimeout as pause } from "node:timers/promises";
import type { LogLevel } from "portolan";
import type { Server } from "portolan/server";
import { annotations, integer, object } from "portolan-server-kit";
import { text } from "./schemas.ts";
import type { SharedState } from "./state.ts";

const levels: LogLevel[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const maxExtras = 5;

/** Adds tools that take time, report progress, and change what other clients see. */
export function withWork(server: Server, state: SharedState): Server {
  return server
    .tool("count", {
      title: "Progress",
      description: "Counts and reports progress",
      input: object(
        {
          to: integer("Number to count to", { minimum: 1, maximum: 100 }),
          stepMs: integer("Duration of each step in milliseconds. Default: 0", { minimum: 0, maximum: 1_000 }),
        },
        ["stepMs"],
      ),
      output: object({ counted: integer("Last number") }),
      annotations: annotations.reads,
      async run({ to, stepMs = 0 }: { to: number; stepMs?: number }, ctx) {
        for (let step = 1; step <= to; step += 1) {
          // Sent only if the client asked for progress; the message exists since 2025-03-26. Values must increase.
          ctx.progress(step, to, `step ${step}`);
          // Pass the signal to everything that waits, so that a cancelled call ends.
          await pause(stepMs, undefined, { signal: ctx.signal });
        }
        return { counted: to };
      },
    })
    .tool("wait", {
      title: "Cancellation",
      description: "Waits until it is cancelled, at most a minute; everything://waits shows the result",
      input: object({}),
      output: object({ waited: { type: "boolean", description: "True after a full minute" } }),
      annotations: annotations.adds,
      async run(_, ctx) {
        state.waiting += 1;
        state.tellWatchers();
        try {
          ctx.progress(1, 2, "waiting");
          await pause(60_000, undefined, { signal: ctx.signal });
          return { waited: true };
        } finally {
          // Aborts when the client cancels, disconnects, or (2026-07-28 over HTTP) closes the response stream.
          if (ctx.signal.aborted) state.cancelled += 1;
          state.waiting -= 1;
          state.tellWatchers();
        }
      },
    })
    .tool("make-film", {
      title: "Task",
      description: "Makes a film of some frames: as a task for clients that know tasks, as a long call for the others",
      input: object(
        {
          frames: integer("Number of frames", { minimum: 1, maximum: 100 }),
          frameMs: integer("Duration of each frame in milliseconds. Default: 0", { minimum: 0, maximum: 1_000 }),
        },
        ["frameMs"],
      ),
      output: object({ frames: integer("Number of frames") }),
      annotations: annotations.reads,
      task: "optional",
      async run({ frames, frameMs = 0 }: { frames: number; frameMs?: number }, ctx) {
        for (let frame = 1; frame <= frames; frame += 1) {
          // The status of the task; a progress notification of a long call.
          ctx.status(`frame ${frame} of ${frames}`);
          // Aborts when the client cancels the task, and at the end of its lifetime.
          await pause(frameMs, undefined, { signal: ctx.signal });
        }
        return { frames };
      },
    })
    .tool("hang-up", {
      title: "Hang up",
      description: "Closes the connection but not the call: HTTP clients of 2025-11-25 reconnect for the result",
      input: object({}),
      output: object({ done: { type: "boolean", description: "Always true" } }),
      annotations: annotations.reads,
      async run(_, ctx) {
        // Has no effect for clients that would not reconnect.
        ctx.hangUp();
        await pause(10, undefined, { signal: ctx.signal });
        return { done: true };
      },
    })
    .tool("log", {
      title: "Logging",
      description: "Sends a log message of each level; the client receives the levels it has chosen",
      input: object({ logger: text("Name of the logger. Default: everything") }, ["logger"]),
      output: object({ sent: integer("Number of messages") }),
      annotations: annotations.reads,
      run({ logger = "everything" }: { logger?: string }, ctx) {
        // Stateful clients set a level once; on 2026-07-28 each request sets one, or gets no messages.
        for (const level of levels) ctx.log(level, { says: `This is ${level}` }, logger);
        return { sent: levels.length };
      },
    })
    .tool("write-note", {
      title: "Change a resource",
      description: "Sets everything://note; subscribers are notified",
      input: object({ note: text("The new text") }),
      output: object({ note: text("The current text") }),
      annotations: annotations.sets,
      run({ note }: { note: string }) {
        state.write(note);
        return { note };
      },
    })
    .tool("change-lists", {
      title: "Change the lists",
      description: "Sets the number of extra tools, prompts and resources for all clients; clients are notified",
      input: object({ extras: integer("Number of extras", { minimum: 0, maximum: maxExtras }) }),
      output: object({ extras: integer("Current number of extras") }),
      annotations: annotations.sets,
      run({ extras }: { extras: number }) {
        setExtras(state, extras);
        return { extras };
      },
    })
    .tool("reset", {
      title: "Reset",
      description: "Discards all changes of the other tools",
      input: object({}),
      output: object({ note: text("The current text of the note") }),
      // The only destructive tool of this server: hosts may ask the user before they call it.
      annotations: annotations.overwrites,
      run() {
        setExtras(state, 0);
        state.write("first note");
        return { note: state.note };
      },
    });
}

/** Gives the live server a new definition, because definitions are immutable. */
function setExtras(state: SharedState, extras: number): void {
  const before = state.extras;
  state.extras = extras;
  state.redefine((current) => {
    let next = current;
    for (let number = before; number > extras; number -= 1) {
      next = next
        .without("tools", `extra-${number}`)
        .without("prompts", `extra-${number}`)
        .without("resources", `everything://extras/${number}`);
    }
    for (let number = before + 1; number <= extras; number += 1) next = addExtra(next, number);
    return next;
  });
}

function addExtra(server: Server, number: number): Server {
  const description = "Added by change-lists";
  return server
    .tool(`extra-${number}`, {
      ...{ title: `Extra ${number}`, description, input: object({}), annotations: annotations.reads },
      output: object({ number: integer("Number of this extra") }),
      run: () => ({ number }),
    })
    .prompt(`extra-${number}`, { title: `Extra ${number}`, description, get: () => `Extra ${number}` })
    .resource(`everything://extras/${number}`, {
      ...{ name: `extra-${number}`, title: `Extra ${number}`, description, mimeType: "text/plain" },
      read: () => `Extra ${number}`,
    });
}
