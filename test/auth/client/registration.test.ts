import { type KnownClient, memoryStore, type OAuthOptions, oauth } from "portolan/auth/client";
import { describe, expect, test } from "vitest";
import { TestAuthority } from "./kit/authority.ts";
import { comeBack, comeBackWith, Person, stayAway } from "./kit/person.ts";
import { hour, reasonOf } from "./kit/site.ts";
import { startWorld, type World } from "./kit/world.ts";

const connectWith = ({ connect, person, clock }: World, options: OAuthOptions) =>
  connect({}, { auth: oauth({ redirect: person, now: clock.now, ...options }) });
const redirectUris = ["http://127.0.0.1:3000/callback"];
const registrationOf = ({ authority }: World) => JSON.parse(authority.asked("register")[0]!.body);

describe("a client that registers itself", () => {
  test("is a native program with code and refresh grants, and without a secret", async () => {
    const world = await startWorld({ protect: { scopes: ["read"] } });
    await world.connect();
    expect(registrationOf(world)).toEqual({
      client_name: "Portolan",
      application_type: "native",
      redirect_uris: redirectUris,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      scope: "read",
    });
    const [form] = world.authority.grants("authorization_code");
    expect([form?.get("client_id"), form?.has("client_secret")]).toEqual(["client-1", false]);
  });

  test("is a web program with a secret if its redirect URI is a web page", async () => {
    const world = await startWorld();
    await connectWith(world, { redirect: new Person("https://app.example.com/callback"), clientName: "App" });
    expect(registrationOf(world)).toMatchObject({
      client_name: "App",
      application_type: "web",
      token_endpoint_auth_method: "client_secret_basic",
    });
    const [{ headers } = { headers: {} }] = world.authority.asked("token");
    expect(headers).toMatchObject({ authorization: `Basic ${btoa("client-1:secret+client-1")}` });
  });

  test("adds the metadata of the program, but not to what the login depends on", async () => {
    const world = await startWorld();
    const clientMetadata = { client_uri: "https://app.example.com", redirect_uris: ["https://evil.example.com"] };
    await connectWith(world, { clientMetadata });
    expect(registrationOf(world)).toMatchObject({ client_uri: "https://app.example.com", redirect_uris: redirectUris });
  });

  test.each([
    [["none", "client_secret_basic"], "none"],
    [["client_secret_post"], "client_secret_post"],
    [["client_secret_basic", "client_secret_post"], "client_secret_basic"],
    [["private_key_jwt"], "none"],
  ])("authenticates, if the authorization server supports %j, by %s", async (offered, method) => {
    const world = await startWorld();
    world.authority.metadata["token_endpoint_auth_methods_supported"] = offered;
    await world.connect();
    expect(registrationOf(world).token_endpoint_auth_method).toBe(method);
    const [{ form, headers } = { form: new URLSearchParams(), headers: {} }] = world.authority.asked("token");
    expect(form.has("client_secret")).toBe(method === "client_secret_post");
    expect("authorization" in headers).toBe(method === "client_secret_basic");
  });

  test("reports why it was refused, with the OAuth error code", async () => {
    const { authority, person, connect } = await startWorld();
    const body = { error: "invalid_redirect_uri", error_description: "no loopback here" };
    authority.answer("register", { status: 400, body });
    const reason = await reasonOf(connect());
    expect(reason.message).toContain("has not registered this client: invalid_redirect_uri: no loopback here");
    expect([reason.code, reason.cause ?? reason]).toMatchObject(["unauthorized", { error: "invalid_redirect_uri" }]);
    expect(person.visits).toEqual([]);
    expect(authority.asked("register")).toHaveLength(1);
  });

  test("registers once for all servers of an authorization server, and for all programs that share the store", async () => {
    const world = await startWorld();
    const store = memoryStore();
    await connectWith(world, { store });
    await connectWith(world, { store, account: "" });
    expect(world.authority.asked("register")).toHaveLength(1);
  });

  test.each([
    [true, ["read", "read write"], ["client-1", "client-1", "client-2"]],
    [false, ["read"], ["client-1", "client-1"]],
  ])("registers again for more scopes, if it gets only registered ones: %s", async (isStrict, named, used) => {
    const scopesFor = ({ name }: { name: string | undefined }) => (name === "write" ? ["write"] : []);
    const world = await startWorld({ protect: { scopes: ["read"], scopesFor } });
    world.authority.isStrict = isStrict;
    const client = await world.connect();
    await client.callTool("write");
    await client.callTool("whoami");
    expect(world.authority.asked("register").map(({ body }) => JSON.parse(body).scope)).toEqual(named);
    expect(world.person.visits.map((page) => page.searchParams.get("client_id"))).toEqual(used);
  });

  test("registers again for more scopes once, even if it does not get them", async () => {
    const world = await startWorld({ protect: { scopes: ["read"] } });
    await world.connect();
    world.server.protect({ scopes: ["read", "write"] });
    world.authority.isStrict = true;
    world.person.does = comeBackWith((answer) => {
      answer.delete("code");
      answer.set("error", "invalid_scope");
    });
    expect((await reasonOf(world.connect())).message).toContain("invalid_scope");
    expect([world.authority.asked("register").length, world.person.visits.length]).toEqual([2, 3]);
  });

  test("registers again when its secret has expired, or its redirect URI has changed", async () => {
    const world = await startWorld();
    const store = memoryStore();
    const expires = Math.floor(world.clock.now() / 1_000) + 60;
    world.authority.clients.set("short", { redirectUris, secret: "s" });
    const body = { client_id: "short", client_secret: "s", client_secret_expires_at: expires };
    world.authority.answer("register", { status: 201, body }, 1);
    world.authority.givesRefreshTokens = false;
    await connectWith(world, { store });
    world.clock.pass(2 * hour);
    await connectWith(world, { store });
    expect(world.authority.asked("register")).toHaveLength(2);
    world.clock.pass(2 * hour);
    await connectWith(world, { store, redirect: new Person("http://127.0.0.1:4000/callback") });
    expect(world.authority.asked("register")).toHaveLength(3);
  });
});

describe("a client with a metadata document", () => {
  const clientMetadataUrl = "https://app.example.com/client.json";

  test("uses its URL as client id where documents are supported", async () => {
    const world = await startWorld();
    world.authority.metadata["client_id_metadata_document_supported"] = true;
    await connectWith(world, { clientMetadataUrl });
    expect(world.authority.asked("register")).toEqual([]);
    expect(world.person.visits[0]?.searchParams.get("client_id")).toBe(clientMetadataUrl);
    expect(world.authority.grants("authorization_code")[0]?.get("client_id")).toBe(clientMetadataUrl);
  });

  test("registers itself where they are not", async () => {
    const world = await startWorld();
    await connectWith(world, { clientMetadataUrl });
    expect(world.person.visits[0]?.searchParams.get("client_id")).toBe("client-1");
  });
});

describe("a client that was registered by hand", () => {
  const client: KnownClient = { clientId: "known", clientSecret: "s:cret %" };
  const register = ({ authority }: World, method = "client_secret_basic") =>
    authority.clients.set("known", { redirectUris, secret: "s:cret %", method });

  test("takes precedence over a document and over registration", async () => {
    const world = await startWorld();
    register(world);
    world.authority.metadata["client_id_metadata_document_supported"] = true;
    await connectWith(world, { client, clientMetadataUrl: "https://app.example.com/client.json" });
    expect(world.authority.asked("register")).toEqual([]);
    expect(world.person.visits[0]?.searchParams.get("client_id")).toBe("known");
    expect(world.authority.asked("token")[0]?.headers.authorization).toBe(`Basic ${btoa("known:s%3Acret+%25")}`);
  });

  test("sends its secret by the configured method, or by one that the authorization server supports", async () => {
    const told = await startWorld();
    register(told, "client_secret_post");
    await connectWith(told, { client: { ...client, method: "client_secret_post" } });
    const offered = await startWorld();
    register(offered, "client_secret_post");
    offered.authority.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"];
    await connectWith(offered, { client });
    for (const { authority } of [told, offered]) {
      expect(authority.asked("token")[0]?.form.get("client_secret")).toBe("s:cret %");
      expect(authority.asked("token")[0]?.headers.authorization).toBeUndefined();
    }
  });

  test("T44: is not sent to an authorization server that it does not belong to", async () => {
    const world = await startWorld();
    register(world);
    const reason = await reasonOf(connectWith(world, { client: { ...client, issuer: "https://auth.example.com" } }));
    expect(reason.message).toContain("The client known is registered with https://auth.example.com");
    expect([world.person.visits, world.authority.asked("token")]).toEqual([[], []]);
  });

  test("T44: belongs to the first authorization server that it is used with", async () => {
    const world = await startWorld();
    register(world);
    const store = memoryStore();
    await connectWith(world, { client, store });
    const other = await TestAuthority.start();
    world.server.protect({ issuers: [other.issuer] });
    const reason = await reasonOf(connectWith(world, { client, store }));
    expect(reason.message).toContain(`is registered with ${world.authority.issuer}`);
    expect(other.site.asked.filter(({ path }) => !path.startsWith("/.well-known/") && path !== "/keys")).toEqual([]);
  });
});

describe("a registration that the authorization server may have forgotten", () => {
  /** Signs in once, and lets the authorization server forget everything. */
  async function forgotten() {
    const world = await startWorld();
    const auth = oauth({
      redirect: world.person,
      now: world.clock.now,
      store: memoryStore(),
      onEvent: ({ kind }) => kinds.push(kind),
    });
    const kinds: string[] = [];
    await auth.login(world.server.url);
    await auth.logout(world.server.url);
    world.authority.forget();
    world.authority.clients.clear();
    kinds.length = 0;
    return { world, auth, kinds };
  }

  /** Begins a login, and leaves it at the page. */
  async function leave({ world, auth }: Awaited<ReturnType<typeof forgotten>>) {
    const stop = new AbortController();
    const reasonGiven = new Error("stopped");
    world.person.does = (_, signal) => {
      stop.abort(reasonGiven);
      return stayAway(_, signal);
    };
    expect(await reasonOf(auth.login(world.server.url, { signal: stop.signal }))).toBe(reasonGiven);
    world.person.does = comeBack;
  }

  test("is used once more, and an aborted login at its page makes the next one register again", async () => {
    const it = await forgotten();
    await leave(it);
    await it.auth.login(it.world.server.url);
    expect(it.kinds).toEqual(["visiting", "registered", "visiting", "signed-in"]);
  });

  test("stays after an aborted first login, and a logout forgets it", async () => {
    const it = await forgotten();
    await leave(it);
    // This one registers, and is left, too.
    await leave(it);
    it.kinds.length = 0;
    await it.auth.logout(it.world.server.url);
    await it.auth.logout(it.world.server.url);
    await it.auth.login(it.world.server.url);
    expect(it.kinds).toEqual(["unregistered", "registered", "visiting", "signed-in"]);
  });

  test("is not forgotten if a person has registered it by hand", async () => {
    const world = await startWorld();
    delete world.authority.metadata["registration_endpoint"];
    world.authority.clients.set("by-hand", { redirectUris, secret: "s" });
    let asked = 0;
    const askClient = async () => {
      asked += 1;
      return { clientId: "by-hand", clientSecret: "s" };
    };
    const auth = oauth({ redirect: world.person, now: world.clock.now, store: memoryStore(), askClient });
    await leave({ world, auth, kinds: [] });
    await leave({ world, auth, kinds: [] });
    await auth.logout(world.server.url);
    await auth.login(world.server.url);
    expect(asked).toBe(1);
  });
});

describe("without client registration", () => {
  test("a person is asked for a registered client, once", async () => {
    const world = await startWorld();
    delete world.authority.metadata["registration_endpoint"];
    world.authority.clients.set("by-hand", { redirectUris, secret: "s" });
    const store = memoryStore();
    const asked: string[] = [];
    const askClient = async (issuer: string) => {
      asked.push(issuer);
      return { clientId: "by-hand", clientSecret: "s" };
    };
    await connectWith(world, { store, askClient });
    world.clock.pass(2 * hour);
    world.authority.forget();
    await connectWith(world, { store, askClient });
    expect(asked).toEqual([world.authority.issuer]);
    expect(world.person.visits.map((page) => page.searchParams.get("client_id"))).toEqual(["by-hand", "by-hand"]);
  });

  test("a new client replaces the stored one after its first login, with its secret", async () => {
    const world = await startWorld();
    world.authority.clients.set("by-hand", { redirectUris, secret: "s" });
    const store = memoryStore();
    await connectWith(world, { store });
    world.clock.pass(2 * hour);
    world.authority.forget();
    // A mistyped client does not replace one that works.
    await reasonOf(connectWith(world, { store, newClient: { clientId: "by-hand", clientSecret: "wrong" } }));
    await connectWith(world, { store });
    expect(world.person.visits.at(-1)?.searchParams.get("client_id")).toBe("client-2");
    world.clock.pass(2 * hour);
    world.authority.forget();
    await connectWith(world, { store, newClient: { clientId: "by-hand", clientSecret: "s" } });
    world.clock.pass(2 * hour);
    world.authority.forget();
    await connectWith(world, { store });
    const clients = world.person.visits.map((page) => page.searchParams.get("client_id"));
    expect(clients.slice(-2)).toEqual(["by-hand", "by-hand"]);
    expect(world.authority.asked("token").at(-1)?.headers.authorization).toBe(`Basic ${btoa("by-hand:s")}`);
  });

  test.each<[string, OAuthOptions]>([
    ["askClient is not given", {}],
    ["askClient returns undefined", { askClient: async () => undefined }],
    ["documents are not supported", { clientMetadataUrl: "https://app.example.com/client.json" }],
  ])("and %s, the error says what to do", async (_, options) => {
    const world = await startWorld();
    delete world.authority.metadata["registration_endpoint"];
    const reason = await reasonOf(connectWith(world, options));
    expect(reason.message).toContain("register a client by hand and pass it as client");
    expect(world.person.visits).toEqual([]);
  });
});
