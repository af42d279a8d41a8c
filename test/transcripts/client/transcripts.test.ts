import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createMemoryPair, type Message, type RequestId } from "portolan";
import { connect } from "portolan/client";
import { serveChannel } from "portolan/server";
import { recordChannel } from "portolan/testing";
import { describe, expect, test } from "vitest";
import createFullServer from "../../kit/full-server.mjs";
import { OfficialSchema, schemasMissing } from "../../kit/official-schema.ts";
import { type RevisionDate, revisions } from "../../kit/revisions.ts";
import type { Sent } from "../../requirements/client/kit/scripted-server.ts";
import { problemsOf } from "../../requirements/client/kit/wire-check.ts";
import { definitionFor } from "../definitions.ts";
import { connecting, playScenario } from "./scenario.ts";

const goldenFile = (revision: RevisionDate) => join(import.meta.dirname, `${revision}.txt`);

async function transcribe(revision: RevisionDate): Promise<string> {
  const [near, far] = createMemoryPair({ serialize: true });
  serveChannel(createFullServer(), far);
  const [channel, transcript] = recordChannel(near);
  const client = await connect(channel, connecting(revision));
  await playScenario(client, revision);
  await client.close();
  return `${transcript.lines.map(mask).join("\n")}\n`;
}

/** Replaces values that differ between two runs. */
function mask(line: string): string {
  return line
    .replace(/^→/, ">")
    .replace(/^←/, "<")
    .replace(/"requestState":"[^"]+"/g, '"requestState":"<sealed>"')
    .replace(/"elicitationId":"[^"]+"/g, '"elicitationId":"<uuid>"')
    .replace(/reference [0-9a-f]+/g, "reference <id>");
}

describe.each(revisions)("the messages of a client of %s", (revision) => {
  test("equal the golden file", async () => {
    const transcript = await transcribe(revision);
    if (process.env["UPDATE_TRANSCRIPTS"]) writeFileSync(goldenFile(revision), transcript);
    expect(transcript).toBe(readFileSync(goldenFile(revision), "utf8"));
  });

  test.skipIf(schemasMissing)("are valid and have no member of another revision", () => {
    const lines = readFileSync(goldenFile(revision), "utf8").trimEnd().split("\n");
    const sent = linesOf(lines, "> ");
    const received = linesOf(lines, "< ");
    expect(sent.length).toBeGreaterThan(25);
    const asked = new Map<RequestId, string>();
    for (const { id, method } of received) if (method !== undefined && id !== undefined) asked.set(id, method);
    expect(problemsOf(sent, revision, asked, () => false)).toEqual([]);
    const requests = new Map(sent.flatMap(({ id, method }) => (method === undefined ? [] : [[id, method] as const])));
    expect(received.flatMap((message) => problemsOfReply(message, revision, requests))).toEqual([]);
  });
});

function linesOf(lines: readonly string[], side: string): Sent[] {
  return lines
    .filter((line) => line.startsWith(side))
    .map((line) => JSON.parse(line.slice(side.length), (name, value) => (isOwn(name) ? undefined : value)));
}

/** Custom members pass on every revision on purpose, so the schemas need not know them. */
const isOwn = (name: string) => name.startsWith("example.com/");

const official = new Map<RevisionDate, OfficialSchema>();

function problemsOfReply(
  message: Sent,
  revision: RevisionDate,
  requests: ReadonlyMap<RequestId | undefined, string>,
): string[] {
  const schema = official.get(revision) ?? new OfficialSchema(revision);
  official.set(revision, schema);
  const { id, method, result } = message;
  if (method !== undefined) {
    return schema.problems(definitionFor(method, id === undefined ? "notification" : "request"), message as Message);
  }
  if (!result)
    return schema.problems(schema.has("JSONRPCErrorResponse") ? "JSONRPCErrorResponse" : "JSONRPCError", message);
  const isInterim = result.resultType === "input_required";
  return schema.problems(isInterim ? "InputRequiredResult" : definitionFor(requests.get(id) ?? "", "result"), result);
}
