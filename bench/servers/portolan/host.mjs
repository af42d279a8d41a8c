import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHost, openActivityFile } from "portolan-host";

/**
 * The same client behind a host: rules decide about each call, and the activity log is written to a file.
 * @type {import("../../driver/client-child.mjs").Connect}
 */
export async function connect({ era, command, args, env }) {
  const folder = mkdtempSync(join(tmpdir(), "portolan-bench-host-"));
  const activity = await openActivityFile(join(folder, "activity.ndjson"));
  const host = await createHost({
    activity,
    servers: { raw: { command, args, env, era } },
    policy: [
      { match: "*.delete*", then: "deny" },
      { match: "raw.write", args: { path: { startsWith: "/tmp/" } }, then: "ask" },
      { match: "raw.*", then: "allow" },
    ],
  });
  await host.ready();
  return {
    listTools: async () => host.catalog.tools,
    call: (name, params) => host.callTool("raw", name, params),
    async close() {
      await host.close();
      await activity.close();
      rmSync(folder, { recursive: true });
    },
  };
}
