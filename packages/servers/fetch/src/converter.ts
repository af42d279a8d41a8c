import { type ChildProcess, fork } from "node:child_process";
import { ToolError } from "portolan/server";
import type { ChildMessage, Converted, Source } from "./convert.ts";

const maxProcesses = 2;
const maxWaiting = 64;
/** Characters of all pages that wait for a process. */
const maxWaitingLength = 32_000_000;
const maxHeapMb = 256;
/** Tags and comments of a page. Counted before the page is parsed, because each becomes an object of the parser. */
const maxTags = 200_000;

/** Converts pages. */
export type Convert = (source: Source, signal: AbortSignal) => Promise<Converted>;

/** Creates a converter that runs few processes at a time, each with limits of time and memory. */
export function createConverter(timeoutMs: number): Convert {
  const waiting = new Set<() => void>();
  let running = 0;
  let waitingLength = 0;
  /** Resolves when a process may start. */
  const wait = async ({ html }: Source, signal: AbortSignal): Promise<void> => {
    if (waiting.size >= maxWaiting || waitingLength + html.length > maxWaitingLength) {
      throw new ToolError("Too many pages at once; try again later");
    }
    waitingLength += html.length;
    await new Promise<void>((resolve, reject) => {
      const start = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        waiting.delete(start);
        reject(signal.reason);
      };
      waiting.add(start);
      signal.addEventListener("abort", leave, { once: true });
    }).finally(() => {
      waitingLength -= html.length;
    });
  };
  return async (source, signal) => {
    refuseTooManyTags(source);
    signal.throwIfAborted();
    if (running < maxProcesses) running += 1;
    else await wait(source, signal);
    try {
      signal.throwIfAborted();
      return await convertInProcess(source, timeoutMs, signal);
    } finally {
      // Hand the slot to the next waiter, or free it.
      const [next] = waiting;
      if (next) {
        waiting.delete(next);
        next();
      } else running -= 1;
    }
  };
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
