import type { BodyProblem } from "./adapter.ts";
import type { HttpLimits } from "./options.ts";

/** How much of a body is read, and how long it may take. */
export interface BodyLimits {
  readonly bytes: number;
  readonly ms: number;
}

/** A body that comes faster than this is not too slow, however long it takes. */
export const patientBytesPerSecond: number = 64 * 1024;

const decoder = new TextDecoder("utf-8", { fatal: true });

export function bodyLimits(limits: HttpLimits): BodyLimits {
  return { bytes: limits.bodyBytes ?? 4 * 1024 * 1024, ms: limits.bodyMs ?? 30_000 };
}

export function tooLarge(limits: BodyLimits): BodyProblem {
  return { status: 413, why: `The body is too large: expected at most ${limits.bytes} bytes` };
}

export function tooSlow(limits: BodyLimits): BodyProblem {
  return { status: 408, why: `The body is too slow: expected all of it within ${limits.ms} ms` };
}

export function cutOff(): BodyProblem {
  return { status: 400, why: "The body was cut off" };
}

export function takenAlready(): BodyProblem {
  return { status: 400, why: "The body was read before it came here; expected it in `body` of the request" };
}

export function isTooSlow(bytes: number, elapsedMs: number, limits: BodyLimits): boolean {
  return elapsedMs > limits.ms && bytes * 1000 < patientBytesPerSecond * elapsedMs;
}

/** The text of a whole body, without a byte order mark. */
export function decodeBody(bytes: Uint8Array): string | BodyProblem {
  try {
    return decoder.decode(bytes);
  } catch {
    return { status: 400, why: "The body is not valid UTF-8" };
  }
}
