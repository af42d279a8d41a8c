import { vi } from "vitest";

const timeout = 20_000;
const waits = vi as typeof vi & { hasLongWaits?: boolean };

/** The waits of `vi` fail after a second, which a busy machine may need for anything. Vitest has no setting for it. */
function lengthen({ waitFor, waitUntil }: typeof vi): void {
  vi.waitFor = (callback, options) =>
    waitFor(callback, typeof options === "number" ? options : { timeout, ...options });
  vi.waitUntil = (callback, options) =>
    waitUntil(callback, typeof options === "number" ? options : { timeout, ...options });
}

// This file runs before each test file, and a process runs many of them with the same `vi`.
if (!waits.hasLongWaits) lengthen(vi);
waits.hasLongWaits = true;
