import { expect, test } from "vitest";
import { defaultAnswers } from "../../interop/feature.ts";
import type { PeerClient } from "../../peers/clients/peer.d.mts";
import { connect as connectV1 } from "../../peers/clients/sdk-v1.mjs";
import { connect as connectV2 } from "../../peers/clients/sdk-v2.mjs";

const clients = [
  { name: "SDK v1", connect: connectV1, version: "2025-11-25" },
  { name: "SDK v2, with a handshake", connect: connectV2, version: "2025-11-25", mode: "legacy" },
  { name: "SDK v2, without one", connect: connectV2, version: "2026-07-28", mode: "pin" },
  { name: "SDK v2, finding out", connect: connectV2, version: "2026-07-28", mode: "auto" },
] as const;

/** Lets each of the official clients use a server's program. */
export function forOfficialClients(
  script: string,
  what: string,
  use: (client: PeerClient) => Promise<void>,
  env: () => { [name: string]: string } = () => ({}),
): void {
  test.each(clients)(`$name ${what}`, async ({ connect, ...options }) => {
    const client = await connect({ script, answers: defaultAnswers(), env: env(), ...options });
    try {
      expect(client.version).toBe(options.version);
      await use(client);
      expect(client.errors).toEqual([]);
    } finally {
      await client.close();
    }
  });
}
