// @ts-check
// Spans and metrics with OpenTelemetry, an observer without it, and health checks.

import { connect } from "portolan/client";
import { traceClient, traceServer } from "portolan/otel";
import { createServer } from "portolan/server";
import { createHealthHandler } from "portolan/server/health";
import { createHost } from "portolan-host";

// region server
export const server = createServer({ name: "dice", version: "1.0.0" })
  .tool("roll", { run: () => String(1 + Math.floor(Math.random() * 6)) })
  .use(traceServer());
// endregion

// region client
/** @param {string} url */
export const connectTraced = (url) => connect(url, { observer: traceClient() });
// endregion

// region host
/** @param {import("portolan-host").HostOptions} options */
export const createTracedHost = (options) => createHost({ ...options, observer: traceClient() });
// endregion

// region own
/** An observer of your own: writes the duration of every request. */
export const stopwatch = {
  /** @param {import("portolan/client").ObservedRequest} request */
  begin({ method }) {
    const begun = performance.now();
    return {
      meta: { "example.com/request": crypto.randomUUID() },
      /** @param {import("portolan/client").RequestOutcome} outcome */
      end(outcome) {
        const end = "error" in outcome ? outcome.error.message : "answered";
        console.error(`${method}: ${end} after ${Math.round(performance.now() - begun)} ms`);
      },
    };
  },
};
// endregion

// region health
/**
 * Answers `/healthz` and `/readyz` in front of an endpoint.
 * @param {import("portolan/server/http").HttpEndpoint} mcp
 * @param {import("portolan/storage").Storage} storage
 * @param {() => Promise<boolean>} hasModel
 */
export function withHealth(mcp, storage, hasModel) {
  const health = createHealthHandler({
    endpoint: mcp,
    storage,
    checks: { model: async () => (await hasModel()) || "the model is not loaded yet" },
  });
  return async (/** @type {Request} */ request) => (await health.fetch(request)) ?? mcp.fetch(request);
}
// endregion
