import { connectInMemory, type TestClient } from "portolan/testing";
import { createSlack, type SlackOptions } from "portolan-slack";
import { onTestFinished } from "vitest";
import { type ChannelState, type FakeSlack, startFakeSlack } from "../../services/slack/fake.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests only compare it
export type Data = any;

export interface Seeded {
  readonly fake: FakeSlack;
  readonly general: ChannelState;
  readonly token: string;
  /** The timestamp of bob's message, which has a thread with one reply. */
  readonly ts: string;
}

/** Starts a fake with ada and bob in #general, a private channel of bob, and a thread. */
export async function startSeeded(): Promise<Seeded> {
  const fake = await startFakeSlack();
  const general = fake.channel("general", ["ada", "bob"]);
  const secret = fake.channel("secret", ["bob"], true);
  fake.say(secret, "bob", "The release is cancelled");
  fake.say(general, "ada", "Good morning");
  const { ts } = fake.say(general, "bob", "The release is out");
  fake.say(general, "ada", "Thanks", ts);
  fake.share(general, "bob", "plan.md", "# Plan");
  return { fake, general, token: fake.token("ada"), ts };
}

type Options = NonNullable<Parameters<typeof connectInMemory>[1]>;

/** Connects a client to the server over a fake, until the test ends; no wait is long. */
export async function open(
  { fake, token }: Pick<Seeded, "fake" | "token">,
  more: SlackOptions = {},
  options: Options = {},
): Promise<TestClient> {
  const limits = { firstWaitMs: 1, maxWaitMs: 2_000, pollMs: 5, ...more.limits };
  const client = await connectInMemory(createSlack({ account: token, api: fake.api, ...more, limits }), options);
  onTestFinished(() => client.close());
  return client as TestClient;
}
