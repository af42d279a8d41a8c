import { vi } from "vitest";

/**
 * A process runs many test files: starting one, and loading the libraries, takes longer than most files. Each file gets
 * what the tests share anew, with its state and its hooks; the libraries are loaded once.
 */
vi.resetModules();
vi.useRealTimers();
vi.unstubAllEnvs();
vi.unstubAllGlobals();
