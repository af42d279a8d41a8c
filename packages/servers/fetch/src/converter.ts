import { type ChildProcess, fork } from "node:child_process";
import { ToolError } from "portolan/server";
import type { ChildMessage, Converted, Source } from "./convert.ts";

const maxProcesses = 2;
/** Pages that wait for a process, and their characters: of all callers, and of one. */
const maxWaiting = { pages: 64, length: 32_000_000 };
const maxWaitingPerCaller = { pages: 16, length: 8_000_000 };
const maxHeapMb = 256;
/** Tags and comments of a page. Counted before the page is parsed, because each becomes an object of the parser. */
const maxTags = 200_000;

/** The call that needs a page. */
export interface ConversionCall {
  readonly signal: AbortSignal;
  /** The key of the caller's principal: callers share the processes evenly. */
  readonly caller: string;
}

/** Converts pages. */
export type Convert = (source: Source, call: ConversionCall) => Promise<Converted>;

/** A page that waits for a process. */
interface Waiter {
  readonly caller: string;
  readonly length: number;
  start(): void;
}

/** Creates a converter that runs few processes at a time, each with limits of time and memory. */
export function createConverter(timeoutMs: number): Convert {
  const waiting = new Set<Waiter>();
  let lastCaller: string | undefined;
  let running = 0;
  /** Resolves when a process may start. */
  const wait = ({ html: { length } }: Source, { caller, signal }: ConversionCall): Promise<void> => {
    const all = [...waiting];
    const own = all.filter((one) => one.caller === caller);
    if (!hasRoom(all, length, maxWaiting) || !hasRoom(own, length, maxWaitingPerCaller)) {
      throw new ToolError("Too many pages at once; try again later");
    }
    return new Promise<void>((resolve, reject) => {
      const leave = () => {
        waiting.delete(waiter);
        reject(signal.reason);
      };
      const start = () => {
        waiting.delete(waiter);
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const waiter: Waiter = { caller, length, start };
      waiting.add(waiter);
      signal.addEventListener("abort", leave, { once: true });
    });
  };
  /** Starts the next page, of another caller than the last one if there is one. */
  const startNext = () => {
    const all = [...waiting];
    const next = all.find(({ caller }) => caller !== lastCaller) ?? all[0];
    if (next) next.start();
    else running -= 1;
  };
  return async (source, call) => {
    const { caller, signal } = call;
    refuseTooManyTags(source);
    signal.throwIfAborted();
    if (running < maxProcesses) running += 1;
    else await wait(source, call);
    lastCaller = caller;
    try {
      signal.throwIfAborted();
      return await convertInProcess(source, timeoutMs, signal);
    } finally {
      startNext();
    }
  };
}

function hasRoom(waiting: readonly Waiter[], length: number, most: typeof maxWaiting): boolean {
  const total = waiting.reduce((sum, one) => sum + one.length, length);
  return waiting.length < most.pages && total <= most.length;
}

function refuseTooManyTags({ html, url }: Source): void {
  let count = 0;
  for (let at = html.indexOf("<"); at >= 0; at = html.indexOf("<", at + 1)) count += 1;
  if (count > maxTags) throw tooHard(url, `it has more than ${maxTags} tags`);
}

async function convertInProcess(source: Source, timeoutMs: number, signal: AbortSignal): Promise<Converted> {
  const { file, marker } = await import("./convert.ts");
  const child = fork(new URL(file), [marker], {
    execArgv: [`--max-old-space-size=${maxHeapMb}`],
    // The process gets no environment and cannot write to the server's output.
    env: {},
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  try {
    return await resultOf(child, source, timeoutMs, signal);
  } finally {
    child.kill("SIGKILL");
    await exited;
  }
}

async function resultOf(
  child: ChildProcess,
  source: Source,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Converted> {
  let timer: NodeJS.Timeout | undefined;
  let leave = () => {};
  const converted = new Promise<Converted>((resolve, reject) => {
    const fail = (why: string) => reject(tooHard(source.url, why));
    child.once("message", (said: ChildMessage) => {
      if ("converted" in said) resolve(said.converted);
      else fail(said.failed);
    });
    child.once("error", ({ message }) => fail(message));
    child.once("exit", () => fail("it needs too much memory"));
    timer = setTimeout(() => fail(`it takes longer than ${timeoutMs} ms`), timeoutMs);
    leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    child.send(source, () => {});
  });
  return await converted.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  });
}

function tooHard(url: string, why: string): ToolError {
  return new ToolError(`${url} could not be converted: ${why}; fetch it with format "raw"`);
}
