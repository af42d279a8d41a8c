// The server for many people: each signs in at the fake of Slack, before the first request or in the middle of a call.
import type { Client } from "portolan/client";
import { upstream } from "portolan-authority";
import { createSlack, slackSignIn } from "portolan-slack";
import { afterEach, expect, test, vi } from "vitest";
import { people } from "../../authority/kit.ts";
import { type FakeSlack, startFakeSlack } from "../../services/slack/fake.ts";
import { interleave } from "../kit/interleave.ts";
import { Opener, Person, startRemote } from "../kit/remote.ts";
import { call, failureOf } from "../kit/tools.ts";

afterEach(() => vi.useRealTimers());

const limits = { firstWaitMs: 1, maxWaitMs: 2_000 };

/** Starts a fake with a private channel of each person. */
async function startFake(): Promise<FakeSlack> {
  const fake = await startFakeSlack();
  for (const name of ["ada", "bob"]) fake.say(fake.channel(`diary-${name}`, [name], true), name, `What ${name} did`);
  return fake;
}

const applicationOf = ({ clientId, clientSecret, origin, api }: FakeSlack) => ({
  clientId,
  clientSecret,
  site: origin,
  api,
});
const sitDown = (fake: FakeSlack) => (name: string) => {
  fake.browserUser = name;
};
const diaryOf = (fake: FakeSlack, name: string) => ({
  channel: fake.channels.find((one) => one.name === `diary-${name}`)?.id,
});

async function startWithSlack(readOnly = false) {
  const fake = await startFake();
  const signIn = upstream(slackSignIn({ ...applicationOf(fake), readOnly }));
  const remote = await startRemote({ signIn }, (authority) => {
    const account = {
      tokenOf: (person: { subject: string; clientId: string }) => authority.upstreamToken(person),
      ended: (person: { subject: string }) => authority.revoke(person),
    };
    return createSlack({ account, api: fake.api, ask: false, readOnly, limits });
  });
  return { ...remote, fake };
}

test("the first use leads to the sign-in at Slack, the second use does not", async () => {
  const remote = await startWithSlack();
  const ada = new Person("ada", remote, sitDown(remote.fake));
  const diary = diaryOf(remote.fake, "ada");
  expect(await call(await ada.connect(), "read_channel", diary)).toMatchObject({ items: [{ text: "What ada did" }] });
  const client = await ada.connect();
  await call(client, "post_message", { ...diary, text: "It is me" });
  expect(remote.fake.channels[0]?.messages.at(-1)).toMatchObject({ text: "It is me", user: "U000000001" });
  expect([ada.signIns, remote.errors]).toEqual([1, []]);
});

test("a token that expires is renewed, and no sign-in is needed", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const remote = await startWithSlack();
  remote.fake.rotatesTokens = true;
  const ada = new Person("ada", remote, sitDown(remote.fake));
  await ada.connect();
  vi.advanceTimersByTime(13 * 3_600_000);
  const client = await ada.connect();
  expect(await call(client, "read_channel", diaryOf(remote.fake, "ada"))).toMatchObject({ items: [{}] });
  expect(remote.fake.calls.filter(({ method }) => method === "oauth.v2.access")).toHaveLength(2);
  expect(ada.signIns).toBe(1);
});

test("what is revoked at Slack is refused here, and the next sign-in works again", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const remote = await startWithSlack();
  const [ada, bob] = ["ada", "bob"].map((name) => new Person(name, remote, sitDown(remote.fake))) as [Person, Person];
  const [client, other] = [await ada.connect(), await bob.connect()];
  remote.fake.revokeAll("ada");
  const failure = await failureOf(client, "read_channel", diaryOf(remote.fake, "ada"));
  expect(failure).toContain("Slack does not accept the sign-in: invalid_auth. Sign in again");
  expect(await call(other, "read_channel", diaryOf(remote.fake, "bob"))).toMatchObject({ items: [{}] });
  vi.advanceTimersByTime(61_000);
  expect(await call(await ada.connect(), "read_channel", diaryOf(remote.fake, "ada"))).toMatchObject({ items: [{}] });
  expect([ada.signIns, bob.signIns]).toEqual([2, 1]);
});

test("the authority notices within a minute that Slack says a token is no longer valid, without a call", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const remote = await startWithSlack();
  const ada = new Person("ada", remote, sitDown(remote.fake));
  await ada.connect();
  remote.fake.revokeAll("ada");
  vi.advanceTimersByTime(121_000);
  await ada.connect();
  expect(ada.signIns).toBe(2);
});

test("an outage of Slack ends no sign-in", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const remote = await startWithSlack();
  const ada = new Person("ada", remote, sitDown(remote.fake));
  const client = await ada.connect();
  const outage = { status: 200, body: { ok: false, error: "internal_error" } };
  remote.fake.fail(outage, 1, ({ method }) => method === "auth.test");
  vi.advanceTimersByTime(61_000);
  await client.callTool("list_users").catch(() => {});
  expect(await call(client, "list_users")).toMatchObject({ items: [{ name: "ada" }, {}] });
  expect(ada.signIns).toBe(1);
});

test("a server that only reads asks for no permission to change anything", async () => {
  const remote = await startWithSlack(true);
  const ada = new Person("ada", remote, sitDown(remote.fake));
  const client = await ada.connect();
  expect((await client.listTools()).map(({ name }) => name)).not.toContain("post_message");
  const asked = ada.browser.trail.find((address) => address.includes("/oauth/v2/authorize")) ?? "";
  expect(new URL(asked).searchParams.get("user_scope")).not.toMatch(/:write/);
  expect(client.server.capabilities?.resources?.subscribe ?? false).toBe(false);
});

test("two people who connect their accounts in the middle of a call never see each other's data", async () => {
  const fake = await startFake();
  const services = { slack: slackSignIn(applicationOf(fake)) };
  const remote = await startRemote({ signIn: people(), services }, (authority) =>
    createSlack({ account: authority.accountsAt("slack"), api: fake.api, ask: false, limits }),
  );
  const both = ["ada", "bob"].map((name) => new Opener(name, remote, sitDown(fake))) as [Opener, Opener];
  const clients: Client[] = [];
  for (const person of both) {
    const client = await person.connectOpening();
    await call(client, "read_channel", diaryOf(fake, person.name));
    clients.push(client);
  }
  const page = `${new URL(remote.resource).origin}/connect/slack`;
  expect(both.map(({ asked }) => asked.map(({ url }) => url))).toEqual([[page], [page]]);
  const isRight = async (index: number) => {
    const [me, owner] = [both[index % 2]?.name, both[(index >> 1) % 2]?.name ?? ""];
    const client = clients[index % 2] as Client;
    const { isError, content } = await client.callTool("read_channel", diaryOf(fake, owner) as never);
    const text = JSON.stringify(content);
    return owner === me ? !isError && text.includes(`What ${me} did`) : isError === true && !text.includes("did");
  };
  expect(await interleave(1_000, isRight)).toEqual([]);
  fake.revokeAll("ada");
  const failure = await failureOf(clients[0] as Client, "read_channel", diaryOf(fake, "ada"));
  expect(failure).toBe(`Slack does not accept the sign-in: invalid_auth. Sign in at ${page}, then try again`);
  await call(clients[0] as Client, "read_channel", diaryOf(fake, "ada"));
  expect(both.map(({ asked }) => asked.length)).toEqual([2, 1]);
}, 240_000);
