import { memoryStore, type OAuthOptions, oauth } from "portolan/auth/client";
import { connect } from "portolan/client";
import { describe, expect, test } from "vitest";
import { TestAuthority } from "./kit/authority.ts";
import { Person } from "./kit/person.ts";
import { RecordingStore } from "./kit/recording-store.ts";
import { hour, reasonOf } from "./kit/site.ts";
import { connectTo, startProtected, startWorld, textOf } from "./kit/world.ts";

describe("a store that several people share", () => {
  test("keeps their tokens apart, as does the authorization", async () => {
    const { authority, server } = await startWorld();
    const store = new RecordingStore();
    const people = ["ada", "bob"].map((account) => ({ account, person: new Person() }));
    for (const { account, person } of people) {
      const client = await connectTo(server.url, "stateless", { auth: oauth({ store, account, redirect: person }) });
      await client.callTool("whoami");
      expect(person.visits).toHaveLength(1);
    }
    const kept = store.kept("token").map(({ accessToken }) => accessToken);
    expect(kept).toEqual(authority.accessTokens);
    const shown = server.site.asked.flatMap(({ headers }) => headers.authorization ?? []);
    expect(new Set(shown)).toEqual(new Set(kept.map((token) => `Bearer ${token}`)));
    await oauth({ store, account: "ada" }).logout(server.url);
    expect(store.kept("token").map(({ accessToken }) => accessToken)).toEqual(kept.slice(1));
  });
});

describe("a server with several authorization servers", () => {
  const startTwo = async (options: OAuthOptions = {}) => {
    const world = await startWorld();
    const second = await TestAuthority.start({ now: world.clock.now });
    world.server.protect({ issuers: [world.authority.issuer, second.issuer] });
    const auth = oauth({ redirect: world.person, now: world.clock.now, ...options });
    const client = () => world.connect({}, { auth });
    return { ...world, second, client };
  };

  test("uses the first one", async () => {
    const { authority, second, client } = await startTwo();
    await client();
    expect([authority.asked("token").length, second.asked("token").length]).toEqual([1, 0]);
  });

  test("uses the one that the program chooses", async () => {
    const seen: string[][] = [];
    const chooseIssuer = (issuers: readonly string[]) => {
      seen.push([...issuers]);
      return issuers[1]!;
    };
    const { authority, second, client } = await startTwo({ chooseIssuer });
    expect(textOf(await (await client()).callTool("whoami"))).toBe("ada by client-1");
    expect([authority.asked("token").length, second.asked("token").length]).toEqual([0, 1]);
    expect(seen).toEqual([[authority.issuer, second.issuer]]);
  });

  test("T44: uses the one that was used before, even if another one comes first now", async () => {
    const { authority, second, server, clock, client } = await startTwo();
    const connected = await client();
    server.protect({ issuers: [second.issuer, authority.issuer] });
    authority.forget();
    clock.pass(2 * hour);
    await connected.callTool("whoami");
    expect([authority.asked("authorize").length, second.asked("authorize").length]).toEqual([2, 0]);
  });

  test("T44: uses the one that the client is registered with", async () => {
    const world = await startWorld();
    const second = await TestAuthority.start({ now: world.clock.now });
    second.clients.set("known", { redirectUris: [] });
    world.server.protect({ issuers: [world.authority.issuer, second.issuer] });
    const auth = oauth({ redirect: world.person, client: { clientId: "known", issuer: second.issuer } });
    const client = await world.connect({}, { auth });
    expect(textOf(await client.callTool("whoami"))).toBe("ada by known");
    expect(world.authority.asked("authorize")).toEqual([]);
  });
});

describe("one authorization for several servers", () => {
  test("T44: keeps their tokens apart, and registers once at their authority", async () => {
    const { authority, server, connect: connectFirst } = await startWorld();
    const auth = oauth({ redirect: new Person() });
    const other = await startProtected(authority);
    await connectFirst({}, { auth });
    const client = await connectTo(other.url, "stateless", { auth });
    await client.callTool("whoami");
    const shown = (site: typeof other.site) =>
      new Set(site.asked.flatMap(({ headers }) => headers.authorization ?? []).map((value) => value.split(" ")[1]));
    expect([...shown(server.site)]).toEqual([authority.accessTokens[0]]);
    expect([...shown(other.site)]).toEqual([authority.accessTokens[1]]);
    expect(authority.asked("register")).toHaveLength(1);
  });

  test("treats a URL with and without a fragment as the same", async () => {
    const { auth, server, person } = await startWorld();
    await auth.login(`${server.url}#here`);
    const client = await connect(server.url, { auth });
    await client.callTool("whoami");
    await client.close();
    expect(person.visits).toHaveLength(1);
  });

  test("rejects a text that is not a URL", async () => {
    const auth = oauth({ store: memoryStore() });
    for (const attempt of [auth.login("nowhere"), auth.logout("nowhere"), auth.finish("nowhere")]) {
      const reason = await reasonOf(attempt);
      expect([reason.code, reason.message]).toEqual(["invalid-argument", 'oauth: expected a URL, got "nowhere"']);
    }
  });
});
