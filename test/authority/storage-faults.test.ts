import { createMemoryStorage, randomSecret, type Storage } from "portolan/storage";
import { developmentUser } from "portolan-authority";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Answered, App, calledBack, introspect, post, start } from "./kit.ts";

const seconds = (count: number) => vi.advanceTimersByTime(count * 1_000);
const letTimePass = () => vi.useFakeTimers({ toFake: ["Date", "performance"] });
afterEach(() => vi.useRealTimers());

/** How a storage fails: before each operation, after it (only its answer is lost), or for each one that writes. */
type Fault = "die" | "after" | "write";

/** A storage that fails from its n-th operation on, or stops at the first write whose key has a part. */
function createFaultyStorage() {
  const inner = createMemoryStorage();
  let fault: Fault | undefined;
  let failsAt = 0;
  let count = 0;
  let stopAt: string | undefined;
  let resume = (): void => {};
  let stopped = (): void => {};
  const run = async <T>(isRead: boolean, key: string, work: () => Promise<T>): Promise<T> => {
    if (!isRead && stopAt !== undefined && key.includes(stopAt)) {
      stopAt = undefined;
      stopped();
      await new Promise<void>((resolve) => {
        resume = resolve;
      });
    }
    count += 1;
    if (fault === undefined || count < failsAt || (fault === "write" && isRead)) return work();
    if (fault === "after") await work();
    throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  };
  const { kv, log, bus } = inner;
  const storage: Storage = {
    log,
    bus,
    kv: {
      get: (key) => run(true, key, () => kv.get(key)),
      list: (prefix, options) => run(true, prefix, () => kv.list(prefix, options)),
      set: (key, ...rest) => run(false, key, () => kv.set(key, ...rest)),
      delete: (key) => run(false, key, () => kv.delete(key)),
    },
  };
  return {
    storage,
    /** Runs `work` with a fault. Returns its result, and whether the fault was reached. */
    async during<T>(how: Fault, at: number, work: () => Promise<T>): Promise<[T, boolean]> {
      [fault, failsAt, count] = [how, at, 0];
      const result = await work();
      fault = undefined;
      return [result, count >= at];
    },
    /** Stops the next write whose key has a part. Resolves when it has come; `resume` lets it go on. */
    stop(part: string): Promise<void> {
      stopAt = part;
      return new Promise((resolve) => {
        stopped = resolve;
      });
    },
    resume: () => resume(),
  };
}

async function setUp() {
  const faulty = createFaultyStorage();
  const signIn = developmentUser("alice");
  const started = await start({ storage: faulty.storage, secrets: [randomSecret()], signIn, accessTokens: "opaque" });
  const app = await App.register(started.issuer);
  const login = async () => calledBack(await app.browser.open(app.authorizeUrl())).get("code") ?? "";
  const isActive = async ({ body }: Answered) => (await introspect(started, body["access_token"]))["active"];
  const replays = () => started.events.filter(({ type }) => type === "replayed");
  return { ...started, ...faulty, app, login, isActive, replays };
}

describe.each(["die", "after", "write"] as const)("a storage with the fault %s", (how) => {
  test.each([
    ["a refresh", 6],
    ["a refresh", 61],
    ["the use of a code", 6],
  ] as const)("at any operation of %s costs no login, if the client retries after %i s", async (what, waitSeconds) => {
    letTimePass();
    const { app, login, isActive, during, replays } = await setUp();
    let points = 0;
    for (let isReached = true; isReached && points < 100; points += 1) {
      const code = await login();
      const { verifier } = app;
      const token = what === "a refresh" ? (await app.redeem(code)).body["refresh_token"] : undefined;
      const use = () => (token ? app.refresh(token) : app.redeem(code, { code_verifier: verifier }));
      let answer: Answered;
      [answer, isReached] = await during(how, points + 1, use);
      if (answer.status !== 200) {
        expect([answer.status, Object.keys(answer.body)]).toEqual([503, ["error", "error_description"]]);
        expect(answer.headers.get("retry-after")).toBe(token ? "60" : "5");
        seconds(waitSeconds);
        answer = await use();
      }
      expect([points, answer.status, answer.body["error"]]).toEqual([points, 200, undefined]);
      expect(await isActive(answer)).toBe(true);
      const next = await app.refresh(answer.body["refresh_token"]);
      expect([points, next.status]).toEqual([points, 200]);
      expect(replays()).toHaveLength(points);
      // A thief who uses it now is still noticed.
      seconds(11);
      expect([points, (await use()).status]).toEqual([points, 400]);
      expect([points, (await app.refresh(next.body["refresh_token"])).status]).toEqual([points, 400]);
      expect([await isActive(answer), await isActive(next)]).toEqual([false, false]);
      expect(replays()).toHaveLength(points + 1);
    }
    expect(points).toBeGreaterThan(12);
  });

  test("at any operation of a revocation leaves nothing that is valid, if the client retries", async () => {
    const { app, issuer, login, isActive, during } = await setUp();
    let points = 0;
    for (let isReached = true; isReached && points < 100; points += 1) {
      const given = await app.redeem(await login());
      const parameters = { client_id: app.clientId, token: given.body["access_token"] };
      const revoke = () => post(`${issuer}/revoke`, new URLSearchParams(parameters));
      let answer: Answered;
      [answer, isReached] = await during(how, points + 1, revoke);
      if (answer.status !== 200) answer = await revoke();
      expect([points, answer.status, await isActive(given)]).toEqual([points, 200, false]);
      expect([points, (await app.refresh(given.body["refresh_token"])).status]).toEqual([points, 400]);
    }
    expect(points).toBeGreaterThan(8);
  });
});

describe("a refresh token that another request uses", () => {
  test("gets 503 and when to retry while that request has no response, then the same response", async () => {
    const { app, login, stop, resume, replays } = await setUp();
    const token = (await app.redeem(await login())).body["refresh_token"];
    const isStopped = stop("/of-grant-RefreshToken/");
    const first = app.refresh(token);
    await isStopped;
    const second = await app.refresh(token);
    expect([second.status, second.headers.get("retry-after"), second.body["error"]]).toEqual([
      ...[503, "5", "temporarily_unavailable"],
    ]);
    resume();
    const { status, body } = await first;
    expect(status).toBe(200);
    expect(await app.refresh(token)).toMatchObject({ status: 200, body });
    expect(replays()).toEqual([]);
  });

  test("can be used again after five seconds, and both get one response", async () => {
    letTimePass();
    const { app, login, stop, resume, replays, storage } = await setUp();
    const token = (await app.redeem(await login())).body["refresh_token"];
    const isStopped = stop("/of-grant-RefreshToken/");
    const first = app.refresh(token);
    await isStopped;
    seconds(6);
    const second = await app.refresh(token);
    expect(second.status).toBe(200);
    resume();
    expect(await first).toMatchObject({ status: 200, body: second.body });
    expect((await app.refresh(second.body["refresh_token"])).status).toBe(200);
    expect(replays()).toEqual([]);
    // The tokens that nobody got are deleted: three are left of the rotation.
    const rows = await storage.kv.list("", { limit: 1_000 });
    expect(rows.filter(({ key }) => key.includes("/RefreshToken/"))).toHaveLength(3);
  });

  test("is not used up by a request that is refused", async () => {
    const { app, issuer, login, replays } = await setUp();
    const token = (await app.redeem(await login())).body["refresh_token"];
    const refresh = { grant_type: "refresh_token", client_id: app.clientId, refresh_token: token };
    const resource = "https://elsewhere.example/mcp";
    const refused = await post(`${issuer}/token`, new URLSearchParams({ ...refresh, resource }));
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_target"]);
    expect((await app.refresh(token)).status).toBe(200);
    expect(replays()).toEqual([]);
  });
});
