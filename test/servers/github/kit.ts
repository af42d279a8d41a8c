import { connectInMemory, type TestClient } from "portolan/testing";
import { createGithub, type GithubOptions } from "portolan-github";
import { onTestFinished } from "vitest";
import { type FakeGithub, startFakeGithub } from "../../services/github/fake.ts";
import type { RepositoryState } from "../../services/github/state.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests only compare it
export type Data = any;

/** The repository that most tests use. */
export const hello = { owner: "ada", repo: "hello" };

export interface Seeded {
  readonly fake: FakeGithub;
  readonly repository: RepositoryState;
  readonly token: string;
}

/** Starts a fake with ada's repository hello: a branch with a change, issue 1, and pull request 2 for the branch. */
export async function startSeeded(): Promise<Seeded> {
  const fake = await startFakeGithub();
  const ada = fake.account("ada");
  const bob = fake.account("bob");
  const repository = fake.repository("ada", "hello");
  repository.commit("main", ada, "Begin", { "README.md": "# Hello\n", "src/index.ts": "export const answer = 41;\n" });
  repository.branches.set("fix/answer", repository.need("main").sha);
  repository.commit("fix/answer", ada, "Correct the answer", { "src/index.ts": "export const answer = 42;\n" });
  const issue = repository.openIssue(bob, {
    title: "Wrong answer",
    body: "It says 41",
    labels: ["bug"],
    assignees: [ada],
  });
  repository.comment(issue, ada, "I see");
  repository.openPull(ada, { title: "Correct the answer", body: "Closes #1", head: "fix/answer", base: "main" });
  repository.release(ada, "v1.0.0", "The first one");
  return { fake, repository, token: fake.token("ada") };
}

type Options = NonNullable<Parameters<typeof connectInMemory>[1]>;

/** Limits with which no test waits long. */
export const quick = { firstWaitMs: 1, maxWaitMs: 2_000, pollMs: 5 };

/** Connects a client to the server over a fake, until the test ends. */
export async function open(
  { fake, token }: Pick<Seeded, "fake" | "token">,
  more: GithubOptions = {},
  options: Options = {},
): Promise<TestClient> {
  const server = createGithub({ account: token, api: fake.origin, ...more, limits: { ...quick, ...more.limits } });
  const client = await connectInMemory(server, options);
  onTestFinished(() => client.close());
  return client as TestClient;
}

export const yes = { action: "accept", content: {} } as never;
export const no = { action: "decline" } as never;
