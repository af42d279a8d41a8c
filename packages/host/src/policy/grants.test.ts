import type { KeyValue } from "portolan/storage";
import { createMemoryStorage } from "portolan/storage";
import { describe, expect, test } from "vitest";
import { argumentsDigest, createGrants, type GrantQuery, type NewGrant } from "./grants.ts";

const query: GrantQuery = { kind: "tool", server: "git", serverDigest: "sd1", subject: "push", digest: "dd1" };
const always: NewGrant = { ...query, allow: true, scope: "always" };
const day = 24 * 60 * 60 * 1_000;

function setUp() {
  let now = 1_000_000;
  const clock = () => now;
  const { kv } = createMemoryStorage({ now: clock });
  const open = (over: KeyValue = kv, maxGrants?: number) =>
    createGrants(over, { now: clock, ...(maxGrants !== undefined && { maxGrants }) });
  const pass = (ms: number) => {
    now += ms;
  };
  return { kv, open, pass };
}

describe("a grant", () => {
  test("is found for exactly its subject", async () => {
    const { open } = setUp();
    const grants = await open();
    const grant = await grants.add(always);
    expect(grants.find(query)).toEqual(grant);
    expect(grant).toMatchObject({ contentFrom: [], createdAt: 1_000_000, expiresAt: 1_000_000 + 90 * day });
  });

  test.each<[string, Partial<GrantQuery>]>([
    ["another definition under the same name", { digest: "dd2" }],
    ["another way to a server of the same name", { serverDigest: "sd2" }],
    ["another server", { server: "gitx" }],
    ["another tool", { subject: "pull" }],
    ["another kind", { kind: "resource" }],
    ["a name cut elsewhere", { server: "gitp", subject: "ush" }],
    ["no digests", { serverDigest: "", digest: "" }],
  ])("is not found for %s", async (_, other) => {
    const { open } = setUp();
    const grants = await open();
    await grants.add(always);
    expect(grants.find({ ...query, ...other })).toBeUndefined();
  });

  test.each<[string, object]>([
    ["a definition", { digest: "" }],
    ["a server's digest", { serverDigest: "" }],
    ["a digest that is one", { digest: "a b" }],
    ["a kind", { kind: "everything" }],
    ["a scope", { scope: "forever" }],
    ["an end", { ttlMs: Number.POSITIVE_INFINITY }],
  ])("without %s is refused", async (_, wrong) => {
    const { open } = setUp();
    const grants = await open();
    await expect(grants.add({ ...always, ...wrong } as NewGrant)).rejects.toMatchObject({ code: "invalid-argument" });
    expect(grants.list()).toEqual([]);
  });

  test("for the session ends with it, one for always does not", async () => {
    const { open } = setUp();
    const grants = await open();
    await grants.add({ ...always, scope: "session", subject: "pull" });
    const grant = await grants.add(always);
    expect(grants.list()).toHaveLength(2);
    const later = await open();
    expect(later.list()).toEqual([grant]);
    expect(later.find(query)).toEqual(grant);
  });

  test("expires in memory and in the storage", async () => {
    const { open, pass, kv } = setUp();
    const grants = await open();
    await grants.add(always);
    await grants.add({ ...always, subject: "pull", ttlMs: day });
    await grants.add({ ...always, subject: "log", scope: "session", ttlMs: day });
    pass(day);
    expect(grants.find({ ...query, subject: "pull" })).toBeUndefined();
    expect(grants.find({ ...query, subject: "log" })).toBeUndefined();
    expect(grants.find(query)).toBeDefined();
    pass(89 * day);
    expect(grants.find(query)).toBeUndefined();
    expect(grants.list()).toEqual([]);
    expect(await kv.list("")).toEqual([]);
  });

  test("with arguments covers only these", async () => {
    const { open } = setUp();
    const grants = await open();
    expect(grants.needsArguments(query)).toBe(false);
    const args = await argumentsDigest({ branch: "main", force: false });
    await grants.add({ ...always, args });
    expect(grants.needsArguments(query)).toBe(true);
    expect(grants.find(query)).toBeUndefined();
    expect(grants.find({ ...query, args: await argumentsDigest({ force: true, branch: "main" }) })).toBeUndefined();
    expect(grants.find({ ...query, args: await argumentsDigest({ force: false, branch: "main" }) })).toBeDefined();
  });

  test("does not cover content that entered the conversation later", async () => {
    const { open } = setUp();
    const grants = await open();
    await grants.add({ ...always, contentFrom: ["web"] });
    expect(grants.find({ ...query, contentFrom: ["web"] })).toBeDefined();
    expect(grants.find({ ...query, contentFrom: ["web", "mail"] })).toBeUndefined();
    expect(grants.find(query)).toBeDefined();
  });

  test("that is renewed keeps the content that was accepted before", async () => {
    const { open } = setUp();
    const grants = await open();
    await grants.add({ ...always, contentFrom: ["web"] });
    await grants.add({ ...always, contentFrom: ["mail"] });
    expect(grants.list()).toHaveLength(1);
    expect(grants.find({ ...query, contentFrom: ["web"] })).toBeDefined();
    expect((await open()).list()).toMatchObject([{ contentFrom: ["mail", "web"] }]);
  });
});

describe("a refusal", () => {
  test("counts whatever content is in the conversation", async () => {
    const { open } = setUp();
    const grants = await open();
    await grants.add({ ...always, allow: false });
    expect(grants.find({ ...query, contentFrom: ["web"] })).toMatchObject({ allow: false });
  });

  test("replaces a grant, and the latest answer counts across scopes", async () => {
    const { open, pass } = setUp();
    const grants = await open();
    await grants.add({ ...always, contentFrom: ["web"] });
    pass(1);
    await grants.add({ ...always, allow: false });
    expect(grants.list()).toMatchObject([{ allow: false, contentFrom: [] }]);
    pass(1);
    await grants.add({ ...always, scope: "session" });
    expect(grants.find(query)).toMatchObject({ allow: true });
    pass(1);
    await grants.add({ ...always, allow: false });
    expect(grants.find(query)).toMatchObject({ allow: false });
    expect((await open()).find(query)).toMatchObject({ allow: false });
  });
});

describe("revoke", () => {
  test("counts at once and permanently", async () => {
    const { open } = setUp();
    const grants = await open();
    const { id } = await grants.add(always);
    const revoking = grants.revoke(id);
    expect(grants.find(query)).toBeUndefined();
    expect(await revoking).toBe(true);
    expect(await grants.revoke(id)).toBe(false);
    expect((await open()).list()).toEqual([]);
  });

  test("in another process is seen after reload, and so is a new grant", async () => {
    const { open } = setUp();
    const [one, two] = [await open(), await open()];
    const { id } = await one.add(always);
    expect(two.find(query)).toBeUndefined();
    await two.reload();
    expect(two.find(query)).toBeDefined();
    await two.revoke(id);
    await one.reload();
    expect(one.find(query)).toBeUndefined();
  });

  test("that could not be stored still counts, and a reload does not undo it", async () => {
    const { open, kv } = setUp();
    const broken: KeyValue = {
      get: (key) => kv.get(key),
      set: (key, value, options) => kv.set(key, value, options),
      list: (prefix, options) => kv.list(prefix, options),
      delete: () => Promise.reject(new Error("away")),
    };
    const grants = await open(broken);
    const { id } = await grants.add(always);
    await expect(grants.revoke(id)).rejects.toThrow("away");
    await grants.reload();
    expect(grants.find(query)).toBeUndefined();
  });

  test("is not undone by a reload that began before", async () => {
    const { open, kv } = setUp();
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    let isSlow = false;
    const slow: KeyValue = {
      get: (key) => kv.get(key),
      set: (key, value, options) => kv.set(key, value, options),
      delete: (key) => kv.delete(key),
      list: async (prefix, options) => {
        const page = await kv.list(prefix, options);
        if (isSlow) await gate;
        return page;
      },
    };
    const grants = await open(slow);
    const { id } = await grants.add(always);
    isSlow = true;
    const reloading = grants.reload();
    await grants.revoke(id);
    const added = grants.add({ ...always, subject: "pull" });
    await added;
    go();
    await reloading;
    expect(grants.list().map(({ subject }) => subject)).toEqual(["pull"]);
  });
});

describe("a storage", () => {
  test("that cannot be written stores no grant", async () => {
    const { open, kv } = setUp();
    const broken: KeyValue = {
      get: (key) => kv.get(key),
      list: (prefix, options) => kv.list(prefix, options),
      delete: (key) => kv.delete(key),
      set: () => Promise.reject(new Error("away")),
    };
    const grants = await open(broken);
    await expect(grants.add(always)).rejects.toThrow("away");
    expect(grants.find(query)).toBeUndefined();
  });

  test("with invalid rows grants nothing by them", async () => {
    const { open, kv } = setUp();
    const grants = await open();
    const grant = await grants.add(always);
    const key = `host/grant/${grant.id}`;
    const rows: unknown[] = [
      "nonsense",
      null,
      { ...grant, digest: "" },
      { ...grant, serverDigest: undefined },
      { ...grant, expiresAt: undefined },
      { ...grant, expiresAt: "never" },
      { ...grant, contentFrom: "all" },
      { ...grant, allow: "yes" },
      { ...grant, scope: "session" },
      { ...grant, id: "another" },
    ];
    for (const row of rows) {
      await kv.set(key, JSON.stringify(row));
      expect((await open()).list(), JSON.stringify(row)).toEqual([]);
    }
    await kv.set(key, "{");
    expect((await open()).list()).toEqual([]);
    await kv.set(key, JSON.stringify(grant));
    expect((await open()).list()).toEqual([grant]);
  });

  test("with more grants than one page is read completely", async () => {
    const { open } = setUp();
    const grants = await open();
    for (let number = 0; number < 1_100; number++) await grants.add({ ...always, subject: `tool ${number}` });
    expect((await open()).list()).toHaveLength(1_100);
  });

  test("refuses grants beyond the limit, not counting expired ones", async () => {
    const { open, kv, pass } = setUp();
    const grants = await open(kv, 2);
    await grants.add({ ...always, subject: "a", ttlMs: day });
    await grants.add({ ...always, subject: "b", scope: "session" });
    await expect(grants.add({ ...always, subject: "c" })).rejects.toMatchObject({ code: "limit-reached" });
    await grants.add({ ...always, subject: "a", ttlMs: day });
    pass(day);
    await grants.add({ ...always, subject: "c" });
    expect(grants.list().map(({ subject }) => subject)).toEqual(["c", "b"]);
  });
});

describe("the uses of a grant", () => {
  test("are counted, and listeners hear of each change", async () => {
    const { open, pass } = setUp();
    const grants = await open();
    const changes: string[] = [];
    const stop = grants.listen(({ uses }, how) => changes.push(`${how} ${uses}`));
    const { id, uses, lastUsedAt } = await grants.add({ ...always, scope: "session" });
    expect([uses, lastUsedAt]).toEqual([0, undefined]);
    grants.use(id);
    pass(5);
    grants.use(id);
    grants.use("unknown");
    expect(grants.list()).toMatchObject([{ id, uses: 2, lastUsedAt: 1_000_005 }]);
    await grants.revoke(id);
    expect(changes).toEqual(["added 0", "used 1", "used 2", "revoked 2"]);
    stop();
    await grants.add(always);
    expect(changes).toHaveLength(4);
  });

  test("are stored together with those of other processes, at most once a minute until the end", async () => {
    const { kv, open, pass } = setUp();
    let writes = 0;
    const counted: KeyValue = {
      get: (key) => kv.get(key),
      set: (key, value, given) => {
        writes += 1;
        return kv.set(key, value, given);
      },
      delete: (key) => kv.delete(key),
      list: (given, more) => kv.list(given, more),
    };
    const first = await open(counted);
    const { id } = await first.add(always);
    const second = await open();
    for (let times = 0; times < 10; times += 1) first.use(id);
    await first.flush();
    second.use(id);
    await second.flush();
    pass(30_000);
    for (let times = 0; times < 5; times += 1) first.use(id);
    const before = writes;
    expect(before).toBeLessThanOrEqual(3);
    await first.flush();
    expect(writes).toBe(before + 1);
    expect((await open()).list()).toMatchObject([{ id, uses: 16, lastUsedAt: 1_030_000 }]);
    // The grant ends when it would have ended.
    pass(90 * day - 30_000);
    expect((await open()).list()).toEqual([]);
  });

  test("never bring back a grant that another process has revoked", async () => {
    const { open } = setUp();
    const [first, second] = [await open(), await open()];
    const { id } = await first.add(always);
    await second.reload();
    await first.revoke(id);
    second.use(id);
    await second.flush();
    expect(second.find(query)).toBeUndefined();
    expect((await open()).list()).toEqual([]);
  });

  test("are zero in a grant of an earlier version", async () => {
    const { kv, open } = setUp();
    const { id } = await (await open()).add(always);
    const text = (await kv.get(`host/grant/${id}`)) ?? "";
    await kv.set(`host/grant/${id}`, text.replace(',"uses":0', ""));
    expect((await open()).list()).toMatchObject([{ id, uses: 0 }]);
    await kv.set(`host/grant/${id}`, text.replace('"uses":0', '"uses":"many"'));
    expect((await open()).list()).toEqual([]);
  });
});

describe("a revoked grant", () => {
  test.each(["always", "session"] as const)("for %s can be restored, once, after it is recorded", async (scope) => {
    const { open } = setUp();
    const grants = await open();
    const { id } = await grants.add({ ...always, scope });
    grants.use(id);
    await grants.revoke(id);
    const recorded: boolean[] = [];
    const record = async () => void recorded.push(grants.find(query) === undefined);
    const restored = await Promise.all([grants.restore(id, record), grants.restore(id, record)]);
    expect(restored).toEqual([true, false]);
    expect(recorded).toEqual([true]);
    expect(grants.list()).toMatchObject([{ id, uses: 1 }]);
    expect((await open()).list()).toHaveLength(scope === "always" ? 1 : 0);
    await grants.reload();
    expect(grants.find(query)?.id).toBe(id);
    expect(await grants.restore("unknown")).toBe(false);
  });

  test("is not restored if it could not be recorded, if it has expired, or after a newer answer", async () => {
    const { open, pass } = setUp();
    const grants = await open();
    const { id } = await grants.add(always);
    await grants.revoke(id);
    const fail = () => Promise.reject(new Error("no space left on device"));
    await expect(grants.restore(id, fail)).rejects.toThrow("no space left");
    expect(grants.find(query)).toBeUndefined();
    const newer = await grants.add({ ...always, allow: false });
    expect(await grants.restore(id)).toBe(false);
    await grants.revoke(newer.id);
    pass(91 * day);
    expect(await grants.restore(id)).toBe(false);
  });

  test("is remembered for a while: the oldest cannot be restored any more", async () => {
    const { open } = setUp();
    const grants = await open();
    const ids: string[] = [];
    for (let at = 0; at < 101; at += 1) {
      const { id } = await grants.add({ ...always, subject: `t${at}`, scope: "session" });
      ids.push(id);
      await grants.revoke(id);
    }
    expect(await grants.restore(ids[0] ?? "")).toBe(false);
    expect(await grants.restore(ids[1] ?? "")).toBe(true);
  });
});
