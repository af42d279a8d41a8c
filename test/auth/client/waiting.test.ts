import type { ServerResponse } from "node:http";
import { oauth } from "portolan/auth/client";
import type { HttpAuth } from "portolan/client/http";
import { createClock } from "portolan/testing";
import { describe, expect, test } from "vitest";
import { comeBack, stayAway } from "./kit/person.ts";
import { RecordingStore } from "./kit/recording-store.ts";
import { hour, reasonOf, until } from "./kit/site.ts";
import { startWorld, textOf, type Way, type World, ways } from "./kit/world.ts";

/** A person who comes back on demand. */
function delay({ person }: World) {
  let isReady = false;
  const signals: AbortSignal[] = [];
  person.does = async (page, signal) => {
    signals.push(signal);
    await until(() => isReady || signal.aborted);
    signal.throwIfAborted();
    return comeBack(page);
  };
  const letBack = () => {
    isReady = true;
  };
  return { letBack, signals };
}

/** A connected, idle client that counts its challenges. */
async function startSettled(way: Way) {
  const world = await startWorld({ way });
  let challenges = 0;
  const auth: HttpAuth = {
    authorize: (request) => world.auth.authorize(request),
    challenged: (challenge) => {
      challenges += 1;
      return world.auth.challenged(challenge);
    },
  };
  const client = await world.connect({}, { auth });
  await client.callTool("whoami");
  return { world, client, challenged: () => challenges };
}

/** Invalidates everything that the authority has issued. */
function endAll({ authority, clock }: World): void {
  authority.forget();
  clock.pass(2 * hour);
}

describe.each(ways)("over %s", (way) => {
  test("a person who never comes back is waited for no longer than loginMs, and can sign in later", async () => {
    const world = await startWorld({ way, oauth: { loginMs: 20 } });
    world.person.does = stayAway;
    const reason = await reasonOf(world.connect());
    expect([reason.code, reason.message]).toEqual([
      "unauthorized",
      expect.stringContaining(`Sign-in at ${world.authority.issuer} timed out`),
    ]);
    expect([world.person.visits.length, world.person.open]).toEqual([1, 0]);
    expect(world.authority.asked("token")).toEqual([]);
    world.person.does = comeBack;
    await world.connect();
  });

  test("an aborted connect aborts its login", async () => {
    const world = await startWorld({ way });
    const { signals } = delay(world);
    const stop = new AbortController();
    const attempt = reasonOf(world.connect({ signal: stop.signal }));
    await until(() => world.person.visits.length === 1);
    stop.abort();
    expect((await attempt).name).toBe("AbortError");
    await until(() => world.person.open === 0);
    expect(signals[0]?.aborted).toBe(true);
    expect(world.authority.asked("token")).toEqual([]);
  });

  test("an aborted call aborts its login, and opens no other", async () => {
    const { world, client } = await startSettled(way);
    endAll(world);
    const { signals } = delay(world);
    const stop = new AbortController();
    const given = reasonOf(client.callTool("whoami", {}, { signal: stop.signal }));
    await until(() => world.person.visits.length === 2);
    stop.abort();
    expect((await given).name).toBe("AbortError");
    await until(() => world.person.open === 0);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    world.person.does = comeBack;
    await world.connect();
    expect(world.person.visits).toHaveLength(3);
  });

  test("an aborted call leaves the login to another call that waits for it", async () => {
    const { world, client, challenged } = await startSettled(way);
    endAll(world);
    const { letBack, signals } = delay(world);
    const stop = new AbortController();
    const before = challenged();
    const given = reasonOf(client.callTool("whoami", {}, { signal: stop.signal }));
    const kept = client.callTool("whoami");
    await until(() => world.person.visits.length === 2 && challenged() === before + 2);
    stop.abort();
    expect((await given).name).toBe("AbortError");
    letBack();
    expect(textOf(await kept)).toBe("ada by client-1");
    expect([signals.map(({ aborted }) => aborted), world.person.open]).toEqual([[false], 0]);
  });

  test("a login is not limited by connectMs, idleMs and totalMs", async () => {
    const clock = createClock();
    const world = await startWorld({ way });
    const { letBack } = delay(world);
    const limits = { connectMs: 1_000, idleMs: 1_000, totalMs: 1_000 };
    const connecting = world.connect({ clock, ...limits }, { clock });
    await until(() => world.person.visits.length === 1);
    await clock.advance(60_000);
    letBack();
    const client = await connecting;
    expect(textOf(await client.callTool("whoami"))).toBe("ada by client-1");

    endAll(world);
    const again = delay(world);
    const calling = client.callTool("whoami");
    await until(() => world.person.visits.length === 2);
    await clock.advance(60_000);
    again.letBack();
    expect(textOf(await calling)).toBe("ada by client-1");
    expect(world.person.visits).toHaveLength(2);
  });

  test("a closed client aborts its login, and starts none to end its session", async () => {
    const { world, client } = await startSettled(way);
    endAll(world);
    const { signals } = delay(world);
    const calling = reasonOf(client.callTool("whoami"));
    await until(() => world.person.visits.length === 2);
    await client.close();
    expect((await calling).code).toBe("connection-closed");
    await until(() => world.person.open === 0);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("a client with expired tokens is closed without a login", async () => {
    const { world, client } = await startSettled(way);
    endAll(world);
    await client.close();
    expect(world.person.visits).toHaveLength(1);
  });
});

describe("a call that is aborted while the authority answers", () => {
  /** Delays the responses of the token endpoint. */
  const holdTokens = ({ authority }: World) => {
    const held = { asked: 0, isFree: false };
    authority.site.instead.set("/token", async () => {
      held.asked += 1;
      await until(() => held.isFree);
      return undefined;
    });
    return held;
  };

  test.each([
    ["renewal", true],
    ["login", false],
  ])("loses nothing of a %s: the token is stored for the next call", async (_, canRenew) => {
    const world = await startWorld({ oauth: { now: Date.now } });
    world.authority.givesRefreshTokens = canRenew;
    const client = await world.connect();
    world.clock.pass(2 * hour);
    const held = holdTokens(world);
    const stop = new AbortController();
    const given = reasonOf(client.callTool("whoami", {}, { signal: stop.signal }));
    await until(() => held.asked === 1);
    stop.abort();
    expect((await given).name).toBe("AbortError");
    held.isFree = true;
    expect(textOf(await client.callTool("whoami"))).toBe("ada by client-1");
    expect([held.asked, world.person.visits.length]).toEqual([1, canRenew ? 1 : 2]);
  });
});

describe("an aborted login", () => {
  test("is not joined by calls that arrive while it closes; they get their own", async () => {
    const { world, client, challenged } = await startSettled("stateless");
    endAll(world);
    let isClosed = false;
    const { begin } = world.person;
    world.person.begin = async () => {
      const attempt = await begin.call(world.person);
      return { ...attempt, close: () => until(() => isClosed).then(attempt.close) };
    };
    world.person.does = stayAway;
    const stop = new AbortController();
    const given = reasonOf(client.callTool("whoami", {}, { signal: stop.signal }));
    await until(() => world.person.visits.length === 2);
    stop.abort(new Error("changed my mind"));
    await given;
    world.person.does = comeBack;
    const before = challenged();
    const calling = client.callTool("whoami");
    await until(() => challenged() > before);
    isClosed = true;
    expect(textOf(await calling)).toContain("ada");
    expect(world.person.visits).toHaveLength(3);
  });

  test("that has not begun does not begin", async () => {
    const store = new RecordingStore();
    const world = await startWorld({ oauth: { store } });
    const key = JSON.stringify(["", "", "token", world.server.url]);
    let free = () => {};
    const held = store.exclusive(key, () => new Promise<void>((resolve) => (free = resolve)));
    await until(() => store.waiting === 0);
    const stop = new AbortController();
    const attempt = reasonOf(world.auth.login(world.server.url, { signal: stop.signal }));
    await until(() => store.waiting === 1);
    stop.abort();
    expect((await attempt).name).toBe("AbortError");
    free();
    await held;
    // The next call waits behind it.
    await store.exclusive(key, async () => {});
    expect([world.person.visits, world.authority.site.asked]).toEqual([[], []]);
  });
});

describe("a stream that needs a login to be opened again", () => {
  /** Breaks the open streams of a client with invalid tokens, and lets it reconnect. */
  async function loseStreams(world: World, way: string) {
    const clock = createClock();
    const streams: ServerResponse[] = [];
    const { serve } = world.server.site;
    let heartbeats = 0;
    world.server.site.serve = (asked, request, response) => {
      if (asked.method === "GET" && asked.headers.authorization !== undefined) {
        streams.push(response);
        const write = response.write.bind(response) as (...args: unknown[]) => boolean;
        response.write = ((chunk: unknown, ...rest: unknown[]) => {
          if (String(chunk).startsWith(":")) heartbeats += 1;
          return write(chunk, ...rest);
        }) as typeof response.write;
      }
      serve(asked, request, response);
    };
    const client = await world.connect({ clock }, { clock });
    await client.callTool("whoami");
    await until(() => streams.length === 1 && (way === "HTTP+SSE" || heartbeats > 2));
    await client.callTool("whoami");
    endAll(world);
    const waiting = delay(world);
    streams[0]?.destroy();
    await until(async () => {
      await clock.advance(200);
      return world.person.visits.length === 2;
    });
    return { client, clock, ...waiting };
  }

  const heartbeats = { http: { keepAliveMs: 5 } };
  test.each(["stateful", "HTTP+SSE"] as const)(
    "waits for it over %s, and does not open page after page",
    async (way) => {
      const world = await startWorld({ way, protect: way === "stateful" ? heartbeats : {} });
      const { client, clock, letBack, signals } = await loseStreams(world, way);
      for (let minutes = 0; minutes < 5; minutes += 1) await clock.advance(60_000);
      expect([world.person.visits.length, signals.some(({ aborted }) => aborted)]).toEqual([2, false]);
      letBack();
      expect(textOf(await client.callTool("whoami"))).toBe("ada by client-1");
      expect(world.person.visits).toHaveLength(2);
    },
  );
});

test("a login without a redirect or grant says what is missing", async () => {
  const world = await startWorld();
  const reason = await reasonOf(world.connect({}, { auth: oauth() }));
  expect([reason.code, reason.message]).toEqual(["login-required", expect.stringContaining("give oauth() a redirect")]);
});
