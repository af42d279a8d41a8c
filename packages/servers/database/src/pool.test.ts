import { expect, test } from "vitest";
import { Pool, type Pooled } from "./pool.ts";

/** A fake connection. */
class Fake implements Pooled {
  isUsable = true;
  isClosed = false;
  resets = 0;
  async reset(): Promise<void> {
    this.resets += 1;
  }
  async close(): Promise<void> {
    this.isClosed = true;
    this.isUsable = false;
  }
}

function setUp(options: { max?: number; maxWaiting?: number; waitMs?: number; idleMs?: number } = {}) {
  const opened: Fake[] = [];
  const open = async () => {
    const fake = new Fake();
    opened.push(fake);
    return fake;
  };
  const pool = new Pool<Fake>({ max: 2, maxWaiting: 3, waitMs: 60_000, idleMs: 60_000, open, ...options });
  return { pool, opened };
}

/** Starts work that lasts until `end` is called. */
function held(pool: Pool<Fake>, signal: AbortSignal = new AbortController().signal, caller?: string) {
  let end = () => {};
  const until = new Promise<void>((resolve) => {
    end = resolve;
  });
  const done = pool.use(
    signal,
    async (fake) => {
      await until;
      return fake;
    },
    caller,
  );
  return { end, done };
}

const never = new AbortController().signal;

test("opens connections on demand, reuses them, and resets them in between", async () => {
  const { pool, opened } = setUp();
  const first = await pool.use(never, async (fake) => fake);
  await expect.poll(() => first.resets).toBe(1);
  expect(await pool.use(never, async (fake) => fake)).toBe(first);
  expect(opened).toHaveLength(1);
});

test("never opens more than the maximum, and serves waiters in order", async () => {
  const { pool, opened } = setUp();
  const [a, b] = [held(pool), held(pool)];
  const order: number[] = [];
  const waiting = [1, 2, 3].map((number) => pool.use(never, async () => order.push(number)));
  a.end();
  await Promise.all(waiting);
  expect(order).toEqual([1, 2, 3]);
  expect(opened).toHaveLength(2);
  b.end();
  await Promise.all([a.done, b.done]);
});

test("refuses too many waiters, and those that wait too long", async () => {
  const { pool } = setUp({ max: 1, maxWaiting: 1, waitMs: 10 });
  const first = held(pool);
  const waiting = pool.use(never, async () => {});
  await expect(pool.use(never, async () => {})).rejects.toThrow("All 1 connections are busy");
  await expect(waiting).rejects.toThrow("All 1 connections are busy");
  first.end();
  await first.done;
  await pool.use(never, async () => {});
});

test("an aborted waiter leaves the queue", async () => {
  const { pool } = setUp({ max: 1 });
  const first = held(pool);
  const leave = new AbortController();
  const waiting = pool.use(leave.signal, async () => "ran");
  leave.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  await expect(pool.use(leave.signal, async () => "ran")).rejects.toThrow("gone");
  first.end();
  expect(await first.done).toBeInstanceOf(Fake);
  expect(await pool.use(never, async () => "ran")).toBe("ran");
});

test("closes and replaces a connection that is not usable", async () => {
  const { pool, opened } = setUp({ max: 1 });
  await pool.use(never, async (fake) => {
    fake.isUsable = false;
  });
  const second = await pool.use(never, async (fake) => fake);
  expect(opened).toHaveLength(2);
  expect([opened[0]?.isClosed, opened[0]?.resets, opened[1] === second]).toEqual([true, 0, true]);
});

test("closes a connection that fails during reset or while idle", async () => {
  const { pool, opened } = setUp({ max: 1 });
  await pool.use(never, async (fake) => {
    fake.reset = async () => {
      fake.isUsable = false;
    };
  });
  const second = await pool.use(never, async (fake) => fake);
  await expect.poll(() => second.resets).toBe(1);
  second.isUsable = false;
  await pool.use(never, async () => {});
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([true, true, false]);
});

test("frees the slot when no connection can be opened", async () => {
  let isDown = true;
  const open = async () => {
    if (isDown) throw new Error("down");
    return new Fake();
  };
  const pool = new Pool<Fake>({ max: 1, maxWaiting: 0, waitMs: 10, idleMs: 60_000, open });
  await expect(pool.use(never, async () => {})).rejects.toThrow("down");
  isDown = false;
  await pool.use(never, async () => {});
});

test("closes idle connections after a while, and all of them on close", async () => {
  const { pool, opened } = setUp({ idleMs: 5 });
  await pool.use(never, async () => {});
  await expect.poll(() => opened[0]?.isClosed).toBe(true);
  const running = held(pool);
  await expect.poll(() => opened.length).toBe(2);
  const second = held(pool);
  await expect.poll(() => opened.length).toBe(3);
  const waiting = pool.use(never, async () => {});
  const refused = expect(waiting).rejects.toThrow("closed");
  await pool.close();
  await refused;
  expect(opened[1]?.isClosed).toBe(true);
  running.end();
  second.end();
  await Promise.all([running.done, second.done]);
  await expect(pool.use(never, async () => {})).rejects.toThrow("closed");
});

test("leaves one connection for other callers, and gives a free one to the caller that has fewest", async () => {
  const { pool, opened } = setUp({ max: 3, maxWaiting: 10 });
  const hostile = [1, 2, 3, 4].map(() => held(pool, never, "hostile"));
  await expect.poll(() => opened.length).toBe(2);
  const innocent = held(pool, never, "innocent");
  await expect.poll(() => opened.length).toBe(3);
  const order: string[] = [];
  const waiting = ["hostile", "third"].map((caller) => pool.use(never, async () => order.push(caller), caller));
  hostile[0]?.end();
  await waiting[1];
  expect(order).toEqual(["third"]);
  for (const one of [...hostile, innocent]) one.end();
  await Promise.all([...hostile, innocent].map(({ done }) => done));
  await Promise.all(waiting);
  expect(opened).toHaveLength(3);
});

test("a full queue refuses the newest waiter of the caller that has most", async () => {
  const { pool } = setUp({ max: 1, maxWaiting: 3 });
  const running = held(pool, never, "hostile");
  const run = (caller: string) => pool.use(never, async () => caller, caller);
  const [first, second, third] = [run("hostile"), run("hostile"), run("hostile")];
  const refused = expect(third).rejects.toThrow("connections are busy");
  await expect(run("hostile")).rejects.toThrow("connections are busy");
  const innocent = run("innocent");
  await refused;
  running.end();
  expect(await Promise.all([first, second, innocent])).toEqual(["hostile", "hostile", "innocent"]);
  await running.done;
});
