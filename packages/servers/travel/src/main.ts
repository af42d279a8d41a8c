#!/usr/bin/env node
import { runMain, UsageError } from "portolan/server/main";
import { createTravel } from "./server.ts";

const maxStepMs = 600_000;

await runMain({
  name: "portolan-travel",
  version: "0.1.0",
  about: "An MCP server that plans and books trips with invented data.",
  flags: {
    "step-ms": {
      type: "string",
      value: "<ms>",
      says: "duration of each of the three steps of a booking. Default: 300",
    },
  },
  create(line) {
    const stepMs = line.count("step-ms");
    if (stepMs === undefined) return createTravel();
    if (stepMs > maxStepMs) throw new UsageError(`--step-ms: expected at most ${maxStepMs}, got ${stepMs}`);
    return createTravel({ stepMs });
  },
});
