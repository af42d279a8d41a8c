import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { EventStream, HttpReply } from "./adapter.ts";
import { OpenStream, Streams } from "./streams.ts";

class FakeStream implements EventStream {
  backlog = 0;
  written: string[] = [];
  ended = 0;
  destroyed = 0;

  write(text: string): void {
    this.written.push(text);
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  end(): void {
    this.ended += 1;
  }

  destroy(): void {
    this.destroyed += 1;
  }
}

function replyWith(stream: EventStream): HttpReply {
  return { send() {}, stream: () => stream, onGone() {} };
}

describe("the streams of an endpoint", () => {
  const limits = { streams: 3, streamsPerPrincipal: 2 };
  const open = (streams: Streams, principal: string) => streams.open(replyWith(new FakeStream()), {}, principal);

  test("are bounded per principal and in all", () => {
    const streams = new Streams({ limits, keepAliveMs: 1_000 });
    const first = open(streams, "a");
    expect(open(streams, "a")).toBeDefined();
    expect(open(streams, "a")).toBeUndefined();
    expect(open(streams, "b")).toBeDefined();
    expect(open(streams, "b")).toBeUndefined();
    first?.end();
    expect(open(streams, "b")).toBeDefined();
    streams.closeAll();
  });

  test("count reserved places until they are released", () => {
    const streams = new Streams({ limits: { streams: 1 }, keepAliveMs: 1_000 });
    expect(streams.reserve("a")).toBe(true);
    expect(streams.hasRoom("b")).toBe(false);
    streams.release();
    expect(streams.hasRoom("b")).toBe(true);
  });
});

describe("a keep-alive tick", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("writes a comment to a silent stream and closes one that stays slow", () => {
    const streams = new Streams({ limits: { backlog: 100 }, keepAliveMs: 1_000 });
    const [silent, slow] = [new FakeStream(), new FakeStream()];
    streams.open(replyWith(silent), {}, "a");
    streams.open(replyWith(slow), {}, "a");
    slow.backlog = 51;
    vi.advanceTimersByTime(1_000);
    expect(silent.written).toHaveLength(1);
    expect(slow.destroyed).toBe(0);
    vi.advanceTimersByTime(1_000);
    expect(slow.destroyed).toBe(1);
    streams.closeAll();
  });

  test("ends a stream whose principal has expired", () => {
    const streams = new Streams({ limits: {}, keepAliveMs: 1_000 });
    const stream = streams.open(replyWith(new FakeStream()), {}, "a");
    const end = vi.fn();
    if (stream) stream.expiry = { at: Date.now() + 1_500, end };
    vi.advanceTimersByTime(1_000);
    expect(end).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1_000);
    expect(end).toHaveBeenCalledOnce();
    streams.closeAll();
  });
});

describe("an open stream", () => {
  test("is slow above half of the backlog and very slow above three quarters", () => {
    const raw = new FakeStream();
    const stream = new OpenStream(raw, 100, () => {});
    raw.backlog = 50;
    expect([stream.isSlow, stream.isVerySlow]).toEqual([false, false]);
    raw.backlog = 51;
    expect([stream.isSlow, stream.isVerySlow]).toEqual([true, false]);
    raw.backlog = 76;
    expect([stream.isSlow, stream.isVerySlow]).toEqual([true, true]);
  });

  test("is destroyed by a write above the backlog, and takes nothing more", () => {
    const raw = new FakeStream();
    const onClosed = vi.fn();
    const stream = new OpenStream(raw, 100, onClosed);
    raw.backlog = 101;
    stream.write("lost");
    stream.write("lost too");
    stream.end();
    expect(raw).toMatchObject({ written: [], destroyed: 1, ended: 0 });
    expect(onClosed).toHaveBeenCalledOnce();
  });
});
