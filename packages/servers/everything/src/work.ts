import { setTimeout as pause } from "node:timers/promises";
import type { LogLevel } from "portolan";
import type { Server } from "portolan/server";
import { annotations, integer, object } from "portolan-server-kit";
import { text } from "./schemas.ts";
import type { SharedState } from "./state.ts";

const levels: LogLevel[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const maxExtras = 5;

/** Tools that take time, tell about it, and change what others see. */
export function withWork(server: Server, state: SharedState): Server {
  return server
    .tool("count", {
      title: "Progress",
      description: "Counts, and tells how far it is",
      input: object(
        {
          to: integer("How far to count", { minimum: 1, maximum: 100 }),
          stepMs: integer("How long each step takes; 0 unless given", { minimum: 0, maximum: 1_000 }),
        },
        ["stepMs"],
      ),
      output: object({ counted: integer("How far it came") }),
      annotations: annotations.reads,
      async run({ to, stepMs = 0 }: { to: number; stepMs?: number }, ctx) {
        for (let step = 1; step <= to; step += 1) {
          // Sent if the client asked for it; the message since 2025-03-26. Values must grow.
          ctx.progress(step, to, `step ${step}`);
          // Whatever waits takes the signal along, so that a cancelled call ends.
          await pause(stepMs, undefined, { signal: ctx.signal });
        }
        return { counted: to };
      },
    })
    .tool("wait", {
      title: "Cancellation",
      description: "Waits until it is cancelled, or for a minute; everything://waits tells what became of it",
      input: object({}),
      output: object({ waited: { type: "boolean", description: "Whether a minute went by" } }),
      annotations: annotations.adds,
      async run(_, ctx) {
        state.waiting += 1;
        state.tellWatchers();
        try {
          ctx.progress(1, 2, "waiting");
          await pause(60_000, undefined, { signal: ctx.signal });
          return { waited: true };
        } finally {
          // Aborts when the client cancels, goes away, or (2026-07-28 over HTTP) closes the answer's stream.
          if (ctx.signal.aborted) state.cancelled += 1;
          state.waiting -= 1;
          state.tellWatchers();
        }
      },
    })
    .tool("hang-up", {
      title: "Hang up",
      description: "Ends the connection and not the call: HTTP clients of 2025-11-25 come back for the result",
      input: object({}),
      output: object({ done: { type: "boolean", description: "That it went on" } }),
      annotations: annotations.reads,
      async run(_, ctx) {
        // Does nothing where clients would not come back.
        ctx.hangUp();
        await pause(10, undefined, { signal: ctx.signal });
        return { done: true };
      },
    })
    .tool("log", {
      title: "Logging",
      description: "Sends a log message of each level; the client gets those it wants",
      input: object({ logger: text("The name of the logger; everything unless given") }, ["logger"]),
      output: object({ sent: integer("How many messages were offered") }),
      annotations: annotations.reads,
      run({ logger = "everything" }: { logger?: string }, ctx) {
        // Stateful clients set a level once; on 2026-07-28 each request names one, or gets none.
        for (const level of levels) ctx.log(level, { says: `This is ${level}` }, logger);
        return { sent: levels.length };
      },
    })
    .tool("write-note", {
      title: "Change a resource",
      description: "Sets everything://note; those who follow it are told",
      input: object({ note: text("The new text") }),
      output: object({ note: text("The text now") }),
      annotations: annotations.sets,
      run({ note }: { note: string }) {
        state.write(note);
        return { note };
      },
    })
    .tool("change-lists", {
      title: "Change the lists",
      description: "Sets how many extra tools, prompts and resources there are, for all clients; they are told",
      input: object({ extras: integer("How many", { minimum: 0, maximum: maxExtras }) }),
      output: object({ extras: integer("How many there are now") }),
      annotations: annotations.sets,
      run({ extras }: { extras: number }) {
        setExtras(state, extras);
        return { extras };
      },
    })
    .tool("reset", {
      title: "Reset",
      description: "Throws away what the other tools have changed",
      input: object({}),
      output: object({ note: text("The text of the note now") }),
      // The one tool here that destroys something: hosts may ask the user before they call it.
      annotations: annotations.overwrites,
      run() {
        setExtras(state, 0);
        state.write("first note");
        return { note: state.note };
      },
    });
}

/** A definition never changes: the live server is given another one. */
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
  const description = "Is there because change-lists was called";
  return server
    .tool(`extra-${number}`, {
      ...{ title: `Extra ${number}`, description, input: object({}), annotations: annotations.reads },
      output: object({ number: integer("Which one it is") }),
      run: () => ({ number }),
    })
    .prompt(`extra-${number}`, { title: `Extra ${number}`, description, get: () => `Extra ${number}` })
    .resource(`everything://extras/${number}`, {
      ...{ name: `extra-${number}`, title: `Extra ${number}`, description, mimeType: "text/plain" },
      read: () => `Extra ${number}`,
    });
}
