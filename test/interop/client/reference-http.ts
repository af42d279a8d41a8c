import type { Progress } from "portolan/client";
import { expect } from "vitest";
import { startRelay } from "../relay.ts";
import type { ServerColumn } from "./feature.ts";
import { httpFeatures } from "./features/http.ts";
import { everything } from "./reference.ts";

type Checks = NonNullable<ServerColumn["own"]>;

const tool = "trigger-long-running-operation";

/** Checks of the reference server for every HTTP transport. */
export const everythingChecks: Checks = { ...everything.checks, ...shared("http: through fetch") };

/** Checks of the reference server with sessions. */
export const everythingSessionChecks: Checks = {
  ...everythingChecks,
  ...shared("session: ends with the client", "session: lost by the server"),
  async "resumption: of an interrupted call"(_, { address, openAt }) {
    const url = await address!();
    const relay = await startRelay(url);
    const { client } = await openAt!(relay.url);
    const second = await openAt!(url);
    const seen: number[] = [];
    let reconnect = () => {};
    const onProgress = ({ progress }: Progress) => {
      seen.push(progress);
      if (progress > 1) return;
      // Its server sends stored events when a client reconnects and none later, so the client must reconnect late.
      reconnect = relay.hold();
      relay.cut();
    };
    const call = client.callTool(tool, { duration: 0.2, steps: 4 }, { onProgress });
    await second.client.callTool(tool, { duration: 0.4, steps: 1 });
    reconnect();
    expect(await call).toMatchObject({ content: [{ text: expect.stringContaining("completed") }] });
    expect(seen).toEqual([1, 2, 3, 4]);
    await Promise.all([client.close(), second.client.close()]);
  },
};

function shared(...names: string[]): Checks {
  return Object.fromEntries(httpFeatures.flatMap(({ name, check }) => (names.includes(name) ? [[name, check]] : [])));
}
