#!/usr/bin/env node
import { runMain, UsageError } from "portolan/server/main";
import { createTravel } from "./server.ts";

const maxStepMs = 600_000;

await runMain({
  name: "portolan-travel",
  version: "0.1.0",
  about: "An MCP server that plans and books a journey, with data of its own.",
  flags: {
    "step-ms": {
      type: "string",
      value: "<ms>",
      says: "how long each of the three steps of a booking takes; 300 unless given",
    },
  },
  create(line) {
    const stepMs = line.count("step-ms");
    if (stepMs === undefined) return createTravel();
    if (stepMs > maxStepMs) throw new UsageError(`--step-ms: expected at most ${maxStepMs}, got ${stepMs}`);
    return createTravel({ stepMs });
  },
});
