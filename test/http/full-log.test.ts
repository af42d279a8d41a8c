import { connect } from "portolan/client";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createMemoryStorage } from "portolan/storage";
import { expect, onTestFinished, test } from "vitest";
import { revisions } from "../kit/revisions.ts";

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
