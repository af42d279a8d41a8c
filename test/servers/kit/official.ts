import { describe, expect, test } from "vitest";
import { defaultAnswers } from "../../interop/feature.ts";
import type { PeerClient } from "../../peers/clients/peer.d.mts";
import { connect as connectV1 } from "../../peers/clients/sdk-v1.mjs";
import { connect as connectV2 } from "../../peers/clients/sdk-v2.mjs";
import { serveHttp } from "./programs.ts";

const clients = [
  { name: "SDK v1", connect: connectV1, version: "2025-11-25" },
  { name: "SDK v2 with a handshake", connect: connectV2, version: "2025-11-25", mode: "legacy" },
  { name: "SDK v2 without a handshake", connect: connectV2, version: "2026-07-28", mode: "pin" },
  { name: "SDK v2 with negotiation", connect: connectV2, version: "2026-07-28", mode: "auto" },
] as const;

/** Uses a server's program over stdio with each official client. */
export function forOfficialClients(
  script: string,
  what: string,
  use: (client: PeerClient) => Promise<void>,
  env: () => { [name: string]: string } = () => ({}),
): void {
  test.each(clients)(`$name ${what}`, (client) => run(client, { script, env: env() }, use));
}

/** Uses a server's program with each official client, over stdio and over HTTP. */
export function forOfficialClientsOverBoth(
  script: string,
  what: string,
  use: (client: PeerClient) => Promise<void>,
): void {
  describe.each(["stdio", "http"])("over %s", (transport) => {
    test.each(clients)(`$name ${what}`, async (client) =>
      run(client, transport === "stdio" ? { script } : { url: await serveHttp(script) }, use),
    );
  });
}

async function run(
  { connect, ...options }: (typeof clients)[number],
  target: { script: string; env?: { [name: string]: string } } | { url: string },
  use: (client: PeerClient) => Promise<void>,
): Promise<void> {
  const client = await connect({ ...target, answers: defaultAnswers(), ...options });
  try {
    expect(client.version).toBe(options.version);
    await use(client);
    expect(client.errors).toEqual([]);
  } finally {
    await client.close();
  }
}
