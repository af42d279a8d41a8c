import { afterAll, beforeAll } from "vitest";
import { startTelemetry, type Telemetry } from "../peers/otel/sdk.mjs";
import { Collector } from "./collector.ts";

/** Registers the real SDK, with a collector of our own, for the tests of a file. */
export function useTelemetry(): { readonly collector: Collector; readonly telemetry: Telemetry } {
  let collector: Collector;
  let telemetry: Telemetry;
  beforeAll(async () => {
    collector = await Collector.start();
    telemetry = startTelemetry(collector.url);
  });
  afterAll(async () => {
    await telemetry.close();
    collector.close();
  });
  return {
    get collector() {
      return collector;
    },
    get telemetry() {
      return telemetry;
    },
  };
}
