// The server for people who sign in here with a password, and connect their account at GitHub in the middle of a call.
import type { Client } from "portolan/client";
import { createGithub, githubSignIn } from "portolan-github";
import { expect, test } from "vitest";
import { people } from "../../authority/kit.ts";
import { type FakeGithub, startFakeGithub } from "../../services/github/fake.ts";
import { interleave } from "../kit/interleave.ts";
import { Opener, startRemote } from "../kit/remote.ts";
import { call, failureOf } from "../kit/tools.ts";
import { quick } from "./kit.ts";

/** Starts what `examples/github/connected.mjs` puts together, over a fake with a private repository of ada and bob. */
async function start() {
  const fake = await startFakeGithub();
  for (const login of ["ada", "bob"]) {
    const repository = fake.repository(login, "diary", true);
    repository.commit("main", fake.account(login), "Begin", { "today.txt": `What ${login} did` });
  }
  const { clientId, clientSecret, origin } = fake;
  const services = { github: githubSignIn({ clientId, clientSecret, site: origin, api: origin }) };
  const events: unknown[] = [];
  const remote = await startRemote(
    { signIn: people(), services, onEvent: (event) => events.push(event) },
    (authority) => createGithub({ account: authority.accountsAt("github"), api: origin, ask: false, limits: quick }),
  );
  const page = `${new URL(remote.resource).origin}/connect/github`;
  return { ...remote, fake, events, page };
}

const openerAt = (name: string, { fake, resource }: { readonly fake: FakeGithub; readonly resource: string }) =>
  new Opener(name, { resource }, (login) => {
    fake.browserUser = login;
  });

const diaryOf = (owner: string) => ({ owner, repo: "diary", path: "today.txt" });

test.each(["2025-11-25", "2026-07-28"])(
  "the first call of a person leads to GitHub, and no later one does, on %s",
  async (version) => {
    const started = await start();
    const ada = openerAt("ada", started);
    const client = await ada.connectOpening(undefined, { era: version });
    expect(await call(client, "read_file", diaryOf("ada"))).toMatchObject({ text: "What ada did" });
    expect(ada.asked).toMatchObject([
      { mode: "url", url: started.page, message: "Sign in at GitHub, so that this server can use your account there" },
    ]);
    expect(await call(client, "read_file", diaryOf("ada"))).toMatchObject({ text: "What ada did" });
    const again = await ada.connectOpening();
    expect(await call(again, "read_file", diaryOf("ada"))).toMatchObject({ text: "What ada did" });
    expect(ada.asked).toHaveLength(1);
    expect(started.events).toContainEqual({ type: "account-connected", subject: "ada", service: "github" });
    expect(started.errors).toEqual([]);
  },
);

test("a resource and a prompt lead to GitHub too", async () => {
  const started = await start();
  const ada = openerAt("ada", started);
  const client = await ada.connectOpening();
  const { contents } = await client.readResource("github://ada/diary/file/HEAD/today.txt");
  expect(contents).toMatchObject([{ text: "What ada did" }]);
  const bob = openerAt("bob", started);
  const other = await bob.connectOpening();
  await other.getPrompt("work_on_issue", { owner: "bob", repo: "diary", number: "1" }).catch(() => {});
  expect([ada.asked.length, bob.asked.length]).toEqual([1, 1]);
});

test("a client that cannot open addresses gets the address as an error, and works after the sign-in there", async () => {
  const started = await start();
  const ada = openerAt("ada", started);
  const client = await ada.connect();
  expect(await failureOf(client, "read_file", diaryOf("ada"))).toBe(
    `Not signed in at GitHub. Sign in at ${started.page}, then try again`,
  );
  await expect(client.readResource("github://ada/diary/file/HEAD/today.txt")).rejects.toThrow(started.page);
  expect((await ada.connectAccount(started.page)).text).toContain("GitHub is connected");
  expect(await call(client, "read_file", diaryOf("ada"))).toMatchObject({ text: "What ada did" });
});

test("a person who does not open the page has called in vain", async () => {
  const started = await start();
  const ada = openerAt("ada", started);
  const client = await ada.connect({ answers: { openUrl: () => ({ action: "decline" }) } });
  expect(await failureOf(client, "read_file", diaryOf("ada"))).toContain("the user did not open the page");
  expect(started.fake.requests).toEqual([]);
});

test("what is revoked at GitHub is refused with the way back, and the next call leads to GitHub again", async () => {
  const started = await start();
  const [ada, bob] = [openerAt("ada", started), openerAt("bob", started)];
  const client = await ada.connectOpening();
  const other = await bob.connectOpening();
  await call(client, "read_file", diaryOf("ada"));
  await call(other, "read_file", diaryOf("bob"));
  started.fake.revoke("ada");
  expect(await failureOf(client, "read_file", diaryOf("ada"))).toBe(
    `GitHub does not accept the sign-in: Bad credentials. Sign in at ${started.page}, then try again`,
  );
  expect(started.events).toContainEqual({ type: "account-disconnected", subject: "ada", service: "github" });
  expect(await call(client, "read_file", diaryOf("ada"))).toMatchObject({ text: "What ada did" });
  expect(await call(other, "read_file", diaryOf("bob"))).toMatchObject({ text: "What bob did" });
  expect([ada.asked.length, bob.asked.length, ada.signIns]).toEqual([2, 1, 1]);
});

test("whoever opens the address of somebody else connects only their own account", async () => {
  const started = await start();
  const [ada, bob] = [openerAt("ada", started), openerAt("bob", started)];
  await bob.connect();
  // Ada sends the address to bob, who opens it and agrees to everything.
  const given = await (await ada.connectOpening(async (address) => bob.connectAccount(address)))
    .callTool("read_file", diaryOf("bob") as never, { idleMs: 1_000 })
    .catch((error: Error) => error.message);
  expect(JSON.stringify(given)).not.toContain("What bob did");
  const client = await bob.connectOpening();
  expect(await call(client, "read_file", diaryOf("bob"))).toMatchObject({ text: "What bob did" });
  expect(bob.asked).toEqual([]);
});

test("the page asks for the password in a browser without a session, counts attempts, and lets another person in", async () => {
  const started = await start();
  const ada = openerAt("ada", started);
  const asked = await ada.browser.open(started.page);
  expect(asked.text).toContain("Next you will be asked whether to connect your account at GitHub.");
  const wrong = await ada.browser.press(asked, "sign-in", { name: "ada", password: "wrong" });
  expect([wrong.status, wrong.text.includes("Wrong user name or password.")]).toEqual([401, true]);
  const page = await ada.signInHere(wrong);
  expect(page.text).toContain("Ada Lovelace");
  const switched = await ada.browser.press(page, "switch");
  const bobs = await ada.browser.press(switched, "sign-in", { name: "bob", password: "correct horse" });
  expect(bobs.text).not.toContain("Ada Lovelace");
  for (let tries = 0; tries < 10; tries += 1) {
    await ada.browser.press(asked, "sign-in", { name: "ada", password: `wrong ${tries}` });
  }
  expect((await ada.browser.press(asked, "sign-in", { name: "ada", password: "correct horse" })).status).toBe(429);
});

test("the page ends a connection, and refuses forms of other pages and returns that it did not begin", async () => {
  const started = await start();
  const ada = openerAt("ada", started);
  const client = await ada.connectOpening();
  await call(client, "read_file", diaryOf("ada"));
  const page = await ada.browser.open(started.page);
  const forged = await ada.browser.open(started.page, {
    method: "POST",
    body: new URLSearchParams({ token: "wrong", do: "disconnect" }),
  });
  expect(forged.status).toBe(403);
  const foreign = await ada.browser.open(`${started.page}/callback?code=1&state=unknown`);
  expect(foreign.status).toBe(400);
  expect((await ada.browser.press(page, "disconnect")).text).toContain("Connect GitHub?");
  await call(client, "read_file", diaryOf("ada"));
  expect(ada.asked).toHaveLength(2);
  expect((await ada.browser.open(`${started.page}x`)).status).toBe(404);
});

test("a sign-in that one browser began cannot be finished in another one", async () => {
  const started = await start();
  const [ada, bob] = [openerAt("ada", started), openerAt("bob", started)];
  await ada.connect();
  await bob.connect();
  started.fake.browserUser = "bob";
  const begun = await bob.browser.fetch(started.page);
  const token = /name="token" value="([^"]*)"/.exec(begun.text)?.[1] ?? "";
  const sent = await bob.browser.fetch(started.page, {
    method: "POST",
    body: new URLSearchParams({ token, do: "connect" }),
  });
  const toGithub = /content="0;url=([^"]*)"/.exec(sent.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const back = (await bob.browser.fetch(toGithub)).headers.get("location") ?? "";
  expect((await ada.browser.open(back)).status).toBe(403);
  const client = await ada.connect();
  expect(await failureOf(client, "read_file", diaryOf("bob"))).toContain("Not signed in at GitHub");
});

test("two people who call at the same time never see each other's data", async () => {
  const started = await start();
  const opening = [openerAt("ada", started), openerAt("bob", started)];
  const clients: Client[] = [];
  for (const person of opening) {
    const client = await person.connectOpening();
    await call(client, "read_file", diaryOf(person.name));
    clients.push(client);
  }
  // Each asks for the own file and for that of the other, in turns.
  const isRight = async (index: number) => {
    const [me, owner] = [opening[index % 2]?.name, opening[(index >> 1) % 2]?.name ?? ""];
    const { isError, content } = await (clients[index % 2] as Client).callTool("read_file", diaryOf(owner) as never);
    const text = JSON.stringify(content);
    return owner === me ? !isError && text.includes(`What ${me} did`) : isError === true && !text.includes("did");
  };
  expect(await interleave(1_000, isRight)).toEqual([]);
  expect(opening.map(({ asked }) => asked.length)).toEqual([1, 1]);
}, 240_000);
