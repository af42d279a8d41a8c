import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Callers } from "../callers.ts";
import type { EventStream, HttpReply } from "./adapter.ts";
import { unreadEndMs } from "./limits.ts";
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

/** A reply whose client has read everything when the test calls `read`. */
function replyWith(stream: EventStream): HttpReply & { read(): void } {
  const listeners: (() => void)[] = [];
  const read = () => {
    for (const listener of listeners) listener();
  };
  return {
    send() {},
    stream: () => stream,
    onGone() {},
    isGone: false,
    onSent: (listener) => listeners.push(listener),
    read,
  };
}

function callersOf(streams: { perCaller: number; total: number }): Callers {
  return new Callers({ atOnce: { streams }, perMinute: {} });
}

const someone = callersOf({ perCaller: 10, total: 10 }).get("someone");

describe("the streams of an endpoint", () => {
  test("count as streams of their caller until their client has read their end", () => {
    const streams = new Streams({ keepAliveMs: 1_000 });
    const callers = callersOf({ perCaller: 2, total: 3 });
    const reply = replyWith(new FakeStream());
    const open = (key: string, to = replyWith(new FakeStream())) =>
      callers.get(key).take("streams") ?? streams.openReserved(to, {}, callers.get(key));
    const first = open("a", reply);
    expect(open("a")).toBeInstanceOf(OpenStream);
    expect(open("a")).toBe("caller");
    expect(open("b")).toBeInstanceOf(OpenStream);
    expect(open("b")).toBe("process");
    if (first instanceof OpenStream) first.end();
    expect(open("b")).toBe("process");
    reply.read();
    expect(open("b")).toBeInstanceOf(OpenStream);
    streams.closeAll();
  });

  test("report each call that gets none", () => {
    const onRefused = vi.fn();
    const streams = new Streams({ keepAliveMs: 1_000, onRefused });
    const caller = callersOf({ perCaller: 0, total: 1 }).get("a");
    expect(caller.take("streams")).toBe("caller");
    expect(onRefused).not.toHaveBeenCalled();
    expect([streams.reserveForCall(caller), streams.reserveForCall(caller)]).toEqual([false, false]);
    expect(onRefused.mock.calls).toEqual([
      [caller, "caller"],
      [caller, "caller"],
    ]);
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
    const streams = new Streams({ backlog: 100, keepAliveMs: 1_000 });
    const [silent, slow] = [new FakeStream(), new FakeStream()];
    streams.openReserved(replyWith(silent), {}, someone);
    streams.openReserved(replyWith(slow), {}, someone);
    slow.backlog = 51;
    vi.advanceTimersByTime(1_000);
    expect(silent.written).toHaveLength(1);
    expect(slow.destroyed).toBe(0);
    vi.advanceTimersByTime(1_000);
    expect(slow.destroyed).toBe(1);
    streams.closeAll();
  });

  test("closes the connection of a client that reads nothing of the rest of an ended stream", () => {
    const streams = new Streams({ keepAliveMs: 1_000 });
    const callers = callersOf({ perCaller: 3, total: 3 });
    const [stalled, slow, whole] = [new FakeStream(), new FakeStream(), new FakeStream()];
    for (const raw of [stalled, slow, whole]) {
      expect(callers.get("a").take("streams")).toBeUndefined();
      streams.openReserved(replyWith(raw), {}, callers.get("a")).end();
    }
    stalled.backlog = 1;
    slow.backlog = 1_000;
    for (let seconds = 0; seconds <= unreadEndMs / 1_000; seconds += 1) {
      expect([stalled, slow, whole].map(({ destroyed }) => destroyed)).toEqual([0, 0, 0]);
      slow.backlog -= 1;
      vi.advanceTimersByTime(1_000);
    }
    expect([stalled, slow, whole].map(({ destroyed }) => destroyed)).toEqual([1, 0, 0]);
    // Its place is free again.
    expect(callers.get("a").take("streams")).toBeUndefined();
    expect(callers.get("a").take("streams")).toBe("caller");
    expect([stalled, slow, whole].flatMap(({ written }) => written)).toEqual([]);
  });

  test("closes such a connection in time although the clock is set back", () => {
    const streams = new Streams({ keepAliveMs: 1_000 });
    const stalled = new FakeStream();
    streams.openReserved(replyWith(stalled), {}, someone).end();
    stalled.backlog = 1;
    vi.advanceTimersByTime(1_000);
    vi.setSystemTime(Date.now() - 3_600_000);
    vi.advanceTimersByTime(unreadEndMs);
    expect(stalled.destroyed).toBe(1);
  });

  test("ends a stream whose principal has expired", () => {
    const streams = new Streams({ keepAliveMs: 1_000 });
    const stream = streams.openReserved(replyWith(new FakeStream()), {}, someone);
    const end = vi.fn();
    stream.expiry = { at: Date.now() + 1_500, end };
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
    const stream = new OpenStream(raw, 100, someone, new Set());
    raw.backlog = 50;
    expect([stream.isSlow, stream.isVerySlow]).toEqual([false, false]);
    raw.backlog = 51;
    expect([stream.isSlow, stream.isVerySlow]).toEqual([true, false]);
    raw.backlog = 76;
    expect([stream.isSlow, stream.isVerySlow]).toEqual([true, true]);
  });

  test("is destroyed by a write above the backlog, and takes nothing more", () => {
    const raw = new FakeStream();
    const onOver = vi.fn();
    const stream = new OpenStream(raw, 100, someone, new Set());
    stream.onOver = onOver;
    raw.backlog = 101;
    stream.write("lost");
    stream.write("lost too");
    stream.end();
    expect(raw).toMatchObject({ written: [], destroyed: 1, ended: 0 });
    expect(onOver).toHaveBeenCalledOnce();
  });

  test("counts what is unread as kept bytes of its caller, and is destroyed if there are no more", () => {
    const callers = new Callers({ atOnce: { keptBytes: { perCaller: 300_000, total: 1e9 } }, perMinute: {} });
    const caller = callers.get("a");
    const [first, second] = [new FakeStream(), new FakeStream()];
    const [slow, late] = [first, second].map((raw) => new OpenStream(raw, 1e6, caller, new Set()));
    first.backlog = 199_000;
    slow?.write("x".repeat(1_000));
    expect(caller.exhausts("keptBytes", 100_001)).toBe("caller");
    second.backlog = 100_001;
    late?.write("");
    expect([first.destroyed, second.destroyed]).toEqual([0, 1]);
    slow?.end();
    slow?.countUnread();
    expect(caller.exhausts("keptBytes", 101_001)).toBe("caller");
    first.backlog = 0;
    slow?.countUnread();
    expect(caller.exhausts("keptBytes", 300_000)).toBeUndefined();
  });
});
