import type { TestClient } from "portolan/testing";
import { describe, expect, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { call, expectDescribed, failureOf } from "../kit/tools.ts";
import { type Data, hello, open, startSeeded } from "./kit.ts";

async function read(client: TestClient, uri: string): Promise<Data> {
  const [content] = (await client.readResource(uri)).contents as Data[];
  return content;
}

/** A call of each reading tool, and a part of its result. */
const readings: readonly [string, object, object][] = [
  ["search_code", { query: "answer" }, { items: [{ repository: "ada/hello", path: "src/index.ts" }] }],
  [
    "search_issues",
    { query: "Wrong is:issue" },
    { items: [{ number: 1, title: "Wrong answer", isPullRequest: false }] },
  ],
  ["search_repositories", { query: "hello" }, { items: [{ repository: "ada/hello", defaultBranch: "main" }] }],
  ["get_repository", hello, { repository: "ada/hello", isPrivate: false, openIssues: 2 }],
  ["list_branches", hello, { items: [{ name: "main" }, { name: "fix/answer" }] }],
  [
    "list_files",
    hello,
    {
      entries: [
        { path: "README.md", type: "file" },
        { path: "src", type: "dir" },
      ],
    },
  ],
  ["list_files", { ...hello, path: "src", ref: "fix/answer" }, { entries: [{ path: "src/index.ts", size: 26 }] }],
  ["read_file", { ...hello, path: "src/index.ts" }, { text: "export const answer = 41;\n", lines: 2 }],
  ["read_file", { ...hello, path: "src/index.ts", ref: "fix/answer" }, { text: "export const answer = 42;\n" }],
  ["list_commits", hello, { items: [{ message: "Begin", author: "ada" }] }],
  ["list_commits", { ...hello, ref: "fix/answer", path: "src" }, { items: [{ message: "Correct the answer" }, {}] }],
  ["get_commit", { ...hello, ref: "fix/answer" }, { files: [{ path: "src/index.ts", status: "modified" }] }],
  ["compare", { ...hello, base: "main", head: "fix/answer" }, { status: "ahead", ahead: 1, behind: 0 }],
  ["list_issues", { ...hello, labels: ["bug"], assignee: "ada" }, { items: [{ number: 1, labels: ["bug"] }] }],
  [
    "get_issue",
    { ...hello, number: 1 },
    { issue: { author: "bob" }, body: "It says 41", comments: [{ body: "I see" }] },
  ],
  ["list_pull_requests", { ...hello, base: "main" }, { items: [{ number: 2, head: "ada:fix/answer", state: "open" }] }],
  [
    "get_pull_request",
    { ...hello, number: 2 },
    {
      mergeable: "yes",
      files: [{ path: "src/index.ts" }],
      diff: expect.stringContaining("+export const answer = 42;"),
    },
  ],
];

describe.each(revisions)("on %s", (revision) => {
  test("each reading tool returns what GitHub has, and changes nothing", async () => {
    const seeded = await startSeeded();
    const client = await open(seeded, {}, { revision });
    // Revisions before 2025-06-18 have no structured content, only the text.
    const hasData = revision >= "2025-06-18";
    for (const [tool, args, part] of readings) {
      const { isError, content, structuredContent }: Data = await client.callTool(tool, args as never);
      expect(isError, JSON.stringify(content)).toBeFalsy();
      expect(content[0].text, tool).toMatch(/\w{3}/);
      if (hasData) expect(structuredContent, tool).toMatchObject(part);
    }
    expect(Object.keys(seeded.fake.counts)).toEqual(["GET"]);
  });

  test("reads files, commits, issues, pull requests and releases as resources", async () => {
    const seeded = await startSeeded();
    const client = await open(seeded, {}, { revision });
    seeded.repository.commit("main", seeded.fake.account("ada"), "Add a picture", {
      "a b/ü.bin": Buffer.from([0, 255, 1]),
    });
    expect(await read(client, "github://ada/hello/file/fix%2Fanswer/src/index.ts")).toMatchObject({
      mimeType: "text/plain",
      text: "export const answer = 42;\n",
    });
    expect((await read(client, "github://ada/hello/file/HEAD/a%20b/%C3%BC.bin")).blob).toBe("AP8B");
    expect((await read(client, "github://ada/hello/commit/fix%2Fanswer")).text).toContain("-export const answer = 41;");
    expect(JSON.parse((await read(client, "github://ada/hello/issue/1")).text)).toMatchObject({
      comments: [{ body: "I see" }],
    });
    expect(JSON.parse((await read(client, "github://ada/hello/pull/2")).text)).toMatchObject({ body: "Closes #1" });
    expect((await read(client, "github://ada/hello/pull/2/diff")).text).toContain("diff --git a/src/index.ts");
    expect(JSON.parse((await read(client, "github://ada/hello/releases")).text)).toMatchObject([{ tag: "v1.0.0" }]);
    await expect(client.readResource("github://ada/hello/issue/99")).rejects.toThrow(/not found/i);
    expect(Object.keys(seeded.fake.counts)).toEqual(["GET"]);
  });
});

test("every tool and argument is described", async () => {
  await expectDescribed(await open(await startSeeded()));
});

test("lists in pages: a cursor continues, and one of another list is refused", async () => {
  const seeded = await startSeeded();
  const bob = seeded.fake.account("bob");
  for (let number = 3; number <= 25; number += 1) seeded.repository.openIssue(bob, { title: `Issue ${number}` });
  const client = await open(seeded);
  const numbers: number[] = [];
  let page: Data = await call(client, "list_issues", { ...hello, limit: 10 });
  const { cursor } = page;
  for (let pages = 0; pages < 5; pages += 1) {
    numbers.push(...page.items.map((issue: Data) => issue.number));
    if (page.cursor === undefined) break;
    page = await call(client, "list_issues", { ...hello, limit: 10, cursor: page.cursor });
  }
  expect(numbers).toEqual(Array.from({ length: 25 }, (_, index) => 25 - index));
  const refusal = "cursor: expected one that the same tool returned for the same arguments";
  expect(await failureOf(client, "list_issues", { ...hello, limit: 10, state: "all", cursor })).toBe(refusal);
  expect(await failureOf(client, "list_issues", { ...hello, cursor: "page2" })).toBe(refusal);
});

test("long files come in parts, with a link to the whole", async () => {
  const seeded = await startSeeded();
  const lines = Array.from({ length: 50 }, (_, index) => `line ${index + 1} ${"x".repeat(90)}`);
  seeded.repository.commit("main", seeded.fake.account("ada"), "Long", {
    "long.txt": lines.join("\n"),
    "one.txt": "y".repeat(2_000),
  });
  const client = await open(seeded, { limits: { maxChars: 1_000 } });
  const read: string[] = [];
  for (let from = 1; from !== undefined; ) {
    const part = await call(client, "read_file", { ...hello, path: "long.txt", from });
    read.push(part.text);
    from = part.next;
  }
  expect(read.length).toBeGreaterThan(4);
  expect(read.join("\n")).toBe(lines.join("\n"));
  const result: Data = await client.callTool("read_file" as never, { ...hello, path: "one.txt" } as never);
  expect(result.content[0].text).toContain(
    "[1000 more characters: read the resource github://ada/hello/file/HEAD/one.txt]",
  );
  expect(result.content[1]).toMatchObject({ type: "resource_link", uri: "github://ada/hello/file/HEAD/one.txt" });
  expect(((await client.readResource("github://ada/hello/file/HEAD/one.txt")) as Data).contents[0].text).toHaveLength(
    2_000,
  );
});

test("reads a file that GitHub sends only as it is", async () => {
  const seeded = await startSeeded();
  const text = "z".repeat(1024 * 1024 + 1);
  seeded.repository.commit("main", seeded.fake.account("ada"), "Large", { "large.txt": text });
  const client = await open(seeded);
  const { contents }: Data = await client.readResource("github://ada/hello/file/main/large.txt");
  expect(contents[0].text).toBe(text);
});

test("follows a renamed repository", async () => {
  const seeded = await startSeeded();
  seeded.fake.renamed("ada/old", seeded.repository);
  const client = await open(seeded);
  expect(await call(client, "get_repository", { owner: "ada", repo: "old" })).toMatchObject({
    repository: "ada/hello",
  });
});

test("completes owners, repositories, branches, paths and numbers", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded);
  const complete = async (uri: string, name: string, value: string, known: { [name: string]: string } = {}) => {
    const { values } = await client.complete({ type: "ref/resource", uri }, { name, value }, { known });
    return values;
  };
  const file = "github://{owner}/{repo}/file/{ref}/{+path}";
  const known = { owner: "ada", repo: "hello" };
  expect(await complete(file, "owner", "a")).toEqual(["ada"]);
  expect(await complete(file, "repo", "he", { owner: "ada" })).toEqual(["hello"]);
  expect(await complete(file, "repo", "", { owner: "nobody" })).toEqual([]);
  expect(await complete(file, "ref", "f", known)).toEqual(["fix/answer"]);
  expect(await complete(file, "path", "src/", { ...known, ref: "main" })).toEqual(["src/index.ts"]);
  expect(await complete("github://{owner}/{repo}/pull/{number}", "number", "", known)).toEqual(["2"]);
});

test("a subscription reports a change, and asks with ETags meanwhile", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded);
  const watch = await client.watch({ uris: ["github://ada/hello/issue/1"] });
  await expect
    .poll(() => seeded.fake.requests.filter(({ headers }) => headers["if-none-match"]).length)
    .toBeGreaterThan(1);
  const issue = seeded.repository.issues[0];
  if (issue) seeded.repository.comment(issue, seeded.fake.account("bob"), "Any news?");
  for await (const change of watch) {
    expect(change).toEqual({ kind: "resource", uri: "github://ada/hello/issue/1" });
    break;
  }
});

test("the prompts put texts and changes into the conversation", async () => {
  const client = await open(await startSeeded());
  const review: Data = await client.getPrompt("review_pull_request", { ...hello, number: "2", focus: "security" });
  expect(review.messages[0].content.text).toContain("Look above all at: security");
  expect(review.messages[1].content.text).toContain("+export const answer = 42;");
  const work: Data = await client.getPrompt("work_on_issue", { ...hello, number: "1" });
  expect(work.messages[1].content.text).toContain("It says 41\n\nada: I see");
});

test.each([
  ["read_file", { ...hello, path: "src" }, "src is a folder; list_files lists it"],
  ["read_file", { ...hello, path: "../../user" }, 'Expected a name, got ".."'],
  ["read_file", { ...hello, path: "README.md", from: 9 }, "from: the file has 2 lines"],
  ["list_files", { ...hello, path: "README.md" }, "README.md is a file; read_file reads it"],
  ["get_issue", { ...hello, number: 99 }, "GitHub has nothing there, or does not show it to this account: Not Found"],
  ["get_repository", { owner: "ada", repo: ".." }, 'Expected a name, got ".."'],
  ["get_commit", { ...hello, ref: "nowhere" }, "GitHub refused the request: No commit found for SHA: nowhere"],
])("%s explains what is wrong with %j", async (tool, args, reason) => {
  expect(await failureOf(await open(await startSeeded()), tool, args)).toContain(reason);
});

test("a pull request is shown without a part that could not be read, with the reason", async () => {
  const seeded = await startSeeded();
  seeded.fake.fail({ status: 502 }, 100, ({ path }) => path.endsWith("/reviews"));
  const client = await open(seeded);
  const details = await call(client, "get_pull_request", { ...hello, number: 2 });
  expect(details).toMatchObject({ pull: { number: 2 }, reviews: [], files: [{ path: "src/index.ts" }] });
  expect(details.note).toContain("The reviews could not be read: GitHub did not answer properly");
});
