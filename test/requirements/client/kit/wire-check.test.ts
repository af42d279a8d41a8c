import type { JsonObject } from "portolan";
import { describe, expect, test } from "vitest";
import { schemasMissing } from "../../../kit/official-schema.ts";
import { metaKey } from "../../../kit/raw-peer.ts";
import type { RevisionDate } from "../../../kit/revisions.ts";
import type { Sent } from "./scripted-server.ts";
import { problemsOf } from "./wire-check.ts";

const check = (revision: RevisionDate, message: Sent) =>
  problemsOf([{ jsonrpc: "2.0", ...message }], revision, new Map([["q", "roots/list"]]), () => false);
const initialize = (capabilities: JsonObject, clientInfo: JsonObject = {}): Sent => ({
  id: 1,
  method: "initialize",
  params: { capabilities, clientInfo: { name: "c", version: "1", ...clientInfo } },
});
const withVersion = (version: RevisionDate, message: Sent): Sent => ({
  ...message,
  params: { protocolVersion: version, ...message.params },
});
const ref = { type: "ref/prompt", name: "p" };
const complete = { ref, argument: { name: "a", value: "" }, context: { arguments: {} } };

describe.skipIf(schemasMissing)("the check of clients' messages", () => {
  test.each<[string, RevisionDate, Sent]>([
    ["a title", "2025-03-26", withVersion("2025-03-26", initialize({}, { title: "C" }))],
    ["a capability", "2025-03-26", withVersion("2025-03-26", initialize({ elicitation: {} }))],
    ["a member of a capability", "2025-11-25", withVersion("2025-11-25", initialize({ sampling: { audio: {} } }))],
    ["context of a completion", "2025-03-26", { id: 1, method: "completion/complete", params: complete }],
    [
      "metadata of each request",
      "2025-11-25",
      { id: 1, method: "tools/list", params: { _meta: { [metaKey("logLevel")]: "info" } } },
    ],
    ["answers in a retry", "2025-11-25", { id: 1, method: "tools/call", params: { name: "a", inputResponses: {} } }],
    ["a method", "2024-11-05", { id: 1, method: "server/discover", params: {} }],
    ["metadata of an answer", "2026-07-28", { id: "q", result: { roots: [], resultType: "complete" } }],
  ])("finds %s that the revision lacks", (_, revision, message) => {
    expect(check(revision, message)).not.toEqual([]);
  });

  test("finds no problems in valid messages", () => {
    expect(check("2025-06-18", { id: 1, method: "completion/complete", params: complete })).toEqual([]);
    const _meta = { progressToken: 1, "example.com/x": 1 };
    expect(check("2025-11-25", { id: 1, method: "tools/call", params: { name: "a", _meta } })).toEqual([]);
    expect(check("2025-11-25", withVersion("2025-11-25", initialize({ roots: { listChanged: true } })))).toEqual([]);
  });

  test("throws for a response without a request", () => {
    expect(() => check("2025-11-25", { id: "other", result: {} })).toThrow("without a request");
  });
});
