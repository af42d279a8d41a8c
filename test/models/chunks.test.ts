import fc from "fast-check";
import type { ModelEvent } from "portolan-host/models";
import { startFakeProvider } from "portolan-host/models/fake";
import { beforeAll, describe, expect, test } from "vitest";
import { collect, mergeText, modelRequest, weather } from "./conversation.ts";
import { adapterOf, apiKey, dialects, fetchReturning } from "./providers.ts";

const request = modelRequest("go", { tools: [weather] });
const turns = [
  {
    think: "Ölige Gedanken 🤔 … ",
    say: "Hello\r\nWörld 🌍\u2028 — “naïve” 日本語 ",
    call: [
      { name: "weather", input: { city: 'São "Paulo" \\ \n 🏙', days: [1, 2.5, null] } },
      { name: "weather", input: {} },
    ],
    repeat: true,
  },
];

/** Returns the bytes that the fake provider sends. */
async function bytesOf(dialect: (typeof dialects)[number], fault = {}): Promise<Uint8Array> {
  const provider = await startFakeProvider({ dialect, turns, apiKey, faults: [fault] });
  let bytes: Uint8Array | undefined;
  const tapped: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    bytes = new Uint8Array(await response.clone().arrayBuffer());
    return response;
  };
  await collect(adapterOf(dialect, provider.url, { fetch: tapped }).stream(request));
  await provider.close();
  return bytes!;
}

/** Splits bytes at the given offsets. */
function splitAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const sorted = [...new Set(places.map((place) => place % bytes.length))].sort((a, b) => a - b);
  return [0, ...sorted].map((place, index) => bytes.slice(place, sorted[index] ?? bytes.length));
}

describe.each(dialects)("the %s adapter", (dialect) => {
  const read = (chunks: Uint8Array[]) =>
    collect(adapterOf(dialect, "http://127.0.0.1:9/v1", { fetch: fetchReturning(chunks) }).stream(request));
  let bytes: Uint8Array;
  let events: ModelEvent[];

  beforeAll(async () => {
    bytes = await bytesOf(dialect);
    events = await read([bytes]);
  });

  test("yields the events of the fake provider's turn", () => {
    expect(mergeText(events)).toMatchObject([
      { type: "thinking", delta: turns[0]!.think },
      { type: "text", delta: turns[0]!.say },
      { type: "tool", input: turns[0]!.call[0]!.input },
      { type: "tool", input: {} },
      { type: "end", stopReason: "toolUse" },
    ]);
  });

  test("yields the same events for any split of the bytes", async () => {
    const places = fc.array(fc.nat(bytes.length - 1), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(places, async (cuts) => {
        expect(await read(splitAt(bytes, cuts))).toEqual(events);
      }),
      { numRuns: 150 },
    );
  });

  test("yields the same events byte by byte", async () => {
    expect(await read(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(events);
  });

  test("yields the same merged events when tool calls arrive character by character", async () => {
    expect(mergeText(await read([await bytesOf(dialect, { splitTools: true })]))).toEqual(mergeText(events));
  });

  test("yields no end event for a truncated turn, and only text that was sent", async () => {
    const cuts = fc.nat(bytes.length - 1);
    const whole = mergeText(events);
    await fc.assert(
      fc.asyncProperty(cuts, async (cut) => {
        const seen: ModelEvent[] = [];
        const model = adapterOf(dialect, "http://127.0.0.1:9/v1", {
          fetch: fetchReturning([bytes.slice(0, cut)]),
          retries: 0,
        });
        try {
          for await (const event of model.stream(request)) seen.push(event);
        } catch (error) {
          expect(error).toMatchObject({ code: "model-failed" });
          expect(seen.some(({ type }) => type === "end")).toBe(false);
        }
        const last = seen.at(-1)?.type === "end" ? seen.pop() : undefined;
        // A turn with an end event is complete; only the bytes after its stop reason may be missing.
        if (last !== undefined) expect(mergeText(seen)).toEqual(whole.slice(0, -1));
        const textOf = (type: string, all: readonly ModelEvent[]) =>
          all.map((event) => (event.type === type && "delta" in event ? event.delta : "")).join("");
        for (const type of ["text", "thinking"]) expect(textOf(type, whole).startsWith(textOf(type, seen))).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  test("yields a complete turn or a ModelFailure for random bytes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.nat(bytes.length - 1), async (noise, place) => {
        const chunks = [bytes.slice(0, place), noise, bytes.slice(place)];
        const model = adapterOf(dialect, "http://127.0.0.1:9/v1", { fetch: fetchReturning(chunks), retries: 0 });
        try {
          expect((await collect(model.stream(request))).at(-1)?.type).toBe("end");
        } catch (error) {
          expect(error).toMatchObject({ code: "model-failed" });
        }
      }),
      { numRuns: 150 },
    );
  });

  test("yields a complete turn or a ModelFailure for random JSON in its events", async () => {
    const members = [
      "type",
      "choices",
      "delta",
      "index",
      "content",
      "tool_calls",
      "function",
      "content_block",
      "usage",
      "error",
      "message",
    ];
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.oneof(
          fc.constant(null),
          fc.integer(),
          fc.string(),
          fc.constantFrom("tool_use", "content_block_start", "message_start"),
        ),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...members), tie("tree"), { maxKeys: 4 }),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(fc.array(tree, { maxLength: 4 }), async (data) => {
        const text = new TextEncoder().encode(data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""));
        const model = adapterOf(dialect, "http://127.0.0.1:9/v1", { fetch: fetchReturning([text]), retries: 0 });
        try {
          expect((await collect(model.stream(request))).at(-1)?.type).toBe("end");
        } catch (error) {
          expect(error).toMatchObject({ code: "model-failed" });
        }
      }),
      { numRuns: 300 },
    );
  });
});
