import { connectInMemory, type TestClient } from "portolan/testing";
import { type AsanaOptions, createAsana } from "portolan-asana";
import { onTestFinished } from "vitest";
import { type AsanaRecord, type FakeAsana, startFakeAsana } from "../../services/asana/fake.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests only compare it
export type Data = any;

export interface Seeded {
  readonly fake: FakeAsana;
  readonly launch: AsanaRecord & { readonly sections: AsanaRecord[] };
  readonly task: AsanaRecord;
  readonly token: string;
}

/** Starts a fake with a project of ada and bob, which has a task with a comment, and a project of bob alone. */
export async function startSeeded(): Promise<Seeded> {
  const fake = await startFakeAsana();
  const launch = fake.project("Launch", ["ada", "bob"], "Everything for the launch");
  const task = fake.task(launch, "ada", {
    ...{ name: "Write the announcement", notes: "Two pages", assignee: fake.user("ada"), due_on: "2026-12-01" },
  });
  fake.story(task, "bob", "I can help");
  const secret = fake.project("Secret", ["bob"]);
  fake.task(secret, "bob", { name: "Cancel the launch" });
  return { fake, launch, task, token: fake.token("ada") };
}

type Options = NonNullable<Parameters<typeof connectInMemory>[1]>;

/** Limits with which no test waits long. */
export const quick = { firstWaitMs: 1, maxWaitMs: 2_000, pollMs: 5 };

/** Connects a client to the server over a fake, until the test ends. */
export async function open(
  { fake, token }: Pick<Seeded, "fake" | "token">,
  more: AsanaOptions = {},
  options: Options = {},
): Promise<TestClient> {
  const limits = { ...quick, ...more.limits };
  const client = await connectInMemory(createAsana({ account: token, api: fake.api, ...more, limits }), options);
  onTestFinished(() => client.close());
  return client as TestClient;
}
