import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Most of the time goes by in child processes; two files at a time keep two cores busy.
    maxWorkers: 2,
    reporters: ["default", "./scripts/closing-line.mjs"],
    projects: [
      { test: { name: "unit", include: ["packages/*/src/**/*.test.ts", "test/architecture.test.ts"] } },
      {
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: ["test/architecture.test.ts", "test/peers/**", "test/conformance/runtime/**"],
          testTimeout: 60_000,
        },
      },
    ],
  },
});
