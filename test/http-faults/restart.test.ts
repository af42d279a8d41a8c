import { type Client, connect } from "portolan/client";
import { describe, expect, test } from "vitest";
import { closing, reasonOf, textOf, until } from "../http-client/kit.ts";
import { ServerProcess } from "./processes.ts";
import { DroppingListener } from "./relay.ts";
import { Watched } from "./watched.ts";

const changed = { kind: "resource", uri: "note://1" } as const;
const publish = (server: ServerProcess) => () =>
  server.ask("publish", { topic: "resources/updated", payload: { uri: "note://1" } });

async function echo(client: Client, text: string): Promise<string> {
  return textOf(await client.callTool("echo", { text }));
}

describe.each(["stateless", "stateful"] as const)(
  "a server that is restarted while a %s client is connected",
  (era) => {
    test("reports changes and answers new calls, and calls that may have run are not retried", async () => {
      const first = await ServerProcess.start();
      const client = closing(await connect(first.url, { era, idleMs: 20_000 }));
      const watched = new Watched(await client.watch({ uris: ["note://1"] }));
      await watched.receives(changed, publish(first));
      const silent = reasonOf(client.callTool("hold", { key: "silent" }));
      let steps = 0;
      const onProgress = () => (steps += 1);
      const streaming = reasonOf(client.callTool("hold", { key: "streaming" }, { onProgress }));
      await Promise.all([first.noted("holding silent"), first.noted("holding streaming")]);
      await first.ask("step", { key: "streaming" });
      await until(() => steps === 1);
      const before = watched.received.length;
      await first.kill();
      const second = await ServerProcess.start({}, first.port);
      for (const lost of [silent, streaming]) expect(await lost).toMatchObject({ requestMayHaveRun: true });
      expect(await echo(client, "again")).toBe("again");
      // The client cannot know what it missed, so everything counts as changed.
      await until(() => watched.received.length > before || watched.failure);
      expect(watched.failure).toBeUndefined();
      await watched.receives(changed, publish(second));
      expect(await second.ask("counts")).toEqual({ running: 0, watching: 1 });
      expect(second.notes).toEqual([]);
    });

    test("is retried while it is down, and reports changes afterwards", async () => {
      const first = await ServerProcess.start();
      const client = closing(await connect(first.url, { era, idleMs: 20_000 }));
      const watched = new Watched(await client.watch({ uris: ["note://1"] }));
      await watched.receives(changed, publish(first));
      await first.kill();
      const dropping = await DroppingListener.at(first.port);
      await until(() => dropping.connections > 1 || watched.failure);
      expect(watched.failure).toBeUndefined();
      expect(await reasonOf(client.ping())).toMatchObject({ code: "connection-closed" });
      await dropping.clear();
      const second = await ServerProcess.start({}, first.port);
      await watched.receives(changed, publish(second));
      expect(watched.failure).toBeUndefined();
    });
  },
);
