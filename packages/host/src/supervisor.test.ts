import { PortolanError } from "portolan";
import type { Client } from "portolan/client";
import { createClock } from "portolan/testing";
import { expect, test } from "vitest";
import type { ServerConnection } from "./open-connection.ts";
import type { ServerEntry } from "./options.ts";
import { Semaphore, Supervisor } from "./supervisor.ts";

const entry: ServerEntry = {
  name: "one",
  target: { command: "true" },
  configured: { command: "true" },
  settings: {},
  source: { kind: "code" },
};

/** A connection that ends on demand. */
class Line implements ServerConnection {
  readonly client: Client;
  lose: (reason?: Error) => void = () => {};
  isClosed = false;

  constructor() {
    const closed = new Promise<Error | undefined>((resolve) => {
      this.lose = resolve;
    });
    const close = async () => {
      this.isClosed = true;
      this.lose(undefined);
    };
    const profile = { version: "1", era: "stateless", capabilities: {} };
    this.client = { closed, close, server: profile } as unknown as Client;
  }
}

function createSupervisor(open: (attempt: number) => Promise<ServerConnection>, startSlots = new Semaphore(8)) {
  const clock = createClock();
  const states: string[] = [];
  let attempts = 0;
  const supervisor: Supervisor = new Supervisor(entry, {
    clock,
    startSlots,
    random: () => 0.5,
    onConnect: () => {},
    onStateChange: () => states.push(supervisor.status.state),
    open: () => {
      attempts += 1;
      return open(attempts);
    },
  });
  return { supervisor, clock, states, attempts: () => attempts };
}

test("a server starts when it is first needed, once for all callers", async () => {
  const { supervisor, states, attempts } = createSupervisor(async () => new Line());
  expect(supervisor.status.state).toBe("idle");
  const [a, b] = await Promise.all([supervisor.use(), supervisor.use()]);
  expect(a).toBe(b);
  expect(attempts()).toBe(1);
  expect(states).toEqual(["starting", "ready"]);
});

test("calls fail at once after a failed start, until the next retry", async () => {
  const { supervisor, clock, attempts } = createSupervisor(async () => {
    throw new PortolanError("connection-closed", "it exited with code 1");
  });
  await expect(supervisor.use()).rejects.toThrow("it exited with code 1");
  await expect(supervisor.use()).rejects.toThrow("one is down; next attempt in 1 s: it exited with code 1");
  expect(attempts()).toBe(1);
  await clock.advance(1_000);
  // Not restarted, because no call needs it.
  expect(attempts()).toBe(1);
  await expect(supervisor.use()).rejects.toThrow("it exited with code 1");
  expect(attempts()).toBe(2);
  expect(supervisor.status.retryInMs).toBe(1_600);
});

test("a lost server restarts with growing pauses, and stops after too many failures", async () => {
  const lines: Line[] = [];
  const { supervisor, clock, attempts } = createSupervisor(async () => {
    const line = new Line();
    lines.push(line);
    return line;
  });
  await supervisor.use();
  const pauses: number[] = [];
  for (let crash = 0; crash < 8; crash += 1) {
    lines.at(-1)?.lose(new Error("crashed"));
    await clock.advance(0);
    pauses.push(supervisor.status.retryInMs ?? 0);
    await clock.advance(pauses.at(-1) ?? 0);
  }
  expect(pauses).toEqual([1_000, 1_600, 2_560, 4_096, 6_554, 10_486, 16_777, 26_844]);
  expect(attempts()).toBe(9);
  expect(supervisor.status.restarts).toBe(8);
  lines.at(-1)?.lose(new Error("crashed"));
  await clock.advance(600_000);
  expect(attempts()).toBe(9);
  await supervisor.use();
  expect(attempts()).toBe(10);
});

test("a server that ran long enough restarts with the first pause", async () => {
  const lines: Line[] = [];
  const { supervisor, clock } = createSupervisor(async () => {
    const line = new Line();
    lines.push(line);
    return line;
  });
  await supervisor.use();
  for (let crash = 0; crash < 5; crash += 1) {
    await clock.advance(11_000);
    lines.at(-1)?.lose(new Error("crashed"));
    await clock.advance(0);
    expect(supervisor.status.retryInMs).toBe(1_000);
    await clock.advance(1_000);
  }
});

test("a server that is stopped while it starts is closed, and starts again when it is needed", async () => {
  const line = new Line();
  let finish: (line: Line) => void = () => {};
  const { supervisor } = createSupervisor((attempt) =>
    attempt > 1 ? Promise.resolve(new Line()) : new Promise((resolve) => (finish = resolve)),
  );
  const waiting = supervisor.use();
  waiting.catch(() => {});
  const stopping = supervisor.stop();
  finish(line);
  await stopping;
  await expect(waiting).rejects.toThrow("one: stopped while it was starting");
  expect(line.isClosed).toBe(true);
  expect(supervisor.status.state).toBe("idle");
  await supervisor.use();
  expect(supervisor.status.state).toBe("ready");
});

test("a caller that aborts does not end the start for others", async () => {
  let finish: (line: Line) => void = () => {};
  const { supervisor } = createSupervisor(() => new Promise((resolve) => (finish = resolve)));
  const impatient = supervisor.use(AbortSignal.abort(new Error("no time")));
  const patient = supervisor.use();
  await expect(impatient).rejects.toThrow("no time");
  finish(new Line());
  expect(await patient).toBeDefined();
});

test("a blocked server is never started", async () => {
  const { supervisor, attempts } = createSupervisor(async () => new Line());
  await supervisor.stop("untrusted");
  await expect(supervisor.use()).rejects.toThrow("one is not trusted yet, so it is not started");
  await expect(supervisor.start()).rejects.toMatchObject({ code: "server-unavailable" });
  supervisor.unblock();
  await supervisor.use();
  expect(attempts()).toBe(1);
  await supervisor.stop("closed");
  supervisor.unblock();
  await expect(supervisor.use()).rejects.toThrow("one was removed, or the host is closed");
});

test("a server that needs a login is not retried by itself", async () => {
  const { supervisor, clock, attempts } = createSupervisor(async () => {
    throw new PortolanError("login-required", "sign in first");
  });
  await expect(supervisor.use()).rejects.toThrow("sign in first");
  expect(supervisor.status).toMatchObject({ state: "login", code: "login-required", reason: "sign in first" });
  await clock.advance(600_000);
  expect(attempts()).toBe(1);
});

test("the number of concurrent starts is limited", async () => {
  const startSlots = new Semaphore(2);
  const finishers: (() => void)[] = [];
  let running = 0;
  let most = 0;
  const supervisors = Array.from({ length: 50 }, () =>
    createSupervisor(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => finishers.push(resolve));
      running -= 1;
      return new Line();
    }, startSlots),
  );
  const started = Promise.all(supervisors.map(({ supervisor }) => supervisor.use()));
  for (let round = 0; round < 200; round += 1) {
    finishers.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect((await started).length).toBe(50);
  expect(most).toBe(2);
});

test("stopping a blocked server does not unblock it", async () => {
  for (const barrier of ["untrusted", "disabled", "misconfigured"] as const) {
    const { supervisor, attempts } = createSupervisor(async () => new Line());
    await supervisor.stop(barrier, "because");
    await supervisor.stop();
    expect(supervisor.status).toMatchObject({ state: barrier, reason: "because" });
    await expect(supervisor.use()).rejects.toMatchObject({ code: "server-unavailable" });
    expect(attempts()).toBe(0);
  }
});

test("a pause is at most a minute, and has jitter", async () => {
  const { supervisor, clock } = createSupervisor(async () => {
    throw new Error("no");
  });
  for (let attempt = 0; attempt < 20; attempt += 1) await supervisor.start().catch(() => {});
  expect(supervisor.status.retryInMs).toBe(60_000);
  const early = new Supervisor(entry, {
    clock,
    startSlots: new Semaphore(1),
    random: () => 0,
    onConnect: () => {},
    onStateChange: () => {},
    open: () => Promise.reject(new Error("no")),
  });
  await early.start().catch(() => {});
  expect(early.status.retryInMs).toBe(800);
});

test("stopping a server resets its failures and cancels its retry", async () => {
  const lines: Line[] = [];
  const { supervisor, clock, attempts } = createSupervisor(async () => {
    lines.push(new Line());
    return lines.at(-1) as Line;
  });
  for (let crash = 0; crash < 3; crash += 1) {
    await supervisor.start();
    lines.at(-1)?.lose(new Error("crashed"));
    await clock.advance(0);
  }
  expect(supervisor.status.retryInMs).toBe(2_560);
  await supervisor.stop();
  await clock.advance(600_000);
  expect(supervisor.status.state).toBe("idle");
  expect(attempts()).toBe(3);
  await supervisor.start();
  lines.at(-1)?.lose(new Error("crashed"));
  await clock.advance(0);
  expect(supervisor.status.retryInMs).toBe(1_000);
});

test("the end of an old connection does not affect the new one", async () => {
  const lines: Line[] = [];
  const { supervisor, clock } = createSupervisor(async () => {
    lines.push(new Line());
    return lines.at(-1) as Line;
  });
  await supervisor.start();
  const [first] = lines;
  await supervisor.stop();
  expect(first?.isClosed).toBe(true);
  await supervisor.start();
  first?.lose(new Error("late"));
  await clock.advance(0);
  expect(supervisor.status.state).toBe("ready");
});

test("standard error output is kept after the process ends", async () => {
  const line = Object.assign(new Line(), { stderr: "out of memory" });
  const { supervisor, clock } = createSupervisor(async () => line);
  await supervisor.start();
  line.lose(new Error("crashed"));
  await clock.advance(0);
  expect(supervisor.status).toMatchObject({ state: "down", stderr: "out of memory" });
});

test("a server that waits to start can be stopped at once", async () => {
  const startSlots = new Semaphore(1);
  let finish: (line: Line) => void = () => {};
  const slow = createSupervisor(() => new Promise((resolve) => (finish = resolve)), startSlots);
  const waiting = createSupervisor(async () => new Line(), startSlots);
  const first = slow.supervisor.start();
  const second = waiting.supervisor.start();
  // Resolves although the first one still holds the only permit.
  await waiting.supervisor.stop();
  await expect(second).rejects.toThrow("stopped while it was starting");
  expect(waiting.attempts()).toBe(0);
  finish(new Line());
  await first;
  await waiting.supervisor.start();
  expect(waiting.attempts()).toBe(1);
});

/** Work that runs until it is ended. */
function createWork() {
  let end: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  const work = { isRunning: false, end: () => end() };
  const run = async () => {
    work.isRunning = true;
    await done;
  };
  return Object.assign(work, { run });
}

const permit = () => new Promise((resolve) => setImmediate(resolve));

test("permits pass on in order, and no newcomer takes one", async () => {
  const startSlots = new Semaphore(1);
  const works = [createWork(), createWork(), createWork()];
  const [first, second, third] = works as [ReturnType<typeof createWork>, ...typeof works];
  const passing = [startSlots.run(first.run), startSlots.run(second?.run ?? first.run)];
  first.end();
  await passing[0];
  await permit();
  passing.push(startSlots.run(third?.run ?? first.run));
  await permit();
  expect(works.map(({ isRunning }) => isRunning)).toEqual([true, true, false]);
  second?.end();
  await permit();
  expect(third?.isRunning).toBe(true);
  third?.end();
  await Promise.all(passing);
});

test("an aborted task leaves the queue, and the next one gets the permit", async () => {
  const startSlots = new Semaphore(1);
  const [first, last] = [createWork(), createWork()];
  const stop = new AbortController();
  const passing = startSlots.run(first.run);
  const given = startSlots.run(() => expect.unreachable(), stop.signal);
  const waiting = startSlots.run(last.run);
  stop.abort(new Error("never mind"));
  await expect(given).rejects.toThrow("never mind");
  first.end();
  await passing;
  await permit();
  expect(last.isRunning).toBe(true);
  last.end();
  await waiting;
});

test("a failed task frees its permit", async () => {
  const startSlots = new Semaphore(1);
  await expect(startSlots.run(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await startSlots.run(async () => "yes")).toBe("yes");
});
