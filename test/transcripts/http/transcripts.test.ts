import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "portolan/client";
import { http } from "portolan/client/http";
import { describe, expect, test } from "vitest";
import { start } from "../../http/kit.ts";
import createFullServer from "../../kit/full-server.mjs";
import { type RevisionDate, revisions } from "../../kit/revisions.ts";
import { connecting } from "../client/scenario.ts";
import { playClientScenario } from "./client-scenario.ts";
import { toTranscript } from "./format.ts";
import { type RecordingProxy, startRecordingProxy } from "./recording-proxy.ts";
import { playServerScenario } from "./server-scenario.ts";

/** Starts our server behind a recording proxy. */
async function startRecorded(): Promise<RecordingProxy> {
  const { url } = await start(createFullServer(), { httpSse: true });
  return startRecordingProxy(url);
}

/** Compares with the golden file; UPDATE_TRANSCRIPTS writes it first. */
function compare(side: "server" | "client", revision: RevisionDate, { passed }: RecordingProxy): void {
  const file = join(import.meta.dirname, side, `${revision}.txt`);
  const transcript = `${toTranscript(passed)}\n`;
  if (process.env["UPDATE_TRANSCRIPTS"]) writeFileSync(file, transcript);
  expect(transcript).toBe(readFileSync(file, "utf8"));
}

const isOver = ({ passed, until }: RecordingProxy) => until(() => passed.every(({ endedBy }) => endedBy !== undefined));

describe.each(revisions)("HTTP of %s", (revision) => {
  test("the answers of the server equal the golden file", async () => {
    const proxy = await startRecorded();
    await playServerScenario(proxy.url, revision);
    await isOver(proxy);
    compare("server", revision, proxy);
  });

  test("the requests of the client equal the golden file", async () => {
    const proxy = await startRecorded();
    const isOldest = revision === "2024-11-05";
    const url = isOldest ? new URL("/sse", proxy.url).href : proxy.url;
    const client = await connect(http(url, { legacySse: isOldest }), connecting(revision));
    await playClientScenario(client, proxy);
    await client.close();
    await isOver(proxy);
    compare("client", revision, proxy);
  });
});
