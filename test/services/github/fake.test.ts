// The fake of GitHub, proved by what GitHub itself publishes: the client and the description of the API.
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hello, open, startSeeded } from "../../servers/github/kit.ts";
import { call } from "../../servers/kit/tools.ts";
import { GithubDescription } from "./description.ts";
import { startFakeGithub } from "./fake.ts";
import { operations } from "./routes.ts";

const vendors = createRequire(join(import.meta.dirname, "../vendors/package.json"));
/** Failures are expected here. */
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const { Octokit } = await import(vendors.resolve("@octokit/rest"));

test("GitHub's own client reads and changes the fake", async () => {
  const { fake, token } = await startSeeded();
  const octokit = new Octokit({ baseUrl: fake.origin, auth: token, log: silent });
  const { data: issue } = await octokit.rest.issues.create({ ...hello, title: "From the client", labels: ["bug"] });
  expect(issue).toMatchObject({ number: 3, state: "open", user: { login: "ada" } });
  const titles = await octokit.paginate(
    octokit.rest.issues.listForRepo,
    { ...hello, per_page: 1 },
    ({ data }: { data: { title: string }[] }) => data.map(({ title }) => title),
  );
  expect(titles).toEqual(["From the client", "Correct the answer", "Wrong answer"]);
  const { data: content } = await octokit.rest.repos.getContent({ ...hello, path: "src/index.ts" });
  expect(Buffer.from(content.content, "base64").toString()).toBe("export const answer = 41;\n");
  const { data: diff } = await octokit.rest.pulls.get({ ...hello, pull_number: 2, mediaType: { format: "diff" } });
  expect(diff).toContain("+export const answer = 42;");
  const { data: merged } = await octokit.rest.pulls.merge({ ...hello, pull_number: 2 });
  expect(merged.merged).toBe(true);
  await expect(octokit.rest.pulls.merge({ ...hello, pull_number: 2 })).rejects.toMatchObject({ status: 405 });
  await expect(octokit.rest.issues.get({ ...hello, issue_number: 99 })).rejects.toMatchObject({ status: 404 });
});

test("an ETag is answered with 304, and a wrong token with 401", async () => {
  const { fake, token } = await startSeeded();
  const octokit = new Octokit({ baseUrl: fake.origin, auth: token, log: silent });
  const { headers } = await octokit.rest.issues.get({ ...hello, issue_number: 1 });
  const again = octokit.request("GET /repos/{owner}/{repo}/issues/1", {
    ...hello,
    headers: { "if-none-match": headers.etag },
  });
  await expect(again).rejects.toMatchObject({ status: 304 });
  const stranger = new Octokit({ baseUrl: fake.origin, auth: "ghp_wrong", log: silent });
  await expect(stranger.rest.users.getAuthenticated()).rejects.toMatchObject({ status: 401 });
});

test("every operation of the fake, and every request of our server, is as GitHub describes it", async () => {
  const seeded = await startSeeded();
  const { fake, repository } = seeded;
  const client = await open(seeded, { ask: false });
  const number = { ...hello, number: 2 };
  const file = { ...hello, path: "new.txt", branch: "main", message: "Add" };
  const calls: [string, object][] = [
    ["search_code", { query: "answer" }],
    ["search_issues", { query: "answer" }],
    ["search_repositories", { query: "hello" }],
    ["get_repository", hello],
    ["list_branches", hello],
    ["list_files", hello],
    ["read_file", { ...hello, path: "README.md" }],
    ["list_commits", { ...hello, path: "src", since: "2020-01-01T00:00:00Z" }],
    ["get_commit", { ...hello, ref: "fix/answer" }],
    ["compare", { ...hello, base: "main", head: "fix/answer" }],
    ["list_issues", { ...hello, state: "all" }],
    ["get_issue", { ...hello, number: 1 }],
    ["list_pull_requests", { ...hello, state: "open", base: "main" }],
    ["create_issue", { ...hello, title: "New", body: "Text", labels: ["bug"], assignees: ["ada"] }],
    ["update_issue", { ...hello, number: 1, state: "closed", reason: "completed", labels: [] }],
    ["add_comment", { ...hello, number: 1, body: "Done" }],
    ["create_branch", { ...hello, branch: "next" }],
    ["put_file", { ...file, content: "1\n" }],
    ["create_pull_request", { ...hello, title: "Again", head: "next", base: "main", body: "Why", draft: true }],
    ["review_pull_request", { ...number, event: "request_changes", body: "Please" }],
    ["get_pull_request", number],
    ["merge_pull_request", { ...number, method: "squash", title: "All" }],
    ["get_pull_request", number],
  ];
  for (const [tool, args] of calls) await call(client, tool, args);
  const { sha } = await call(client, "read_file", { ...hello, path: "new.txt" });
  await call(client, "put_file", { ...file, content: "2\n", sha });
  await client.readResource("github://ada/hello/releases");
  const template = { type: "ref/resource" as const, uri: "github://{owner}/{repo}/file/{ref}/{+path}" };
  await client.complete(template, { name: "owner", value: "" });
  await client.complete(template, { name: "path", value: "" }, { known: { owner: "ada", repo: "hello", ref: "main" } });
  await fetch(`${fake.origin}/user`, { headers: { authorization: `Bearer ${seeded.token}` } });
  expect(repository.issues[1]?.pull?.merged).not.toBeNull();

  const description = new GithubDescription();
  const problems = fake.exchanges.flatMap((exchange) => description.problemsOf(exchange));
  expect([...new Set(problems)].slice(0, 40)).toEqual([]);
  const used = new Set(fake.exchanges.map(({ method, described }) => `${method} ${described}`));
  expect(operations.map(({ method, described }) => `${method} ${described}`).filter((name) => !used.has(name))).toEqual(
    [],
  );
});

test("a judge by GitHub's description refuses what GitHub would not send", async () => {
  const description = new GithubDescription();
  const exchange = {
    method: "GET",
    described: "/repos/{owner}/{repo}/issues/{issue_number}",
    media: "",
    requestBody: undefined,
  };
  expect(description.problemsOf({ ...exchange, status: 200, responseBody: { number: "1" } }).join("\n")).toContain(
    "must have required property",
  );
  expect(description.problemsOf({ ...exchange, status: 207, responseBody: {} })).toHaveLength(1);
});

test("the sign-in of the fake needs the application's secret and the proof of the code, and gives a code once", async () => {
  const fake = await startFakeGithub();
  fake.browserUser = "ada";
  const query = new URLSearchParams({
    client_id: fake.clientId,
    redirect_uri: "http://127.0.0.1:9/callback",
    state: "s",
    scope: "repo",
    code_challenge: "x",
  });
  const { headers } = await fetch(`${fake.origin}/login/oauth/authorize?${query}`, { redirect: "manual" });
  const back = new URL(headers.get("location") ?? "");
  expect(back.searchParams.get("state")).toBe("s");
  const redeem = async (client_secret: string) => {
    const body = new URLSearchParams({
      client_id: fake.clientId,
      client_secret,
      code: back.searchParams.get("code") ?? "",
      code_verifier: "y",
    });
    const response = await fetch(`${fake.origin}/login/oauth/access_token`, { method: "POST", body });
    return [response.status, ((await response.json()) as { error?: string }).error];
  };
  expect(await redeem("wrong")).toEqual([200, "incorrect_client_credentials"]);
  expect(await redeem(fake.clientSecret)).toEqual([200, "bad_verification_code"]);
});
