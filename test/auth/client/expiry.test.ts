import type { Client } from "portolan/client";
import { describe, expect, test } from "vitest";
import { TestAuthority } from "./kit/authority.ts";
import { RecordingStore } from "./kit/recording-store.ts";
import { hour, reasonOf } from "./kit/site.ts";
import { startWorld, textOf, type Way, type World, ways } from "./kit/world.ts";

const callAll = (client: Client, count: number) =>
  Promise.all(Array.from({ length: count }, async () => textOf(await client.callTool("whoami"))));

/** A client without a clock: only a 401 tells it that its token has expired. */
const startUnaware = (way: Way) => startWorld({ way, oauth: { now: Date.now } });

/** The number of requests with a token. */
const presented = ({ server }: World) =>
  server.site.asked.filter(({ headers }) => headers.authorization !== undefined).length;

describe.each(ways)("over %s", (way) => {
  test.each([
    ["knows", startWorld],
    ["hears", ({ way }: { way: Way }) => startUnaware(way)],
  ])("five parallel calls of a client that %s that its token has expired need one renewal", async (_, start) => {
    const world = await start({ way });
    const client = await world.connect();
    world.clock.pass(2 * hour);
    const before = presented(world);
    expect(new Set(await callAll(client, 5))).toEqual(new Set(["ada by client-1"]));
    expect(world.authority.grants("refresh_token")).toHaveLength(1);
    expect(presented(world) - before).toBeLessThanOrEqual(10);
    expect(world.person.visits).toHaveLength(1);
  });

  test("T47: a hundred parallel 401s cause one renewal", async () => {
    const world = await startUnaware(way);
    const client = await world.connect();
    world.clock.pass(2 * hour);
    const before = presented(world);
    expect(await callAll(client, 100)).toHaveLength(100);
    expect(world.authority.grants("refresh_token")).toHaveLength(1);
    expect(presented(world) - before).toBeLessThanOrEqual(200);
  });

  test("T47: a hundred parallel 401s without a refresh token cause one login", async () => {
    const world = await startUnaware(way);
    world.authority.givesRefreshTokens = false;
    const client = await world.connect();
    world.clock.pass(2 * hour);
    expect(await callAll(client, 100)).toHaveLength(100);
    expect(world.person.visits).toHaveLength(2);
  });

  test("a refresh token that is refused causes one login after one renewal", async () => {
    const world = await startUnaware(way);
    const client = await world.connect();
    world.clock.pass(2 * hour);
    world.authority.forget();
    expect(new Set(await callAll(client, 5))).toEqual(new Set(["ada by client-1"]));
    expect([world.authority.grants("refresh_token").length, world.person.visits.length]).toEqual([1, 2]);
  });

  test("T44: another authorization server that the server names gets a login, and nothing of the first one", async () => {
    const world = await startUnaware(way);
    const client = await world.connect();
    const other = await TestAuthority.start({ now: world.clock.now });
    other.clients.set("somebody else", { redirectUris: [] });
    world.server.protect({ issuers: [other.issuer] });
    // A session belongs to its first caller; over HTTP+SSE it cannot start again without another stream.
    const fresh = way === "HTTP+SSE" ? await world.connect() : client;
    expect(textOf(await fresh.callTool("whoami"))).toBe("ada by client-2");
    expect([other.asked("register").length, world.person.visits.length]).toEqual([1, 2]);
    expect([...other.grants("refresh_token"), ...world.authority.grants("refresh_token")]).toEqual([]);
    const [first] = world.authority.accessTokens;
    expect(JSON.stringify(other.site.asked)).not.toContain(first);
    expect(JSON.stringify(other.site.asked)).not.toContain("client-1");
  });

  test.each([
    ["behind", -hour],
    ["ahead", hour],
  ])("a clock that is an hour %s causes neither a failed call nor a login", async (_, off) => {
    const world = await startWorld({ way, oauth: { now: () => Date.now() + off } });
    const client = await world.connect();
    await client.callTool("whoami");
    expect(world.authority.asked("token")).toHaveLength(1);
    world.clock.pass(2 * hour);
    await client.callTool("whoami");
    expect([world.authority.grants("refresh_token").length, world.person.visits.length]).toEqual([1, 1]);
  });

  test("T47: a server that refuses every token causes neither endless requests nor endless logins", async () => {
    const world = await startWorld({ way });
    const client = await world.connect();
    await client.callTool("whoami");
    world.server.site.instead.set("*", ({ method, path }) =>
      path.startsWith("/.well-known") || method !== "POST" ? undefined : { status: 401 },
    );
    const before = presented(world);
    const reason = await reasonOf(client.callTool("whoami"));
    expect([reason.code, reason.message]).toEqual([
      "unauthorized",
      expect.stringContaining("refuses the token that its authorization server has just issued"),
    ]);
    expect(presented(world) - before).toBe(3);
    expect([world.authority.asked("token").length, world.person.visits.length]).toEqual([3, 2]);
  });
});

describe("a clock that jumps", () => {
  test.each([
    ["back", -hour],
    ["forth", hour],
  ])("%s by an hour causes at most one renewal", async (_, jump) => {
    const own = { ahead: 0 };
    const world = await startWorld({ oauth: { now: () => Date.now() + own.ahead } });
    const client = await world.connect();
    own.ahead = jump;
    await callAll(client, 3);
    world.clock.pass(2 * hour);
    await callAll(client, 3);
    expect(world.authority.grants("refresh_token").length).toBeLessThanOrEqual(2);
    expect(world.person.visits).toHaveLength(1);
  });
});

describe("an authorization server that fails during a renewal", () => {
  const faults: [string, (authority: TestAuthority) => unknown][] = [
    ["is down", (authority) => authority.site.stop()],
    ["hangs up", (authority) => authority.answer("token", "hang up")],
    ["answers 500", (authority) => authority.answer("token", { status: 500 })],
    [
      "answers 503",
      (authority) => authority.answer("token", { status: 503, body: { error: "temporarily_unavailable" } }),
    ],
    ["answers 429", (authority) => authority.answer("token", { status: 429 })],
    [
      "sends a page",
      (authority) => authority.answer("token", { status: 200, headers: { "content-type": "text/html" } }),
    ],
    ["has no metadata for now", (authority) => authority.site.instead.set("*", () => ({ status: 502 }))],
  ];
  const all = ways.flatMap((way) => faults.map(([name, fail]) => ({ way, name, fail })));
  test.each(all)("$way: when it $name, the call fails without a login, and works later", async (one) => {
    const store = new RecordingStore();
    const world = await startWorld({ way: one.way, oauth: { store, now: Date.now } });
    const client = await world.connect();
    await client.callTool("whoami");
    const kept = store.kept("token");
    const ended = `Bearer ${kept[0]?.["accessToken"]}`;
    world.server.site.instead.set("*", ({ headers }) =>
      headers.authorization === ended
        ? { status: 401, headers: { "www-authenticate": 'Bearer error="invalid_token"' } }
        : undefined,
    );
    await one.fail(world.authority);
    const before = world.authority.site.asked.length;
    const reason = await reasonOf(client.callTool("whoami"));
    expect(reason.message).toContain(world.authority.site.origin);
    expect((reason as { requestMayHaveRun?: boolean }).requestMayHaveRun).toBe(false);
    expect(world.authority.site.asked.length - before).toBeLessThanOrEqual(4);
    expect(world.person.visits).toHaveLength(1);
    expect(store.kept("token")).toEqual(kept);
    world.authority.site.instead.clear();
    await world.authority.site.open();
    expect(textOf(await client.callTool("whoami"))).toBe("ada by client-1");
    expect(world.person.visits).toHaveLength(1);
  });

  test("is not noticed while the token is still valid", async () => {
    const own = { ahead: 0 };
    const world = await startWorld({ oauth: { now: () => Date.now() + own.ahead } });
    const client = await world.connect();
    await world.authority.site.stop();
    own.ahead = hour;
    expect(textOf(await client.callTool("whoami"))).toBe("ada by client-1");
    expect(world.person.visits).toHaveLength(1);
  });
});
