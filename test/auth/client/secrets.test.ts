import { inspect } from "node:util";
import { clientCredentials, LoginRequired, oauth } from "portolan/auth/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { comeBack, comeBackWith } from "./kit/person.ts";
import { RecordingStore } from "./kit/recording-store.ts";
import { type Answer, hour, reasonOf } from "./kit/site.ts";
import { startWorld, type Way, type World, type WorldOptions, ways } from "./kit/world.ts";

/** Everything that the library puts out, as one would read it in a log. */
class Ears {
  readonly heard: string[] = [];

  constructor() {
    for (const name of ["log", "info", "warn", "error", "debug", "trace"] as const) {
      const spy = vi.spyOn(console, name).mockImplementation((...args) => this.hear(args));
      onTestFinished(() => spy.mockRestore());
    }
  }

  readonly hear = (value: unknown): void => {
    this.heard.push(inspect(value, { depth: null, showHidden: true, maxStringLength: null }));
    this.heard.push(JSON.stringify(value) ?? "");
    for (let one = value; one instanceof Error; one = one.cause) {
      this.heard.push(`${one}`, one.stack ?? "", JSON.stringify(one), JSON.stringify(Object.entries(one)));
    }
  };

  get text(): string {
    return this.heard.join("\n");
  }
}

/** All secrets that went to and from an authority, by kind. */
function secretsOf({ authority, person }: World, store: RecordingStore): Map<string, string> {
  const secrets = new Map<string, string>();
  const add = (what: string, value: unknown) => {
    if (typeof value === "string" && value !== "") secrets.set(value, what);
  };
  for (const token of authority.accessTokens) add("access token", token);
  for (const token of authority.refreshTokens.keys()) add("refresh token", token);
  for (const { form, headers } of authority.site.asked) {
    for (const name of ["code", "code_verifier", "refresh_token", "client_secret", "assertion", "token"]) {
      add(name, form.get(name));
    }
    add("client authentication", headers.authorization);
  }
  for (const page of person.visits) {
    for (const name of ["state", "code_challenge"]) add(name, page.searchParams.get(name));
  }
  for (const { clientSecret } of store.kept("client")) add("client secret", clientSecret);
  for (const { key } of store.kept("token")) add("private key", (key as { d?: string } | undefined)?.d);
  return secrets;
}

function expectSilence(ears: Ears, world: World, store: RecordingStore): void {
  const secrets = secretsOf(world, store);
  const told = [...secrets].filter(([value]) => ears.text.includes(value)).map(([, what]) => what);
  expect(told).toEqual([]);
}

async function startListening(options: WorldOptions = {}) {
  const ears = new Ears();
  const store = new RecordingStore();
  const world = await startWorld({
    ...options,
    oauth: { store, onEvent: ears.hear, onStep: ears.hear, ...options.oauth },
  });
  world.authority.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"];
  const connect = () => world.connect({ onError: ears.hear, onLog: ears.hear });
  return { ears, store, world, connect };
}

describe("secrets", () => {
  const options: [Way, boolean][] = ways.flatMap((way): [Way, boolean][] => [
    [way, false],
    [way, true],
  ]);
  test.each(options)(
    "of a whole life over %s (bound to a key: %s) are nowhere but in the store",
    async (way, isBound) => {
      const { ears, store, world, connect } = await startListening({ way, protect: { requireDpop: isBound } });
      const client = await connect();
      await client.callTool("whoami");
      world.clock.pass(2 * hour);
      await client.callTool("whoami");
      world.authority.forget();
      world.clock.pass(2 * hour);
      await client.callTool("whoami");
      await world.auth.logout(world.server.url);
      await client.close();
      expect(world.events).toEqual([]);
      expect(ears.heard.length).toBeGreaterThan(5);
      expect(secretsOf(world, store).size).toBeGreaterThan(10);
      expectSilence(ears, world, store);
      ears.hear([world.auth, client]);
      expectSilence(ears, world, store);
    },
  );

  const answers: [string, Answer | "hang up"][] = [
    ["refuses", { status: 400, body: { error: "invalid_grant", error_description: "no" } }],
    ["does not know the client", { status: 401, body: { error: "invalid_client" } }],
    ["breaks", { status: 500, body: { trace: "at token.ts" } }],
    ["redirects", { status: 307, headers: { location: "https://elsewhere.example.com/token" } }],
    ["answers with invalid members", { status: 200, body: { access_token: 7 } }],
    ["answers with HTML", { status: 200, headers: { "content-type": "text/html" } }],
    ["hangs up", "hang up"],
  ];
  test.each(answers)("are in no error when the token endpoint %s", async (_, answer) => {
    const { ears, store, world, connect } = await startListening();
    world.authority.answer("token", answer);
    ears.hear(await reasonOf(connect()));
    world.authority.site.instead.clear();
    const client = await connect();
    world.clock.pass(2 * hour);
    world.authority.answer("token", answer);
    await client.callTool("whoami").catch(ears.hear);
    await world.auth.logout(world.server.url).catch(ears.hear);
    expect(secretsOf(world, store).size).toBeGreaterThan(5);
    expectSilence(ears, world, store);
  });

  test.each<[string, Parameters<typeof comeBackWith>[0]]>([
    ["another state", (answer) => answer.set("state", "another")],
    ["another issuer", (answer) => answer.set("iss", "https://evil.example.com")],
    ["two codes", (answer) => answer.append("code", "another")],
    ["an error", (answer) => answer.set("error", "access_denied")],
    ["another address", (_, callback) => Object.assign(callback, { pathname: "/other" })],
  ])("are in no error when a person comes back with %s", async (_, change) => {
    const { ears, store, world, connect } = await startListening();
    let code = "";
    world.person.does = async (page, signal) => {
      const callback = await comeBackWith((answer, url) => {
        code = answer.get("code") ?? "";
        change(answer, url);
      })(page, signal);
      return callback;
    };
    ears.hear(await reasonOf(connect()));
    expect(code).not.toBe("");
    expect(ears.text).not.toContain(code);
    expectSilence(ears, world, store);
  });

  test("are in no error of a server that refuses and repeats them", async () => {
    const { ears, world, connect } = await startListening();
    world.authority.answer("token", { body: { access_token: "opaque-token", token_type: "Bearer" } });
    world.server.site.instead.set("/mcp", ({ headers: { authorization } }) =>
      authorization ? { status: 403, body: { error: { message: `not with ${authorization}` } } } : undefined,
    );
    const reason = await reasonOf(connect());
    expect(reason.message).toContain("not with Bearer …");
    ears.hear(reason);
    expect(ears.text).not.toContain("opaque-token");
  });

  test("are in no error of an authority that repeats them", async () => {
    const { ears, store, world, connect } = await startListening();
    world.authority.site.instead.set("/token", ({ form }) => ({
      status: 400,
      body: {
        error: "invalid_grant",
        error_description: `unknown code ${form.get("code")} ${form.get("code_verifier")}`,
      },
    }));
    const reason = await reasonOf(connect());
    expect(reason.message).toContain("unknown code");
    ears.hear(reason);
    expectSilence(ears, world, store);
  });

  test("of a machine are nowhere", async () => {
    const clientSecret = "very-secret-indeed";
    const grant = clientCredentials({ clientId: "machine", clientSecret });
    const { ears, store, world, connect } = await startListening({ oauth: { grant } });
    ears.hear(await reasonOf(connect()));
    world.authority.clients.set("machine", { redirectUris: [], secret: clientSecret });
    const client = await connect();
    await client.callTool("whoami");
    ears.hear(grant);
    expect(ears.text).not.toContain(clientSecret);
    expectSilence(ears, world, store);
  });

  test("of a deferred login are in its error only as part of the sign-in URL", async () => {
    const { ears, store, world } = await startListening();
    const auth = oauth({ store, redirect: { redirectUri: "https://app.example.com/callback", isDeferred: true } });
    const reason = await reasonOf(auth.login(world.server.url));
    expect(reason).toBeInstanceOf(LoginRequired);
    const { authorizationUrl, state } = reason as LoginRequired;
    expect(reason.message).not.toContain(state);
    expect(new URL(authorizationUrl).searchParams.has("code_verifier")).toBe(false);
    const [pending] = store.kept("login");
    ears.hear(reason);
    expect(ears.text).not.toContain(pending?.["verifier"]);
    await auth.finish(await comeBack(new URL(authorizationUrl)));
    expect(store.kept("login")).toEqual([]);
  });
});
