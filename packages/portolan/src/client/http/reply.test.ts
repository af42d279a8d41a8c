import { describe, expect, test } from "vitest";
import { createClock } from "../../testing/clock.ts";
import type { Head, Receiver, Transport } from "./options.ts";
import { HttpResponseReader, type ReadingRules } from "./reply.ts";
import { HttpSender } from "./send.ts";

/** A reader whose transport hands its receiver to the test. */
function read(limits: Partial<ReadingRules> = {}) {
  const clock = createClock();
  const log: string[] = [];
  let receiver: Receiver | undefined;
  const transport: Transport = {
    hidesRefusals: false,
    send(_, given) {
      receiver = given;
      return () => log.push("cancelled");
    },
    hold: () => () => {},
    close: () => {},
  };
  const url = new URL("http://host/mcp");
  const sender = new HttpSender(transport, { server: url, onLogin: () => {} });
  const rules: ReadingRules = {
    sender,
    clock,
    maxResponseBytes: 100,
    maxEventChars: 50,
    idleStreamMs: 1_000,
    keepsAlive: false,
    ...limits,
  };
  const reader = new HttpResponseReader(
    rules,
    { method: "POST", url, headers: {}, body: "{}" },
    {
      started: ({ status }) => log.push(`started ${status}`),
      body: (_, text) => log.push(`body ${text}`),
      event: ({ data }) => log.push(`event ${data}`),
      ended: (reason) => log.push(`ended ${reason?.message}`),
      failed: (reason) => log.push(`failed ${reason.message}`),
    },
  );
  reader.send();
  return { clock, log, reader, receiver: receiver as unknown as Receiver, rules };
}

const headOf = (contentType: string): Head => ({
  status: 200,
  header: (name) => (name === "content-type" ? contentType : undefined),
});
const json = headOf("application/json");
const stream = headOf("text/event-stream");

describe("a body", () => {
  test("is reported whole, in one piece or in several", () => {
    for (const pieces of [["{}"], ["{", "}"], ["{", " ", "}"]]) {
      const { log, receiver } = read();
      receiver.head(json);
      for (const piece of pieces) receiver.text(piece, piece.length);
      receiver.end();
      expect(log).toEqual(["started 200", `body ${pieces.join("")}`]);
    }
  });

  test("that is too long is cancelled, counted in bytes", () => {
    const { log, receiver } = read();
    receiver.head(json);
    receiver.text("é".repeat(51), 102);
    receiver.end();
    expect(log[1]).toBe("cancelled");
    expect(log[2]).toContain("with more than 100 bytes; raise maxResponseBytes");
    expect(log).toHaveLength(3);
  });
});

describe("a stream", () => {
  test("reports events and its end, and keeps the last id", () => {
    const { log, reader, receiver } = read();
    receiver.head(stream);
    receiver.text("id: 7\ndata: one\nretry: 5\n\ndata: tw", 30);
    receiver.text("o\n\n", 3);
    receiver.end();
    expect(log).toEqual(["started 200", "event one", "event two", "ended undefined"]);
    expect([reader.lastEventId, reader.retryMs, reader.isOver]).toEqual(["7", 5, true]);
  });

  test("has no id to resume after if a header cannot carry it", () => {
    const { reader, receiver } = read();
    receiver.head(stream);
    receiver.text("id: ü\ndata: x\n\n", 16);
    expect(reader.lastEventId).toBe("");
  });

  test("fails at an event that is too large", () => {
    const { log, receiver } = read();
    receiver.head(stream);
    receiver.text(`data: ${"x".repeat(60)}\n\n`, 68);
    expect(log[2]).toContain("with a stream whose events are too large");
  });

  test("may be silent without keep-alives", async () => {
    const { clock, log, receiver } = read();
    receiver.head(stream);
    await clock.advance(10_000);
    expect(log).toEqual(["started 200"]);
  });

  test("ends if it falls silent after a keep-alive, counted from the last text", async () => {
    const { clock, log, receiver, rules } = read();
    receiver.head(stream);
    receiver.text(": alive\n\n", 9);
    await clock.advance(900);
    receiver.text("data: x\n\n", 9);
    await clock.advance(900);
    expect(log).toEqual(["started 200", "event x"]);
    await clock.advance(100);
    expect(log.slice(2)).toEqual([
      "cancelled",
      "ended POST http://host/mcp failed: its stream was silent for 1000 ms and its keep-alives stopped",
    ]);
    expect(rules.keepsAlive).toBe(true);
  });

  test("reports nothing after it is cancelled", () => {
    const { log, reader, receiver } = read();
    receiver.head(stream);
    reader.cancel();
    receiver.text("data: x\n\n", 9);
    receiver.end();
    expect(log).toEqual(["started 200", "cancelled"]);
  });
});

test("a failure before the head is a failure of the request", () => {
  const { log, receiver } = read();
  receiver.failed(new Error("reset"));
  expect(log).toEqual(["failed POST http://host/mcp failed: reset"]);
});
