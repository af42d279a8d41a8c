import { describe, expect, test } from "vitest";
import { type Passed, passedIn, problemsOf, type Sender } from "./conversation.ts";
import createFullServer from "./full-server.mjs";
import { schemasMissing } from "./official-schema.ts";
import { connectMemory, metaKey } from "./raw-peer.ts";
import { type RevisionDate, revisions } from "./revisions.ts";

/** A sender with a message or a batch, without the member `jsonrpc`. */
type SentMessage = readonly [from: Sender, message: unknown];

function passing(revision: RevisionDate, ...sent: readonly SentMessage[]): Passed[] {
  return sent.map(([from, message]) => {
    const whole = Array.isArray(message) ? message.map(toMessage) : toMessage(message);
    return { connection: "only", revision, from, message: whole };
  });
}

const toMessage = (message: unknown) => (message instanceof Object ? { jsonrpc: "2.0", ...message } : message);
const answer = (id: number, result: object): SentMessage => ["server", { id, result }];
const ask = (id: number, method: string, params?: object): SentMessage => [
  "client",
  { id, method, ...(params && { params }) },
];
const stateless = (version: string) => ({
  _meta: { [metaKey("protocolVersion")]: version, [metaKey("clientCapabilities")]: {} },
});
const listed = { tools: [{ name: "a", inputSchema: { type: "object", $schema: "x" } }] };
const handshake = (id: number, asked: string, agreed: string): SentMessage[] => [
  ask(id, "initialize", { protocolVersion: asked, capabilities: {}, clientInfo: { name: "c", version: "1" } }),
  answer(id, { protocolVersion: agreed, capabilities: {}, serverInfo: { name: "s", version: "1" } }),
];

describe.skipIf(schemasMissing)("the check of passed messages", () => {
  test.each(revisions)(
    "finds no problems in messages of our server in %s, and several in altered messages",
    async (revision) => {
      const peer = await connectMemory(createFullServer(), { revision });
      for (const method of ["tools/list", "resources/list", "prompts/list", "no/such/method"])
        await peer.request(method);
      await peer.callTool("add", { a: 1, b: 2 });
      await peer.close();
      const passed = passedIn(peer.transcript, revision);
      expect(passed.length).toBeGreaterThan(9);
      expect(problemsOf(passed, "server")).toEqual([]);
      expect(problemsOf(passed, "client")).toEqual([]);
      const tampered = passed.map((one) => ({
        ...one,
        message: JSON.parse(JSON.stringify(one.message).replaceAll('"name"', '"nom"')),
      }));
      expect(problemsOf(tampered, "server").length).toBeGreaterThan(3);
    },
  );

  test.each<[string, RevisionDate, Sender, SentMessage[]]>([
    ["a result without a required member", "2025-06-18", "server", [ask(1, "tools/list"), answer(1, {})]],
    [
      "a member of a newer revision",
      "2025-11-25",
      "server",
      [ask(1, "tools/list"), answer(1, { ...listed, ttlMs: 1 })],
    ],
    [
      "a result without its result type",
      "2026-07-28",
      "server",
      [ask(1, "tools/list", stateless("2026-07-28")), answer(1, listed)],
    ],
    [
      "a member of a revision newer than the negotiated one",
      "2025-11-25",
      "server",
      [
        ...handshake(1, "2025-11-25", "2024-11-05"),
        ask(2, "tools/call", { name: "a" }),
        answer(2, { content: [], structuredContent: {} }),
      ],
    ],
    ["a response without a request", "2025-11-25", "server", [ask(1, "ping"), answer(2, {})]],
    [
      "a response with an id of another type",
      "2025-11-25",
      "server",
      [ask(1, "ping"), ["server", { id: "1", result: {} }]],
    ],
    [
      "an error with a null id",
      "2025-11-25",
      "server",
      [["server", { id: null, error: { code: -32700, message: "?" } }]],
    ],
    [
      "an error without its data",
      "2026-07-28",
      "server",
      [ask(1, "tools/list", stateless("1999-01-01")), ["server", { id: 1, error: { code: -32022, message: "?" } }]],
    ],
    [
      "a batch in a revision without batches",
      "2025-06-18",
      "server",
      [ask(1, "ping"), ["server", [{ id: 1, result: {} }]]],
    ],
    [
      "progress that is not a number",
      "2025-11-25",
      "server",
      [["server", { method: "notifications/progress", params: { progressToken: 1, progress: "1" } }]],
    ],
    [
      "a notification that the revision lacks",
      "2024-11-05",
      "server",
      [["server", { method: "notifications/elicitation/complete", params: { elicitationId: "1" } }]],
    ],
    ["text that is not a message", "2025-11-25", "server", [["server", "hello"]]],
    [
      "a capability of a newer revision",
      "2024-11-05",
      "client",
      [
        ask(1, "initialize", {
          protocolVersion: "2024-11-05",
          capabilities: { elicitation: {} },
          clientInfo: { name: "c", version: "1" },
        }),
      ],
    ],
    [
      "a response of the client with an undefined member",
      "2025-11-25",
      "client",
      [
        ["server", { id: "q", method: "roots/list" }],
        ["client", { id: "q", result: { roots: [], resultType: "complete" } }],
      ],
    ],
  ])("finds %s", (_, revision, ours, sent) => {
    expect(problemsOf(passing(revision, ...sent), ours)).not.toEqual([]);
  });

  test("checks each message by the revision of its request", () => {
    const typed = { resultType: "complete", ttlMs: 0, cacheScope: "public", ...listed };
    const passed = passing(
      "2026-07-28",
      ...handshake(1, "2025-11-25", "2025-03-26"),
      ask(2, "tools/list", stateless("2026-07-28")),
      ask(3, "tools/list"),
      answer(2, typed),
      answer(3, listed),
      ["client", [{ id: 4, method: "ping" }]],
      ["server", [{ id: 4, result: {} }]],
    );
    expect(problemsOf(passed, "server")).toEqual([]);
    const [swapped] = passing("2026-07-28", answer(3, typed));
    expect(problemsOf([...passed.slice(0, 4), swapped!], "server")).not.toEqual([]);
  });

  test("accepts a repeated response only if it is identical", () => {
    const passed = passing("2025-11-25", ask(1, "ping"), answer(1, {}), answer(1, {}));
    expect(problemsOf(passed, "server")).toEqual([]);
    const [other] = passing("2025-11-25", answer(1, { content: [] }));
    expect(problemsOf([...passed, other!], "server")).not.toEqual([]);
  });

  test("keeps connections apart", () => {
    const [request, response] = passing("2025-11-25", ask(1, "ping"), answer(1, {}));
    expect(problemsOf([request!, response!], "server")).toEqual([]);
    expect(problemsOf([request!, { ...response!, connection: "other" }], "server")).not.toEqual([]);
  });
});
