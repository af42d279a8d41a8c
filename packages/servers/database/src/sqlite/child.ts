import { startWatchdog } from "portolan-server-kit/watchdog";
import { Engine, type EngineOptions, type EngineRequest, type EngineResponse } from "./engine.ts";

/** URL of this module, which also runs as a program: only a process can be stopped in the middle of a statement. */
export const file: string = import.meta.url;

/** Argument that marks a start as the program. */
export const marker = "portolan-database-sqlite";

/** Options of the program, passed as its argument. */
export interface ChildOptions extends EngineOptions {
  readonly maxMemoryMb: number;
}

/** A message of the program: first ready or refused, then one response per request. */
export type ChildMessage = { readonly ready: true } | { readonly refused: string } | EngineResponse;

async function serve(options: ChildOptions): Promise<void> {
  const say = (said: ChildMessage) => process.send?.(said);
  startWatchdog(options);
  try {
    const engine = await Engine.open(options);
    process.on("message", (request: EngineRequest) => say(engine.handle(request)));
    say({ ready: true });
  } catch (reason) {
    say({ refused: (reason as Error).message });
  }
}

const [, , mark, options] = process.argv;
if (mark === marker && process.send !== undefined) await serve(JSON.parse(options ?? "") as ChildOptions);
