import { describe, expect, test } from "vitest";
import type { Fault } from "../../services/github/fake.ts";
import { call, failureOf } from "../kit/tools.ts";
import { hello, open, startSeeded } from "./kit.ts";

const issue = { ...hello, number: 1 };
const secondary = {
  message: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
};
const exhausted = {
  "x-ratelimit-remaining": "0",
  date: "Thu, 19 Nov 2026 10:00:00 GMT",
  "x-ratelimit-reset": "1795084200",
};

/** A fault that lasts, what the model is told, and how often the request is sent. */
const lasting: readonly [string, Fault, string, number][] = [
  [
    "a refused token",
    { status: 401, body: { message: "Bad credentials" } },
    "GitHub does not accept the sign-in: Bad credentials. Make a new token at https://github.com/settings/personal-access-tokens and set GITHUB_TOKEN to it",
    1,
  ],
  [
    "a missing scope",
    { status: 403, headers: { "x-oauth-scopes": "gist", "x-accepted-oauth-scopes": "repo, public_repo" } },
    "lacks the permission repo or public_repo",
    1,
  ],
  [
    "a missing permission",
    { status: 403, headers: { "x-accepted-github-permissions": "issues=read" } },
    "lacks the permission issues=read",
    1,
  ],
  [
    "a ban",
    { status: 403, body: { message: "Repository access blocked" } },
    "GitHub does not allow this to this account: Repository access blocked",
    1,
  ],
  [
    "a spent primary limit",
    { status: 403, headers: exhausted, body: { message: "API rate limit exceeded" } },
    "GitHub limits requests: API rate limit exceeded. Try again in 1800 s",
    1,
  ],
  ["a secondary limit without a time", { status: 403, body: secondary }, "Try again in 60 s", 1],
  [
    "a secondary limit with a time",
    { status: 403, headers: { "retry-after": "90" }, body: secondary },
    "Try again in 90 s",
    1,
  ],
  ["too many requests without a time", { status: 429 }, "GitHub limits requests: Fault 429. Try again later", 4],
  [
    "nothing there",
    { status: 404, body: { message: "Not Found" } },
    "GitHub has nothing there, or does not show it to this account: Not Found. Check the names",
    1,
  ],
  [
    "something that is gone",
    { status: 410, body: { message: "Issues are disabled" } },
    "Issues are disabled. Check the names",
    1,
  ],
  ["an outage", { status: 503, body: "<html>Unicorn!</html>" }, "GitHub did not answer properly. Try again later", 4],
  ["a cut connection", "cut", "GitHub did not answer properly", 4],
  ["a huge answer", "huge", "The response of GitHub is larger than 8388608 bytes. Ask for less", 1],
  [
    "an answer that is not JSON",
    { status: 200, body: "<html>Sign in to the network</html>" },
    "GitHub's response is not JSON",
    1,
  ],
  [
    "a redirect to another host",
    { status: 301, headers: { location: "https://elsewhere.example/" } },
    "GitHub refused the request",
    1,
  ],
];

describe.each(lasting)("%s", (_, fault, message, times) => {
  test("is explained to the model, without the token", async () => {
    const seeded = await startSeeded();
    seeded.fake.fail(fault, 100);
    const client = await open(seeded);
    const failure = await failureOf(client, "get_repository", hello);
    expect(failure).toContain(message);
    expect(seeded.fake.requests).toHaveLength(times);
    expect(client.transcript.toString()).not.toContain(seeded.token);
  });
});

test("a limit that passes soon is waited for, as long as GitHub asks, and shown", async () => {
  const seeded = await startSeeded();
  seeded.fake.fail({ status: 429, headers: { "retry-after": "1" } }, 1);
  const client = await open(seeded);
  const shown: unknown[] = [];
  const began = performance.now();
  await client.callTool("get_repository", hello as never, { onProgress: (progress) => void shown.push(progress) });
  expect(performance.now() - began).toBeGreaterThan(900);
  expect(JSON.stringify(shown)).toContain("GitHub limits requests; trying again in 1 s");
  expect(seeded.fake.requests).toHaveLength(2);
});

test.each<Fault>([{ status: 502 }, { status: 429, headers: { "retry-after": "0" } }, "cut"])(
  "a reading request is repeated after %j",
  async (fault) => {
    const seeded = await startSeeded();
    seeded.fake.fail(fault, 3);
    expect(await call(await open(seeded), "get_repository", hello)).toMatchObject({ repository: "ada/hello" });
    expect(seeded.fake.counts).toEqual({ GET: 4 });
  },
);

test.each<Fault>([{ status: 502 }, "cut"])(
  "a change is not repeated after %j, and the model is told to look",
  async (fault) => {
    const seeded = await startSeeded();
    seeded.fake.fail(fault, 3, ({ method }) => method === "POST");
    const failure = await failureOf(await open(seeded, { ask: false }), "add_comment", { ...issue, body: "Hello" });
    expect(failure).toContain("The change may have been made: look before you try again");
    expect(seeded.fake.counts).toEqual({ POST: 1 });
  },
);

test("a change that a limit refused has not happened, and is sent again", async () => {
  const seeded = await startSeeded();
  seeded.fake.fail(
    { status: 403, headers: { "retry-after": "0" }, body: secondary },
    1,
    ({ method }) => method === "POST",
  );
  await call(await open(seeded, { ask: false }), "add_comment", { ...issue, body: "Hello" });
  expect(seeded.repository.issues[0]?.comments.map(({ body }) => body)).toEqual(["I see", "Hello"]);
});

test("a change in a renamed repository is refused with the reason, and not made twice", async () => {
  const seeded = await startSeeded();
  seeded.fake.renamed("ada/old", seeded.repository);
  const failure = await failureOf(await open(seeded, { ask: false }), "add_comment", {
    ...issue,
    repo: "old",
    body: "Hello",
  });
  expect(failure).toContain("GitHub refused the request");
  expect(failure).toContain("/repos/ada/hello/issues/1/comments");
  expect(seeded.repository.issues[0]?.comments).toHaveLength(1);
});

test("a silent service ends the call after the timeout", async () => {
  const seeded = await startSeeded();
  seeded.fake.fail("silence", 100);
  const client = await open(seeded, { limits: { timeoutMs: 50, maxRetries: 1 } });
  expect(await failureOf(client, "get_repository", hello)).toContain("expected the whole response within 50 ms");
  expect(seeded.fake.requests).toHaveLength(2);
});

test("a cancelled call sends nothing more", async () => {
  const seeded = await startSeeded();
  seeded.fake.fail({ status: 429, headers: { "retry-after": "30" } }, 100);
  const client = await open(seeded, { limits: { maxWaitMs: 60_000 } });
  const controller = new AbortController();
  const called = client.callTool("get_repository", hello as never, { signal: controller.signal });
  await expect.poll(() => seeded.fake.requests).toHaveLength(1);
  controller.abort();
  await expect(called).rejects.toThrow();
  // Another call passes the fake now, and the cancelled one does not come again.
  await failureOf(await open(seeded), "get_repository", { ...hello, repo: "other" });
  expect(seeded.fake.requests.filter(({ path }) => path === "/repos/ada/hello")).toHaveLength(1);
});

test("a scope that is missing is named, and a token is never quoted", async () => {
  const seeded = await startSeeded();
  const token = seeded.fake.token("ada", ["read:user"]);
  const client = await open({ ...seeded, token }, { ask: false });
  const failure = await failureOf(client, "add_comment", { ...issue, body: "Hello" });
  expect(failure).toContain("The sign-in at GitHub lacks the permission repo");
  seeded.fake.fail({ status: 422, body: { message: `Your token ${token} is odd` } });
  expect(await failureOf(client, "get_repository", hello)).toBe(
    "GitHub refused the request: Your token [token] is odd",
  );
  expect(client.transcript.toString()).not.toContain(token);
});

test("a private repository of somebody else looks like none", async () => {
  const seeded = await startSeeded();
  seeded.fake.repository("bob", "secret", true);
  const failure = await failureOf(await open(seeded), "get_repository", { owner: "bob", repo: "secret" });
  expect(failure).toContain("GitHub has nothing there, or does not show it to this account");
});

test("without a token every call says how to get one, and nothing is sent", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded, { account: undefined } as never);
  expect(await failureOf(client, "get_repository", hello)).toBe(
    "Not signed in at GitHub. Make a token at https://github.com/settings/personal-access-tokens, set GITHUB_TOKEN to it, and start the server again",
  );
  await expect(client.readResource("github://ada/hello/issue/1")).rejects.toThrow(/Not signed in at GitHub/);
  expect(seeded.fake.requests).toEqual([]);
});
