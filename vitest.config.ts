import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** What needs neither a build nor other processes. */
const quick = ["test/architecture.test.ts", "test/documents.test.ts", "test/json-schema/*.test.ts"];

/** Unit tests load the sources, so the `imports` of the libraries lead to their sources too. */
const alias = Object.fromEntries(
  ["packages/portolan", "packages/host"].flatMap((folder) => {
    const library = join(import.meta.dirname, folder);
    const { imports } = JSON.parse(readFileSync(join(library, "package.json"), "utf8")) as {
      imports: { [name: string]: { node: string } };
    };
    return Object.entries(imports).map(([name, { node }]) => [
      name,
      join(library, node.replace("./dist/", "src/").replace(/\.js$/, ".ts")),
    ]);
  }),
);

// Node reads all of these certificates whenever it starts, which takes twice as long as all else that it does then.
delete process.env["NODE_EXTRA_CA_CERTS"];

/** Processes and a Redis that fail all the time, against deadlines of less than a second. */
const histories = ["test/scale/history.test.ts"];

/** A busy machine may take long for anything, so a wait for a condition fails late. `waits.ts` does the same for `vi`. */
const expect = { poll: { timeout: 20_000 } };

/** Tests with a browser. */
const inBrowser = ["test/{apps,browser,console}/**/*.test.ts"];

/** Settings of tests with processes, sockets and built programs. */
const system = {
  expect,
  runner: "test/kit/runner.ts",
  // Node loads the built libraries by itself, once in each process. Otherwise Vite would send each file of them to each test
  // file.
  server: { deps: { external: [/\/packages\/.+\/dist\//] } },
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // Thousands of processes and sockets on a busy machine: one that hangs is tried again, and named at the end.
  retry: 2,
};

export default defineConfig({
  test: {
    // Most of the time goes by in child processes, much of it waiting. With three files at a time, two cores were idle for a
    // fifth of the run.
    maxWorkers: 4,
    reporters: ["default", "./scripts/closing-line.mjs"],
    projects: [
      {
        resolve: { alias },
        test: {
          name: "unit",
          setupFiles: "test/kit/waits.ts",
          expect,
          include: ["packages/{*,servers/*}/src/**/*.test.ts", ...quick],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // They leave nothing behind, and loading everything anew for each file takes as long as all of them.
          pool: "threads",
          isolate: false,
        },
      },
      {
        test: {
          ...system,
          name: "system",
          setupFiles: "test/kit/waits.ts",
          globalSetup: "test/kit/quick-servers.mjs",
          include: ["test/**/*.test.ts"],
          exclude: [
            ...quick,
            ...histories,
            ...inBrowser,
            "test/peers/**",
            "test/services/vendors/**",
            "test/interop/inspector/runtime/**",
            "test/{conformance,release}/runtime/**",
          ],
        },
      },
      {
        test: {
          ...system,
          name: "browser",
          setupFiles: ["test/kit/waits.ts", "test/kit/fresh-modules.ts"],
          globalSetup: "test/kit/quick-servers.mjs",
          include: inBrowser,
          exclude: ["test/apps/peers/**"],
          // The files of a process share its browser. Other system tests have a process each: what they set for a whole process,
          // such as the global parts of OpenTelemetry, would be there for the next file.
          isolate: false,
        },
      },
      {
        test: {
          name: "histories",
          runner: "test/kit/runner.ts",
          include: histories,
          // After all other files: a process that gets no time is one more fault, which the script did not ask for. A history
          // that fails is not tried again: the message has its seed.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
