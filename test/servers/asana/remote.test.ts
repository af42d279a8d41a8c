// The server for many people: each signs in at the fake of Asana, before the first request or in the middle of a call.
import type { Client } from "portolan/client";
import { asanaSignIn, createAsana } from "portolan-asana";
import { upstream } from "portolan-authority";
import { afterEach, expect, test, vi } from "vitest";
import { people } from "../../authority/kit.ts";
import { type FakeAsana, startFakeAsana } from "../../services/asana/fake.ts";
import { interleave } from "../kit/interleave.ts";
import { Opener, Person, startRemote } from "../kit/remote.ts";
import { call, failureOf } from "../kit/tools.ts";
import { quick } from "./kit.ts";

afterEach(() => vi.useRealTimers());

/** Starts a fake with a task of each person, in a project of that person alone. */
async function startFake() {
  const fake = await startFakeAsana();
  const diaries = new Map<string, { readonly task: string }>();
  for (const name of ["ada", "bob"]) {
    const notes = `What ${name} did`;
    diaries.set(name, { task: fake.task(fake.project(`diary-${name}`, [name]), name, { name: "Diary", notes }).gid });
  }
  const sitDown = (name: string) => {
    fake.browserUser = name;
  };
  return { fake, sitDown, diaryOf: (name: string) => diaries.get(name) ?? {} };
}

const applicationOf = ({ clientId, clientSecret, origin, api }: FakeAsana) => ({
  clientId,
  clientSecret,
  site: origin,
  api,
});

async function startWithAsana(readOnly = false) {
  const world = await startFake();
  const { fake } = world;
  const signIn = upstream(asanaSignIn({ ...applicationOf(fake), readOnly }));
  const remote = await startRemote({ signIn }, (authority) => {
    const account = {
      tokenOf: (person: { subject: string; clientId: string }) => authority.upstreamToken(person),
      ended: (person: { subject: string }) => authority.revoke(person),
    };
    return createAsana({ account, api: fake.api, ask: false, readOnly, limits: quick });
  });
  return { ...world, ...remote };
}

test("the first use leads to the sign-in at Asana, the second use does not, and a token is renewed", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const { sitDown, diaryOf, errors, ...remote } = await startWithAsana();
  const ada = new Person("ada", remote, sitDown);
  expect(await call(await ada.connect(), "get_task", diaryOf("ada"))).toMatchObject({ notes: "What ada did" });
  vi.advanceTimersByTime(2 * 3_600_000);
  const client = await ada.connect();
  await call(client, "add_comment", { ...diaryOf("ada"), text: "It is me" });
  expect(await call(client, "get_task", diaryOf("ada"))).toMatchObject({
    stories: [{}, { author: "ada", text: "It is me" }],
  });
  expect([ada.signIns, errors]).toEqual([1, []]);
});

test("what is revoked at Asana is refused here, and the next sign-in works again", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const { fake, sitDown, diaryOf, ...remote } = await startWithAsana();
  const [ada, bob] = [new Person("ada", remote, sitDown), new Person("bob", remote, sitDown)];
  const [client, other] = [await ada.connect(), await bob.connect()];
  fake.revokeAll("ada");
  const failure = await failureOf(client, "get_task", diaryOf("ada"));
  expect(failure).toContain("Asana does not accept the sign-in: Not Authorized. Sign in again");
  expect(await call(other, "get_task", diaryOf("bob"))).toMatchObject({ notes: "What bob did" });
  vi.advanceTimersByTime(61_000);
  expect(await call(await ada.connect(), "get_task", diaryOf("ada"))).toMatchObject({ notes: "What ada did" });
  expect([ada.signIns, bob.signIns]).toEqual([2, 1]);
});

test("a server that only reads asks for no permission to change anything", async () => {
  const { sitDown, diaryOf, fake, ...remote } = await startWithAsana(true);
  const ada = new Person("ada", remote, sitDown);
  const client = await ada.connect();
  expect(await call(client, "get_task", diaryOf("ada"))).toMatchObject({ notes: "What ada did" });
  const asked = ada.browser.trail.find((address) => address.includes("/-/oauth_authorize")) ?? "";
  expect(new URL(asked).searchParams.get("scope")).not.toMatch(/:write|default/);
  expect(client.server.capabilities?.resources?.subscribe ?? false).toBe(false);
  expect(Object.keys(fake.counts)).toEqual(["GET"]);
});

test("two people who connect their accounts in the middle of a call never see each other's data", async () => {
  const { fake, sitDown, diaryOf } = await startFake();
  const services = { asana: asanaSignIn(applicationOf(fake)) };
  const remote = await startRemote({ signIn: people(), services }, (authority) =>
    createAsana({ account: authority.accountsAt("asana"), api: fake.api, ask: false, limits: quick }),
  );
  const both = ["ada", "bob"].map((name) => new Opener(name, remote, sitDown)) as [Opener, Opener];
  const clients: Client[] = [];
  for (const person of both) {
    const client = await person.connectOpening();
    await call(client, "get_task", diaryOf(person.name));
    clients.push(client);
  }
  const page = `${new URL(remote.resource).origin}/connect/asana`;
  expect(both.map(({ asked }) => asked.map(({ url }) => url))).toEqual([[page], [page]]);
  const isRight = async (index: number) => {
    const [me, owner] = [both[index % 2]?.name, both[(index >> 1) % 2]?.name ?? ""];
    const { isError, content } = await (clients[index % 2] as Client).callTool("get_task", diaryOf(owner) as never);
    const text = JSON.stringify(content);
    return owner === me ? !isError && text.includes(`What ${me} did`) : isError === true && !text.includes("did");
  };
  expect(await interleave(1_000, isRight)).toEqual([]);
  fake.revokeAll("ada");
  const failure = await failureOf(clients[0] as Client, "get_task", diaryOf("ada"));
  expect(failure).toBe(`Asana does not accept the sign-in: Not Authorized. Sign in at ${page}, then try again`);
  await call(clients[0] as Client, "get_task", diaryOf("ada"));
  expect(both.map(({ asked }) => asked.length)).toEqual([2, 1]);
}, 240_000);
