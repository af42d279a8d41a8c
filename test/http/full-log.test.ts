import { connect } from "portolan/client";
import { createServer, live } from "portolan/server";
import { type ServeHttpOptions, serveHttp } from "portolan/server/http";
import { createMemoryStorage } from "portolan/storage";
import { expect, onTestFinished, test } from "vitest";
import { revisions } from "../kit/revisions.ts";
import { start } from "./kit.ts";
import { begin } from "./peer.ts";
import { byUser } from "./users.ts";

const steps = 10_000;
const server = createServer({ name: "burst", version: "1.0.0" }).tool("burst", {
  run(_, context) {
    for (let step = 1; step <= steps; step += 1) context.progress(step, steps);
    return "done";
  },
});

test.each(revisions)("no progress is lost when the event log of the storage is full (%s)", async (era) => {
  const serving = serveHttp(server, { storage: createMemoryStorage({ maxLogEntries: 10 }) });
  onTestFinished(() => serving.close());
  const { url } = await serving.listen();
  const client = await connect(url, { era });
  let heard = 0;
  const { content } = await client.callTool("burst", {}, { onProgress: () => (heard += 1) });
  expect([heard, content]).toEqual([steps, [{ type: "text", text: "done" }]]);
  await client.close();
});

const uri = "note://1";
const notes = () =>
  live(
    createServer({ name: "notes", version: "1.0.0" }, { onError() {} })
      .resource(uri, { name: "note", subscribe: true, read: () => "one" })
      .tool("steps", {
        async run({ chars }, context) {
          for (const step of [1, 2, 3]) {
            context.progress(step, 3, "x".repeat(Number(chars)));
            await new Promise((resolve) => setImmediate(resolve));
          }
          return "done";
        },
      }),
  );

test.each([
  ["the storage", { storage: createMemoryStorage({ maxLogEntries: 2 }) }],
  ["the caller's kept bytes", { verify: byUser, limits: { keptBytesPerCaller: 24_000 } }],
] satisfies [string, ServeHttpOptions][])("a standalone stream goes on when %s is full", async (_, options) => {
  const server = notes();
  const { url } = await start(server, options);
  const peer = await begin(url, "2025-11-25", { headers: { authorization: "ada" } });
  const stream = await peer.get();
  const opening = await stream.event();
  const ids: (string | undefined)[] = [];
  for (let count = 1; count <= 20; count += 1) {
    server.publish("tools/list_changed", {});
    const event = await stream.messageEvent();
    expect(JSON.parse(event.data).method).toBe("notifications/tools/list_changed");
    ids.push(event.id);
  }
  // An event that is not stored has no id, or names its publication; the client cannot resume from before it.
  expect(ids.some((id) => id?.includes("~") ?? true)).toBe(true);
  stream.drop();
  await stream.closed;
  const refused = await peer.get(opening?.id);
  expect([refused.status, refused.isStream]).toEqual([400, false]);
});

test("one caller that fills its kept bytes leaves others their resumption", async () => {
  const { url } = await start(notes(), { verify: byUser, limits: { keptBytesPerCaller: 40_000 } });
  const idsOf = async (authorization: string, chars: number) => {
    const peer = await begin(url, "2025-11-25", { headers: { authorization } });
    const answer = await peer.call("steps", { chars });
    const { id } = await answer.messageEvent();
    await answer.messages();
    return { status: (await peer.get(id)).status };
  };
  expect(await idsOf("ada", 30_000)).toEqual({ status: 400 });
  expect(await idsOf("grace", 10)).toEqual({ status: 200 });
});
