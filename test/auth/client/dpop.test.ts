import { decodeJwt, decodeProtectedHeader } from "jose";
import { describe, expect, test } from "vitest";
import { RecordingStore } from "./kit/recording-store.ts";
import { hour, reasonOf } from "./kit/site.ts";
import { startWorld, textOf, ways } from "./kit/world.ts";

const proofOf = ({ headers }: { readonly headers: { readonly [name: string]: unknown } }) =>
  decodeJwt(String(headers["dpop"]));

describe("a token that is bound to a key", () => {
  test.each(ways)("is requested where a server of %s requires it, and sent with a new proof each time", async (way) => {
    const { authority, server, connect } = await startWorld({ way, protect: { requireDpop: true } });
    const client = await connect();
    expect(textOf(await client.callTool("whoami"))).toBe("ada by client-1");
    await client.callTool("whoami");
    const shown = server.site.asked.filter(({ headers }) => headers["dpop"] !== undefined);
    expect(shown.every(({ headers }) => headers.authorization?.startsWith("DPoP "))).toBe(true);
    expect(new Set(shown.map((one) => proofOf(one)["jti"])).size).toBe(shown.length);
    expect(shown.map(({ path, method }) => `${method} ${server.origin}${path}`)).toEqual(
      shown.map((one) => `${proofOf(one)["htm"]} ${proofOf(one)["htu"]}`),
    );
    const [{ headers } = { headers: {} }] = authority.asked("token");
    expect(decodeProtectedHeader(String((headers as { dpop?: string }).dpop))).toMatchObject({ typ: "dpop+jwt" });
    expect(authority.asked("token")).toHaveLength(1);
  });

  test("is requested where the program wants it, and not otherwise", async () => {
    const wanted = await startWorld({ oauth: { dpop: true } });
    await wanted.connect();
    expect(wanted.server.site.asked.at(-1)?.headers.authorization).toMatch(/^DPoP /);
    const unwanted = await startWorld({ oauth: { dpop: false } });
    await unwanted.connect();
    expect(unwanted.server.site.asked.at(-1)?.headers.authorization).toMatch(/^Bearer /);
  });

  test("is renewed with the same key", async () => {
    const store = new RecordingStore();
    const { authority, clock, connect } = await startWorld({ protect: { requireDpop: true }, oauth: { store } });
    const client = await connect();
    const [before] = store.kept("token");
    clock.pass(2 * hour);
    await client.callTool("whoami");
    const [after] = store.kept("token");
    expect(after?.["accessToken"]).not.toBe(before?.["accessToken"]);
    expect(after?.["key"]).toEqual(before?.["key"]);
    expect(authority.grants("refresh_token")).toHaveLength(1);
  });

  test.each([-hour, hour])(
    "with a clock that is off by %i ms is refused after one login, with the reason",
    async (off) => {
      const world = await startWorld({ protect: { requireDpop: true }, oauth: { now: () => Date.now() + off } });
      const reason = await reasonOf(world.connect());
      expect(reason.message).toContain(
        "refuses the token that its authorization server has just issued: DPoP: the proof is too old or from the future",
      );
      expect([world.person.visits.length, world.server.site.askedFor("/mcp").length]).toEqual([1, 2]);
    },
  );

  test("is refused when the authorization server binds a token without being asked", async () => {
    const { authority, connect } = await startWorld();
    authority.answer("token", { body: { access_token: "x", token_type: "DPoP", expires_in: 60 } });
    expect((await reasonOf(connect())).message).toContain("a token that needs a DPoP key");
  });
});

describe("a nonce", () => {
  test("of the authorization server is used in a second request", async () => {
    const { authority, connect } = await startWorld({ protect: { requireDpop: true } });
    authority.nonce = "nonce-1";
    await connect();
    expect(authority.asked("token").map((one) => proofOf(one)["nonce"])).toEqual([undefined, "nonce-1"]);
  });

  test("of the authorization server that is always refused fails after two requests", async () => {
    const { authority, person, connect } = await startWorld({ protect: { requireDpop: true } });
    let nonces = 0;
    authority.site.instead.set("/token", () => {
      nonces += 1;
      return { status: 400, headers: { "dpop-nonce": `n-${nonces}` }, body: { error: "use_dpop_nonce" } };
    });
    expect((await reasonOf(connect())).message).toContain("use_dpop_nonce");
    expect([nonces, person.visits.length]).toEqual([2, 1]);
  });

  test.each(ways)("of a server of %s is used in this proof and the following ones", async (way) => {
    const { server, person, connect } = await startWorld({ way, protect: { requireDpop: true } });
    let nonce = "nonce-1";
    let refusals = 0;
    server.site.instead.set("*", ({ headers }) => {
      if (headers["dpop"] === undefined || proofOf({ headers })["nonce"] === nonce) return undefined;
      refusals += 1;
      return { status: 401, headers: { "www-authenticate": 'DPoP error="use_dpop_nonce"', "dpop-nonce": nonce } };
    });
    const client = await connect();
    await client.callTool("whoami");
    expect(refusals).toBe(1);
    nonce = "nonce-2";
    await client.callTool("whoami");
    expect(refusals).toBe(2);
    expect(person.visits).toHaveLength(1);
  });

  test("T47: of a server that is always refused fails after a few requests", async () => {
    const { server, person, connect } = await startWorld({ protect: { requireDpop: true } });
    const client = await connect();
    let times = 0;
    server.site.instead.set("/mcp", () => {
      times += 1;
      const headers = { "www-authenticate": 'DPoP error="use_dpop_nonce"', "dpop-nonce": `n-${times}` };
      return { status: 401, headers };
    });
    expect((await reasonOf(client.callTool("whoami"))).code).toBe("unauthorized");
    expect([times, person.visits.length]).toEqual([3, 1]);
  });
});
