import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, Message, RequestId } from "portolan";
import { describe, expect, test } from "vitest";
import createFullServer from "../kit/full-server.mjs";
import { OfficialSchema, schemasMissing } from "../kit/official-schema.ts";
import { connectMemory } from "../kit/raw-peer.ts";
import { type RevisionDate, revisions } from "../kit/revisions.ts";
import { definitionFor, type Side } from "./definitions.ts";
import { playScenario } from "./scenario.ts";

if (schemasMissing) console.log(`Transcripts are not checked against the official schemas: ${schemasMissing}`);

const goldenFile = (revision: RevisionDate) => join(import.meta.dirname, `${revision}.txt`);

async function record(revision: RevisionDate): Promise<string[]> {
  const peer = await connectMemory(createFullServer(), {
    revision,
    handshake: false,
    capabilities: { roots: {}, sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} } },
    answer: ({ method, params }) => {
      if (method === "roots/list") return { roots: [{ uri: "file:///home/ada", name: "home" }] };
      if (method === "sampling/createMessage") {
        return {
          role: "assistant",
          content: { type: "text", text: "Hello" },
          model: "test-model",
          stopReason: "endTurn",
        };
      }
      const properties = (params?.["requestedSchema"] as JsonObject | undefined)?.["properties"] as
        | JsonObject
        | undefined;
      if (properties === undefined) return { action: "accept" };
      return { action: "accept", content: "name" in properties ? { name: "Ada" } : {} };
    },
  });
  await playScenario(peer);
  await peer.close();
  return peer.transcript;
}

/** Replaces values that differ between two runs. */
function mask(line: string): string {
  return line
    .replace(/"requestState":"[^"]+"/g, '"requestState":"<sealed>"')
    .replace(/"elicitationId":"[^"]+"/g, '"elicitationId":"<uuid>"')
    .replace(/reference [0-9a-f]+/g, "reference <id>");
}

describe.each(revisions)("the transcript of %s", (revision) => {
  test("equals the golden file", async () => {
    const transcript = (await record(revision)).map(mask).join("\n");
    if (process.env["UPDATE_TRANSCRIPTS"]) writeFileSync(goldenFile(revision), `${transcript}\n`);
    expect(`${transcript}\n`).toBe(readFileSync(goldenFile(revision), "utf8"));
  });

  test.skipIf(schemasMissing)("is valid in every line and has no member of another revision", () => {
    const schema = new OfficialSchema(revision);
    const methods = new Map<string, string>();
    const problems: string[] = [];
    const lines = readFileSync(goldenFile(revision), "utf8").trimEnd().split("\n");
    expect(lines.length).toBeGreaterThan(40);
    for (const line of lines) {
      const side: Side = line.startsWith(">") ? "client" : "server";
      // Custom members pass on every revision on purpose, so the schemas need not know them.
      const parsed = JSON.parse(line.slice(2), (name, value) =>
        name.startsWith("example.com/") ? undefined : value,
      ) as Message | Message[];
      for (const message of Array.isArray(parsed) ? parsed : [parsed]) {
        problems.push(
          ...check(schema, message, side, methods).map((problem) => `${problem}\n  in ${line.slice(0, 300)}`),
        );
      }
    }
    expect(problems).toEqual([]);
  });
});

function check(schema: OfficialSchema, message: Message, side: Side, methods: Map<string, string>): string[] {
  if ("method" in message) {
    if ("id" in message) methods.set(key(side, message.id), message.method);
    if (message.method === "no/such/method") return [];
    return schema.problems(definitionFor(message.method, "id" in message ? "request" : "notification"), message);
  }
  if ("error" in message) {
    const name = schema.has("JSONRPCErrorResponse") ? "JSONRPCErrorResponse" : "JSONRPCError";
    return schema.problems(name, message);
  }
  const requester: Side = side === "client" ? "server" : "client";
  const method = methods.get(key(requester, message.id)) ?? "";
  const isInterim = message.result["resultType"] === "input_required";
  return schema.problems(isInterim ? "InputRequiredResult" : definitionFor(method, "result"), message.result);
}

const key = (side: Side, id: RequestId) => `${side} ${JSON.stringify(id)}`;
