// The server for many people: each signs in at the fake of GitHub through an authority.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { deferred, LoginRequired, memoryStore, oauth } from "portolan/auth/client";
import { protect } from "portolan/auth/server";
import { type Client, connect } from "portolan/client";
import { serveHttp } from "portolan/server/http";
import { createAuthority, upstream } from "portolan-authority";
import { createGithub, githubSignIn } from "portolan-github";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { Browser } from "../../authority/browser.ts";
import { type FakeGithub, startFakeGithub } from "../../services/github/fake.ts";
import { call, failureOf } from "../kit/tools.ts";
import { quick } from "./kit.ts";

afterEach(() => vi.useRealTimers());

const callback = "http://127.0.0.1:9999/callback";

/** Starts what `examples/github/server.mjs` puts together, over a fake with a private repository of each person. */
async function startRemote(people: readonly string[], readOnly = false) {
  const fake = await startFakeGithub();
  for (const login of people) {
    const repository = fake.repository(login, "diary", true);
    repository.commit("main", fake.account(login), "Begin", { "today.txt": `What ${login} did` });
  }
  const app = createServer((request, response) =>
    authority.handle(request, response, () => mcp.node(request, response)),
  );
  await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    app.closeAllConnections();
    app.close();
  });
  const origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
  const resource = `${origin}/mcp`;
  const { clientId, clientSecret } = fake;
  const errors: unknown[] = [];
  const authority = await createAuthority({
    issuer: origin,
    name: "GitHub tools",
    resources: [{ resource, name: "GitHub tools", scopes: { github: "Use your account at GitHub" } }],
    signIn: upstream(githubSignIn({ clientId, clientSecret, site: fake.origin, api: fake.origin, readOnly })),
    registration: { dynamic: true },
    onError: (error) => errors.push(error),
  });
  const server = createGithub({
    account: { tokenOf: (person) => authority.upstreamToken(person), ended: (person) => authority.revoke(person) },
    api: fake.origin,
    ask: false,
    readOnly,
    limits: quick,
  });
  const mcp = serveHttp(server, { auth: protect({ resource, issuers: [authority.protection], scopes: ["github"] }) });
  onTestFinished(() => mcp.close());
  return { fake, resource, errors };
}

/** A person with a program and a browser. */
class Person {
  readonly login: string;
  readonly auth = oauth({ redirect: deferred(callback), store: memoryStore() });
  signIns = 0;
  readonly #fake: FakeGithub;
  readonly #resource: string;

  constructor(login: string, { fake, resource }: { readonly fake: FakeGithub; readonly resource: string }) {
    this.login = login;
    this.#fake = fake;
    this.#resource = resource;
  }

  /** Connects; signs in where that is required, as a person would. */
  async connect(): Promise<Client> {
    for (let tries = 0; ; tries += 1) {
      try {
        const client = await connect(this.#resource, { auth: this.auth });
        onTestFinished(() => client.close());
        return client;
      } catch (error) {
        const reason = error instanceof Error ? (error.cause ?? error) : error;
        if (!(reason instanceof LoginRequired) || tries > 0) throw error;
        await this.#signIn(reason.authorizationUrl);
      }
    }
  }

  async #signIn(page: string): Promise<void> {
    this.signIns += 1;
    this.#fake.browserUser = this.login;
    const browser = new Browser((url) => url.href.startsWith(callback));
    const consent = await browser.open(page);
    expect(consent.text).toContain("You sign in with GitHub");
    const { url } = await browser.press(consent, "allow");
    await this.auth.finish(url);
  }
}

const diaryOf = (login: string) => ({ owner: login, repo: "diary", path: "today.txt" });

test("the first use leads to the sign-in at GitHub, the second use does not", async () => {
  const remote = await startRemote(["ada"]);
  const ada = new Person("ada", remote);
  expect(await call(await ada.connect(), "read_file", diaryOf("ada"))).toMatchObject({ text: "What ada did" });
  expect(await call(await ada.connect(), "read_file", diaryOf("ada"))).toMatchObject({ text: "What ada did" });
  expect(ada.signIns).toBe(1);
  expect(remote.errors).toEqual([]);
});

test("two people who call at the same time never see each other's data", async () => {
  const remote = await startRemote(["ada", "bob"]);
  const people = [new Person("ada", remote), new Person("bob", remote)];
  const clients: Client[] = [];
  for (const person of people) clients.push(await person.connect());
  // Each asks for the own file and for that of the other, in turns; twenty calls are under way at any time.
  const isRight = async (index: number) => {
    const [me, owner] = [people[index % 2]?.login, people[(index >> 1) % 2]?.login ?? ""];
    const { isError, content } = await (clients[index % 2] as Client).callTool("read_file", diaryOf(owner) as never);
    const text = JSON.stringify(content);
    return owner === me ? !isError && text.includes(`What ${me} did`) : isError === true && !text.includes("did");
  };
  const indexes = Array.from({ length: 1_000 }, (_, index) => index).values();
  const wrong: number[] = [];
  let right = 0;
  const work = async () => {
    for (const index of indexes) {
      if (await isRight(index)) right += 1;
      else wrong.push(index);
    }
  };
  await Promise.all(Array.from({ length: 20 }, work));
  expect({ right, wrong }).toEqual({ right: 1_000, wrong: [] });
  const logins = remote.fake.requests.filter(({ path }) => path.startsWith("/repos/")).map(({ login }) => login);
  expect([...new Set(logins)].sort()).toEqual(["ada", "bob"]);
}, 120_000);

test("what a person revokes at GitHub is refused here, and the next sign-in works again", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const remote = await startRemote(["ada", "bob"]);
  const [ada, bob] = [new Person("ada", remote), new Person("bob", remote)];
  const client = await ada.connect();
  const other = await bob.connect();
  remote.fake.revoke("ada");
  const failure = await failureOf(client, "read_file", diaryOf("ada"));
  expect(failure).toContain("GitHub does not accept the sign-in: Bad credentials. Sign in again");
  expect(await call(other, "read_file", diaryOf("bob"))).toMatchObject({ text: "What bob did" });
  // The result of the last check is trusted for a minute, in which calls say what to do.
  expect(await failureOf(client, "read_file", diaryOf("ada"))).toContain("Not signed in at GitHub. Sign in again");
  vi.advanceTimersByTime(61_000);
  expect(await call(await ada.connect(), "read_file", diaryOf("ada"))).toMatchObject({ text: "What ada did" });
  expect([ada.signIns, bob.signIns]).toEqual([2, 1]);
});

test("a limit of GitHub ends no sign-in", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const remote = await startRemote(["ada"]);
  const ada = new Person("ada", remote);
  const client = await ada.connect();
  const limit = {
    status: 403,
    headers: { "x-ratelimit-remaining": "0" },
    body: { message: "API rate limit exceeded" },
  };
  remote.fake.fail(limit, 1, ({ path }) => path === "/user");
  vi.advanceTimersByTime(61_000);
  await client.callTool("read_file", diaryOf("ada") as never).catch(() => {});
  expect(await call(client, "read_file", diaryOf("ada"))).toMatchObject({ text: "What ada did" });
  expect(ada.signIns).toBe(1);
});

test("no token of GitHub reaches a client, and people follow no resources", async () => {
  const remote = await startRemote(["ada"], true);
  const ada = new Person("ada", remote);
  const client = await ada.connect();
  expect(await failureOf(client, "read_file", { ...diaryOf("ada"), repo: "nothing" })).not.toContain("ghp_");
  expect(client.server.capabilities?.resources?.subscribe ?? false).toBe(false);
  expect(Object.keys(remote.fake.counts)).toEqual(["GET"]);
});
