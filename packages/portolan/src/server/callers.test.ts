import { describe, expect, test, vi } from "vitest";
import { Callers } from "./callers.ts";

describe("Callers", () => {
  test("one caller at its limit leaves the others their share", () => {
    const callers = new Callers({ atOnce: { calls: { perCaller: 2, total: 3 } }, perMinute: {} });
    const [greedy, modest] = [callers.get("greedy"), callers.get("modest")];
    expect([greedy.take("calls"), greedy.take("calls"), greedy.take("calls")]).toEqual([
      undefined,
      undefined,
      "caller",
    ]);
    expect([modest.take("calls"), modest.take("calls")]).toEqual([undefined, "process"]);
    greedy.release("calls");
    expect(modest.take("calls")).toBeUndefined();
  });

  test("takes nothing of an amount that is too large", () => {
    const callers = new Callers({ atOnce: { keptBytes: { perCaller: 10, total: 100 } }, perMinute: {} });
    const caller = callers.get("a");
    expect(caller.take("keptBytes", 11)).toBe("caller");
    expect(caller.take("keptBytes", 10)).toBeUndefined();
  });

  test("a caller without a key is bound by the total only", () => {
    const callers = new Callers({ atOnce: { calls: { perCaller: 1, total: 2 } }, perMinute: {} });
    const nobody = callers.get(undefined);
    expect([nobody.take("calls"), nobody.take("calls"), nobody.take("calls")]).toEqual([
      undefined,
      undefined,
      "process",
    ]);
    expect(callers.get("a").take("calls")).toBe("process");
  });

  test("counts events anew in every minute", () => {
    vi.useFakeTimers({ now: 0 });
    try {
      const callers = new Callers({ atOnce: {}, perMinute: { handshakes: { perCaller: 1, total: 2 } } });
      const [a, b] = [callers.get("a"), callers.get("b")];
      expect([a.count("handshakes"), a.count("handshakes")]).toEqual([undefined, "caller"]);
      expect([b.count("handshakes"), callers.get("c").count("handshakes")]).toEqual([undefined, "process"]);
      vi.advanceTimersByTime(60_000);
      expect(a.count("handshakes")).toBeUndefined();
    } finally {
      vi.useRealTimers();
    }
  });

  test("forgets callers that use nothing", () => {
    vi.useFakeTimers({ now: 0 });
    try {
      const callers = new Callers({ atOnce: {}, perMinute: {} });
      const [idle, busy] = [callers.get("idle"), callers.get("busy")];
      busy.take("sessions");
      vi.advanceTimersByTime(180_000);
      callers.get("next");
      expect(callers.get("busy")).toBe(busy);
      expect(callers.get("idle")).not.toBe(idle);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("callers that cannot be told apart", () => {
  const limits = {
    atOnce: { calls: { perCaller: 1, total: 3 } },
    perMinute: {
      handshakes: { perCaller: 1, total: 3 },
      calls: { perCaller: 2 },
    },
  };

  test("share the totals at once, and the calls per minute of one caller", () => {
    const { shared } = new Callers(limits);
    expect([1, 2, 3, 4].map(() => shared.take("calls"))).toEqual([undefined, undefined, undefined, "process"]);
    expect([1, 2, 3, 4].map(() => shared.count("handshakes"))).toEqual([undefined, undefined, undefined, "process"]);
    expect([1, 2, 3].map(() => shared.count("calls"))).toEqual([undefined, undefined, "caller"]);
  });

  test("are not rated on the same machine", () => {
    const { total } = new Callers(limits);
    expect([1, 2, 3].map(() => total.count("calls"))).toEqual([undefined, undefined, undefined]);
  });
});

test("an error says which limit is reached, whose it is, and when to retry", () => {
  vi.useFakeTimers();
  vi.advanceTimersByTime(20_000);
  try {
    const perMinute = { calls: { perCaller: 6_000 } };
    const caller = new Callers({ atOnce: { calls: { perCaller: 256, total: 10_000 } }, perMinute }).get("a");
    expect(caller.beyond("calls", "caller")).toMatchObject({
      code: -31429,
      message: "Limit reached: this caller may have 256 calls at once; retry in 5 s",
      data: { limit: "caller", retryAfterSeconds: 5 },
    });
    expect(caller.beyond("calls", "process").message).toBe(
      "Limit reached: all callers may have 10000 calls at once; retry in 5 s",
    );
    expect(caller.tooOften("calls", "caller")).toMatchObject({
      message: "Limit reached: this caller may have 6000 calls per minute; retry in 40 s",
      data: { limit: "caller", retryAfterSeconds: 40 },
    });
  } finally {
    vi.useRealTimers();
  }
});
