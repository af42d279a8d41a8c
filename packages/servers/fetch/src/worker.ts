import { Worker } from "node:worker_threads";
import { ToolError } from "portolan/server";
import type { Converted, Source } from "./convert.ts";

const maxWorkers = 2;
const maxWaiting = 64;
const maxMegabytes = 256;

/** Converts pages. */
export type Convert = (source: Source, signal: AbortSignal) => Promise<Converted>;

/** Creates a converter that runs few workers at a time, each with limits of time and memory. */
export function createConverter(timeoutMs: number): Convert {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (source, signal) => {
    if (waiting.length >= maxWaiting) throw new ToolError("Too many pages at once; try again later");
    if (running < maxWorkers) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      signal.throwIfAborted();
      return await convertInWorker(source, timeoutMs, signal);
    } finally {
      // Hand the slot to the next waiter, or free it.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}

async function convertInWorker(source: Source, timeoutMs: number, signal: AbortSignal): Promise<Converted> {
  const { file, toWorkerInput } = await import("./convert.ts");
  const worker = new Worker(new URL(file), {
    workerData: toWorkerInput(source),
    resourceLimits: { maxOldGenerationSizeMb: maxMegabytes },
    // Libraries must not write to stdout, which carries the protocol.
    stdout: true,
    stderr: true,
    env: {},
  });
  let timer: NodeJS.Timeout | undefined;
  let leave = () => {};
  const converted = new Promise<Converted>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", () => reject(tooHard(source.url)));
    worker.once("exit", () => reject(tooHard(source.url)));
    timer = setTimeout(() => reject(tooHard(source.url)), timeoutMs);
    leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
  });
  return await converted.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
    return worker.terminate();
  });
}

function tooHard(url: string): ToolError {
  return new ToolError(`${url} could not be converted: it is too large or malformed; fetch it with format "raw"`);
}
