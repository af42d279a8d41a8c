// @ts-check
// Tools that return each kind of result, fail in each way, and report progress and logs while they run.
import { setTimeout as sleep } from "node:timers/promises";
import { RpcError } from "portolan";
import { createServer, ToolError } from "portolan/server";
import { z } from "zod";

// region results
export const results = createServer({ name: "results", version: "1.0.0" })
  .tool("typed", { output: z.object({ celsius: z.number() }), run: () => ({ celsius: 4 }) })
  .tool("list", { output: z.array(z.number()), run: () => [4, 6, 5] })
  .tool("text", { run: () => "4 degrees" })
  .tool("blocks", {
    run: () => [
      { type: "text", text: "The map:" },
      { type: "resource_link", uri: "map://oslo", name: "Oslo" },
    ],
  })
  .tool("whole", {
    output: z.object({ celsius: z.number() }),
    run: () => ({ content: [{ type: "text", text: "Cold: 4 degrees" }], structuredContent: { celsius: 4 } }),
  });
// endregion

// region errors
export const failures = createServer({ name: "failures", version: "1.0.0" }, { onError: report })
  .tool("for_the_model", {
    run() {
      throw new ToolError("There is no city named Atlantis; list_cities returns all cities");
    },
  })
  .tool("for_the_operator", {
    run() {
      throw new Error("connect ECONNREFUSED 10.0.0.7:5432");
    },
  })
  .tool("for_the_client", {
    run() {
      throw new RpcError(1001, "This month's quota is used up", { data: { resets: "2026-08-01" } });
    },
  });
// endregion

/** @type {{ message: string, reference: string | undefined }[]} */
export const reports = [];

function report(/** @type {unknown} */ error, /** @type {import("portolan/server").ErrorReport} */ { reference }) {
  reports.push({ message: String(error), reference });
}

// region work
export const worker = createServer({ name: "worker", version: "1.0.0" }).tool("copy", {
  input: z.object({ files: z.array(z.string()) }),
  async run({ files }, ctx) {
    for (const [index, file] of files.entries()) {
      await copy(file, ctx.signal);
      ctx.progress(index + 1, files.length, file);
      ctx.log("info", { copied: file }, "copy");
    }
    return `${files.length} copied`;
  },
});
// endregion

/** @type {string[]} */
export const stopped = [];

/** Simulates a copy: it ends at once, or for a file named "endless" only when the signal aborts. */
function copy(/** @type {string} */ file, /** @type {AbortSignal} */ signal) {
  return sleep(file === "endless" ? 3_600_000 : 0, undefined, { signal }).catch((reason) => {
    stopped.push(file);
    throw reason;
  });
}
