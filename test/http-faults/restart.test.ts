import { type Client, connect } from "portolan/client";
import { describe, expect, test } from "vitest";
import { closing, reasonOf, textOf, until } from "../http-client/kit.ts";
import { ServerProcess } from "./processes.ts";
import { Ruin } from "./relay.ts";
import { Watched } from "./watched.ts";

const changed = { kind: "resource", uri: "note://1" } as const;
const publish = (server: ServerProcess) => () =>
  server.ask("publish", { topic: "resources/updated", payload: { uri: "note://1" } });

async function echo(client: Client, text: string): Promise<string> {
  return textOf(await client.callTool("echo", { text }));
}

describe.each(["stateless", "stateful"] as const)("a server that is started again under a live %s client", (era) => {
  test("tells its changes again, answers new calls, and is not asked twice what may have run", async () => {
    const first = await ServerProcess.start();
    const client = closing(await connect(first.url, { era, idleMs: 20_000 }));
    const watched = new Watched(await client.watch({ uris: ["note://1"] }));
    await watched.hears(changed, publish(first));
    const silent = reasonOf(client.callTool("hold", { key: "silent" }));
    let steps = 0;
    const onProgress = () => (steps += 1);
    const streaming = reasonOf(client.callTool("hold", { key: "streaming" }, { onProgress }));
    await Promise.all([first.noted("holding silent"), first.noted("holding streaming")]);
    await first.ask("step", { key: "streaming" });
    await until(() => steps === 1);
    const before = watched.told.length;
    await first.kill();
    const second = await ServerProcess.start({}, first.port);
    for (const lost of [silent, streaming]) expect(await lost).toMatchObject({ requestMayHaveRun: true });
    expect(await echo(client, "again")).toBe("again");
    // Nobody knows what was missed meanwhile, so that everything counts as changed.
    await until(() => watched.told.length > before || watched.failure);
    expect(watched.failure).toBeUndefined();
    await watched.hears(changed, publish(second));
    expect(await second.ask("counts")).toEqual({ running: 0, watching: 1 });
    expect(second.notes).toEqual([]);
  });

  test("is waited for while it is down, and its changes are told again", async () => {
    const first = await ServerProcess.start();
    const client = closing(await connect(first.url, { era, idleMs: 20_000 }));
    const watched = new Watched(await client.watch({ uris: ["note://1"] }));
    await watched.hears(changed, publish(first));
    await first.kill();
    const ruin = await Ruin.at(first.port);
    await until(() => ruin.knocks > 1 || watched.failure);
    expect(watched.failure).toBeUndefined();
    expect(await reasonOf(client.ping())).toMatchObject({ code: "connection-closed" });
    await ruin.clear();
    const second = await ServerProcess.start({}, first.port);
    await watched.hears(changed, publish(second));
    expect(watched.failure).toBeUndefined();
  });
});
