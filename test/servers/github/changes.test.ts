import { scriptedAnswers } from "portolan/testing";
import { describe, expect, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { call, failureOf } from "../kit/tools.ts";
import { type Data, hello, no, open, startSeeded, yes } from "./kit.ts";

/** A call of each tool that changes something, with the methods that it sends when the user agrees. */
const changes: readonly [string, object, object, string][] = [
  ["create_issue", { ...hello, title: "New", body: "Text", labels: ["bug"] }, { number: 3, labels: ["bug"] }, "POST"],
  [
    "update_issue",
    { ...hello, number: 1, state: "closed", reason: "not_planned" },
    { number: 1, state: "closed" },
    "PATCH",
  ],
  ["add_comment", { ...hello, number: 1, body: "Done" }, { author: "ada", body: "Done" }, "POST"],
  ["create_branch", { ...hello, branch: "next" }, { branch: "next" }, "POST"],
  ["put_file", { ...hello, path: "new.txt", branch: "main", message: "Add", content: "1\n" }, { isNew: true }, "PUT"],
  [
    "create_pull_request",
    { ...hello, title: "Again", head: "fix/answer", base: "main" },
    { number: 3, state: "open" },
    "POST",
  ],
  ["review_pull_request", { ...hello, number: 2, event: "approve" }, { author: "ada", state: "approved" }, "POST"],
  ["merge_pull_request", { ...hello, number: 2 }, { message: "Pull Request successfully merged" }, "PUT"],
];

function written(counts: { readonly [method: string]: number }): { [method: string]: number } {
  const { GET: _reads, ...rest } = counts;
  return rest;
}

test("the annotations tell what each tool may do", async () => {
  const client = await open(await startSeeded());
  const writing = changes.map(([name]) => name);
  for (const { name, annotations } of await client.listTools()) {
    expect(annotations?.readOnlyHint, name).toBe(!writing.includes(name));
    expect(annotations?.openWorldHint, name).toBe(true);
  }
});

describe.each(revisions.filter((revision) => revision >= "2025-06-18"))("on %s", (revision) => {
  test.each(changes)("%s changes GitHub once after a yes, and not after a no", async (tool, args, part, method) => {
    const seeded = await startSeeded();
    const answers = scriptedAnswers(no, yes);
    const client = await open(seeded, {}, { revision, answers });
    expect(await failureOf(client, tool, args)).toBe("The user declined: nothing was changed.");
    expect(written(seeded.fake.counts)).toEqual({});
    expect(await call(client, tool, args)).toMatchObject(part);
    expect(written(seeded.fake.counts)).toEqual({ [method]: 1 });
    expect(answers.asked).toHaveLength(2);
  });
});

test.each(changes)(
  "%s changes nothing for a client that cannot ask, unless the operator allows it",
  async (tool, args, part) => {
    const seeded = await startSeeded();
    expect(await failureOf(await open(seeded), tool, args)).toContain("start the server with --yes");
    expect(written(seeded.fake.counts)).toEqual({});
    expect(await call(await open(seeded, { ask: false }), tool, args)).toMatchObject(part);
  },
);

test("a server that only reads has no tool that changes anything, and sends no change", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded, { readOnly: true, ask: false });
  const tools = await client.listTools();
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
  for (const { name, inputSchema } of tools) {
    const samples: Data = {
      ...hello,
      query: "answer",
      path: "README.md",
      ref: "main",
      base: "main",
      head: "main",
      number: 2,
    };
    const known = Object.keys(inputSchema.properties ?? {}).filter((key) => key in samples);
    await client.callTool(name, Object.fromEntries(known.map((key) => [key, samples[key]])) as never);
  }
  for (const [name, args] of changes) await expect(client.callTool(name, args as never)).rejects.toThrow(name);
  expect(Object.keys(seeded.fake.counts)).toEqual(["GET"]);
});

test("the user sees the whole change, with hidden characters made visible", async () => {
  const seeded = await startSeeded();
  const answers = scriptedAnswers(no, no, no);
  const client = await open(seeded, {}, { answers });
  const { sha } = await call(client, "read_file", { ...hello, path: "src/index.ts" });
  const file = { ...hello, path: "src/index.ts", branch: "main", message: "Fix\u202E it", sha };
  await failureOf(client, "put_file", { ...file, content: "export const answer = 42;\n" });
  await failureOf(client, "create_issue", { ...hello, title: "A", body: 'title: "B"' });
  await failureOf(client, "merge_pull_request", { ...hello, number: 2, method: "squash" });
  const [put, issue, merge] = answers.asked.map(({ params }: Data) => params.message);
  expect(put).toContain("Commit this to main of ada/hello?\n\nFix\\u{202e} it\n\n--- src/index.ts");
  expect(put).toContain("-export const answer = 41;\n+export const answer = 42;");
  expect(issue).toBe('Open this issue in ada/hello?\n\ntitle: "A"\n\ntitle: "B"');
  expect(merge).toContain("Merge (squash) #2 of ada/hello: Correct the answer?");
});

test("does not ask about a change that is too long to be read", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded, {}, { answers: scriptedAnswers() });
  const failure = await failureOf(client, "add_comment", { ...hello, number: 1, body: "x".repeat(9_000) });
  expect(failure).toContain("too long for the user to review, so nothing was changed");
  expect(written(seeded.fake.counts)).toEqual({});
});

test("replaces a file only if it is still what was read", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded, { ask: false });
  const file = { ...hello, path: "README.md", branch: "main", message: "Edit", content: "# Hi\n" };
  expect(await failureOf(client, "put_file", file)).toContain("README.md exists and has the sha");
  const { sha } = await call(client, "read_file", { ...hello, path: "README.md" });
  seeded.repository.commit("main", seeded.fake.account("bob"), "Meanwhile", { "README.md": "# Hey\n" });
  expect(await failureOf(client, "put_file", { ...file, sha })).toContain("Nothing was changed");
  const now = await call(client, "read_file", { ...hello, path: "README.md" });
  expect(await call(client, "put_file", { ...file, sha: now.sha })).toMatchObject({ isNew: false });
  expect(seeded.repository.need("main").files.get("README.md")?.toString()).toBe("# Hi\n");
});

test("merges only the commit that the user has agreed to", async () => {
  const seeded = await startSeeded();
  const ada = seeded.fake.account("ada");
  let isPushed = false;
  const elicit = () => {
    // Somebody pushes while the user reads the question.
    if (!isPushed) seeded.repository.commit("fix/answer", ada, "More", { "more.txt": "more" });
    isPushed = true;
    return { action: "accept" as const, content: {} };
  };
  const client = await open(seeded, {}, { answers: { elicit }, revision: "2025-11-25" });
  const failure = await failureOf(client, "merge_pull_request", { ...hello, number: 2 });
  expect(failure).toContain("GitHub reports a conflict: Head branch was modified");
  expect(seeded.repository.issues[1]?.state).toBe("open");
});

test("says what to do about a pull request with conflicts, before it asks", async () => {
  const seeded = await startSeeded();
  seeded.repository.commit("main", seeded.fake.account("bob"), "Other", {
    "src/index.ts": "export const answer = 40;\n",
  });
  const client = await open(seeded, {}, { answers: scriptedAnswers() });
  expect(await call(client, "get_pull_request", { ...hello, number: 2 })).toMatchObject({ mergeable: "conflicts" });
  const failure = await failureOf(client, "merge_pull_request", { ...hello, number: 2 });
  expect(failure).toContain("#2 has conflicts with main; nothing was merged. Resolve them in a clone");
});

test.each([
  [
    "create_pull_request",
    { ...hello, title: "X", head: "main", base: "main" },
    "Validation Failed; No commits between main and main",
  ],
  ["create_pull_request", { ...hello, title: "X", head: "gone", base: "main" }, "Validation Failed; head: invalid"],
  ["create_branch", { ...hello, branch: "main" }, "Reference already exists"],
  ["review_pull_request", { ...hello, number: 2, event: "comment" }, "body: expected a text with comment"],
])("%s explains why GitHub refuses %j", async (tool, args, reason) => {
  expect(await failureOf(await open(await startSeeded(), { ask: false }), tool, args)).toContain(reason);
});
