import { vi } from "vitest";

const timeout = 20_000;
const { waitFor, waitUntil } = vi;

/** The waits of `vi` fail after a second, which a busy machine may need for anything. Vitest has no setting for it. */
vi.waitFor = (callback, options) => waitFor(callback, typeof options === "number" ? options : { timeout, ...options });
vi.waitUntil = (callback, options) =>
  waitUntil(callback, typeof options === "number" ? options : { timeout, ...options });
