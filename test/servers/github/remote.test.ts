// The server for many people: each signs in at the fake of GitHub through an authority.
import type { Client } from "portolan/client";
import { upstream } from "portolan-authority";
import { createGithub, githubSignIn } from "portolan-github";
import { afterEach, expect, test, vi } from "vitest";
import { type FakeGithub, startFakeGithub } from "../../services/github/fake.ts";
import { interleave } from "../kit/interleave.ts";
import { Person, startRemote as startBehindAuthority } from "../kit/remote.ts";
import { call, failureOf } from "../kit/tools.ts";
import { quick } from "./kit.ts";

afterEach(() => vi.useRealTimers());

/** Starts what `examples/github/server.mjs` puts together, over a fake with a private repository of each person. */
async function startRemote(people: readonly string[], readOnly = false) {
  const fake = await startFakeGithub();
  for (const login of people) {
    const repository = fake.repository(login, "diary", true);
    repository.commit("main", fake.account(login), "Begin", { "today.txt": `What ${login} did` });
  }
  const { clientId, clientSecret, origin } = fake;
  const signIn = upstream(githubSignIn({ clientId, clientSecret, site: origin, api: origin, readOnly }));
  const remote = await startBehindAuthority({ signIn }, (authority) => {
    const account = {
      tokenOf: (person: { subject: string; clientId: string }) => authority.upstreamToken(person),
      ended: (person: { subject: string }) => authority.revoke(person),
    };
    return createGithub({ account, api: origin, ask: false, readOnly, limits: quick });
  });
  return { ...remote, fake };
}

const personAt = (name: string, remote: { readonly fake: FakeGithub; readonly resource: string }) =>
  new Person(name, remote, (login) => {
    remote.fake.browserUser = login;
  });

const diaryOf = (login: string) => ({ owner: login, repo: "diary", path: "today.txt" });

test("the first use leads to the sign-in at GitHub, the second use does not", async () => {
  const remote = await startRemote(["ada"]);
  const ada = personAt("ada", remote);
  expect(await call(await ada.connect(), "read_file", diaryOf("ada"))).toMatchObject({ text: "What ada did" });
  expect(await call(await ada.connect(), "read_file", diaryOf("ada"))).toMatchObject({ text: "What ada did" });
  expect(ada.signIns).toBe(1);
  expect(remote.errors).toEqual([]);
});

test("two people who call at the same time never see each other's data", async () => {
  const remote = await startRemote(["ada", "bob"]);
  const people = [personAt("ada", remote), personAt("bob", remote)];
  const clients: Client[] = [];
  for (const person of people) clients.push(await person.connect());
  // Each asks for the own file and for that of the other, in turns.
  const isRight = async (index: number) => {
    const [me, owner] = [people[index % 2]?.name, people[(index >> 1) % 2]?.name ?? ""];
    const { isError, content } = await (clients[index % 2] as Client).callTool("read_file", diaryOf(owner) as never);
    const text = JSON.stringify(content);
    return owner === me ? !isError && text.includes(`What ${me} did`) : isError === true && !text.includes("did");
  };
  expect(await interleave(1_000, isRight)).toEqual([]);
  const logins = remote.fake.requests.filter(({ path }) => path.startsWith("/repos/")).map(({ login }) => login);
  expect([...new Set(logins)].sort()).toEqual(["ada", "bob"]);
}, 240_000);

test("what a person revokes at GitHub is refused here, and the next sign-in works again", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const remote = await startRemote(["ada", "bob"]);
  const [ada, bob] = [personAt("ada", remote), personAt("bob", remote)];
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
  const ada = personAt("ada", remote);
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
  const ada = personAt("ada", remote);
  const client = await ada.connect();
  expect(await failureOf(client, "read_file", { ...diaryOf("ada"), repo: "nothing" })).not.toContain("ghp_");
  expect(client.server.capabilities?.resources?.subscribe ?? false).toBe(false);
  expect(Object.keys(remote.fake.counts)).toEqual(["GET"]);
});
