import { scriptedAnswers, type TestClient } from "portolan/testing";
import { describe, expect, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { call, expectDescribed, failureOf } from "../kit/tools.ts";
import { type Data, open, type Seeded, startSeeded } from "./kit.ts";

const yes = { action: "accept", content: {} } as never;
const no = { action: "decline" } as never;

/** A call of each reading tool, and a part of its result. */
const readings = ({ fake, launch, task }: Seeded): readonly [string, object, object][] => [
  ["list_workspaces", {}, { items: [{ name: "Acme" }] }],
  ["list_users", { workspace: fake.workspace.gid }, { items: [{ name: "ada" }, { name: "bob" }] }],
  ["list_projects", { workspace: fake.workspace.gid }, { items: [{ gid: launch.gid, name: "Launch", owner: "ada" }] }],
  [
    "get_project",
    { project: launch.gid },
    { notes: "Everything for the launch", sections: [{ name: "To do" }, { name: "Done" }] },
  ],
  ["list_tasks", { project: launch.gid }, { items: [{ gid: task.gid, assignee: "ada", due: "2026-12-01" }] }],
  ["list_tasks", { section: launch.sections[1]?.gid }, { items: [] }],
  ["search_tasks", { workspace: fake.workspace.gid, text: "announce" }, { items: [{ gid: task.gid }] }],
  ["search_tasks", { workspace: fake.workspace.gid, assignee: "me", completed: true }, { items: [] }],
  [
    "get_task",
    { task: task.gid },
    {
      task: { name: "Write the announcement", places: [`Launch / To do (${launch.sections[0]?.gid})`] },
      stories: [{ isComment: false }, { isComment: true, author: "bob", text: "I can help" }],
    },
  ],
];

/** A call of each tool that changes something, and the request by which it does. */
const changes = ({ fake, launch, task }: Seeded): readonly [string, object, string][] => [
  ["create_project", { workspace: fake.workspace.gid, name: "Next", notes: "Later" }, "POST /projects"],
  ["create_task", { project: launch.gid, name: "Rehearse", assignee: "me", due: "2026-12-02" }, "POST /tasks"],
  ["update_task", { task: task.gid, completed: true }, `PUT /tasks/${task.gid}`],
  ["add_comment", { task: task.gid, text: "Ready" }, `POST /tasks/${task.gid}/stories`],
  [
    "move_task",
    { task: task.gid, section: launch.sections[1]?.gid },
    `POST /sections/${launch.sections[1]?.gid}/addTask`,
  ],
  ["attach_file", { task: task.gid, name: "résumé.md", content: "# Notes" }, "POST /attachments"],
];

/** The requests of the fake that changed something. */
function changed({ fake }: Pick<Seeded, "fake">): string[] {
  return fake.requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);
}

async function read(client: TestClient, uri: string): Promise<Data> {
  return JSON.parse(((await client.readResource(uri)).contents[0] as Data).text);
}

test("every tool and argument is described, and its annotations tell what it may do", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded);
  await expectDescribed(client);
  const writing = new Set(changes(seeded).map(([tool]) => tool));
  for (const { name, annotations } of await client.listTools()) {
    expect(annotations?.readOnlyHint, name).toBe(!writing.has(name));
  }
});

describe.each(revisions)("on %s", (revision) => {
  test("reads workspaces, projects, tasks and stories, and changes nothing", async () => {
    const seeded = await startSeeded();
    const { launch, task, fake } = seeded;
    const client = await open(seeded, {}, { revision });
    // Revisions before 2025-06-18 have no structured content, only the text.
    const hasData = revision >= "2025-06-18";
    for (const [tool, args, part] of readings(seeded)) {
      const { isError, content, structuredContent }: Data = await client.callTool(tool, args as never);
      expect(isError, JSON.stringify(content)).toBeFalsy();
      expect(content[0].text, tool).toMatch(/\w{3}/);
      if (hasData) expect(structuredContent, tool).toMatchObject(part);
    }
    expect(await read(client, "asana://workspaces")).toMatchObject([{ name: "Acme" }]);
    expect(await read(client, `asana://workspace/${fake.workspace.gid}/projects`)).toMatchObject([{ name: "Launch" }]);
    expect(await read(client, `asana://project/${launch.gid}`)).toMatchObject({ notes: "Everything for the launch" });
    expect(await read(client, `asana://project/${launch.gid}/sections`)).toMatchObject([{ name: "To do" }, {}]);
    expect(await read(client, `asana://project/${launch.gid}/tasks`)).toMatchObject([{ gid: task.gid }]);
    expect(await read(client, `asana://task/${task.gid}`)).toMatchObject({ notes: "Two pages" });
    expect(await read(client, `asana://task/${task.gid}/stories`)).toMatchObject([{}, { text: "I can help" }]);
    await expect(client.readResource("asana://task/404")).rejects.toThrow(/not found/i);
    expect(Object.keys(fake.counts)).toEqual(["GET"]);
  });
});

describe.each(revisions.filter((revision) => revision >= "2025-06-18"))("on %s", (revision) => {
  test("changes Asana once after a yes, and not after a no", async () => {
    const seeded = await startSeeded();
    for (const [tool, args, request] of changes(seeded)) {
      const client = await open(seeded, {}, { revision, answers: scriptedAnswers(no, yes) });
      const before = changed(seeded).length;
      expect(await failureOf(client, tool, args)).toBe("The user declined: nothing was changed.");
      expect(changed(seeded)).toHaveLength(before);
      await call(client, tool, args);
      expect(changed(seeded).slice(before)).toEqual([request]);
    }
    expect(seeded.task).toMatchObject({ completed: true, memberships: [{ section: { name: "Done" } }] });
    expect(seeded.fake.attached).toEqual([
      { name: "résumé.md", bytes: Buffer.from("# Notes"), parent: seeded.task.gid },
    ]);
  });
});

test("changes nothing for a client that cannot ask, unless the operator allows it", async () => {
  const seeded = await startSeeded();
  for (const [tool, args] of changes(seeded)) {
    expect(await failureOf(await open(seeded), tool, args)).toContain("start the server with --yes");
  }
  expect(changed(seeded)).toEqual([]);
  for (const [tool, args] of changes(seeded)) await call(await open(seeded, { ask: false }), tool, args);
  expect(changed(seeded)).toHaveLength(6);
});

test("a server that only reads has no tool that changes anything, and sends only GET", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded, { readOnly: true, ask: false });
  for (const [tool, args] of readings(seeded)) await call(client, tool, args);
  for (const [tool, args] of changes(seeded)) await expect(client.callTool(tool, args as never)).rejects.toThrow(tool);
  expect(Object.keys(seeded.fake.counts)).toEqual(["GET"]);
});

test("the user sees each change as it will be made, with hidden characters made visible", async () => {
  const seeded = await startSeeded();
  const answers = scriptedAnswers(...Array(6).fill(no));
  const client = await open(seeded, {}, { answers });
  for (const [tool, args] of changes(seeded)) {
    await failureOf(client, tool, tool === "add_comment" ? { ...args, text: "Hi\u202E all" } : args);
  }
  const section = seeded.launch.sections[1]?.gid;
  expect(answers.asked.map(({ params }: Data) => params.message)).toEqual([
    `Create the project "Next" in the workspace ${seeded.fake.workspace.gid}?\n\nLater`,
    'Create this task in Launch?\n\nname: "Rehearse"\nassignee: "me"\ndue: "2026-12-02"',
    'Change the task "Write the announcement"?\n\ncompleted: true',
    'Comment on the task "Write the announcement"?\n\nHi\\u{202e} all',
    `Move the task "Write the announcement" to the section ${section}?`,
    'Attach résumé.md (7 bytes) to the task "Write the announcement"?\n\n# Notes',
  ]);
});

test("creates a task in a section, and refuses a change of nothing", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded, { ask: false });
  const section = seeded.launch.sections[1]?.gid;
  const created = await call(client, "create_task", { project: seeded.launch.gid, section, name: "Celebrate" });
  expect(created).toMatchObject({ places: [`Launch / Done (${section})`] });
  expect(await failureOf(client, "update_task", { task: created.gid })).toBe("Expected something to change");
  expect(await failureOf(client, "list_tasks", {})).toBe("Expected either project or section");
});

test("lists in pages: a cursor continues, and one of another list is refused", async () => {
  const seeded = await startSeeded();
  for (let number = 0; number < 12; number += 1) seeded.fake.task(seeded.launch, "ada", { name: `Task ${number}` });
  const client = await open(seeded);
  const list = { project: seeded.launch.gid, limit: 5 };
  const names: string[] = [];
  let page: Data = await call(client, "list_tasks", list);
  const { cursor } = page;
  for (let pages = 0; pages < 5; pages += 1) {
    names.push(...page.items.map(({ name }: Data) => name));
    if (page.cursor === undefined) break;
    page = await call(client, "list_tasks", { ...list, cursor: page.cursor });
  }
  expect([names.length, new Set(names).size]).toEqual([13, 13]);
  expect(await failureOf(client, "list_workspaces", { limit: 5, cursor })).toContain("cursor: expected one");
});

test("leaves out tasks that are done, if only open ones are wanted", async () => {
  const seeded = await startSeeded();
  seeded.task["completed"] = true;
  const { items } = await call(await open(seeded), "list_tasks", { project: seeded.launch.gid, open: true });
  expect(items).toEqual([]);
});

test("finds tasks by their names where the plan has no search, and says so", async () => {
  const seeded = await startSeeded();
  seeded.fake.hasSearch = false;
  const client = await open(seeded);
  const { items, note } = await call(client, "search_tasks", {
    workspace: seeded.fake.workspace.gid,
    text: "announce",
  });
  expect(items).toMatchObject([{ name: "Write the announcement", assignee: "ada" }]);
  expect(note).toContain("Search is only available to premium users");
  const failure = await failureOf(client, "search_tasks", { workspace: seeded.fake.workspace.gid });
  expect(failure).toContain("Asana does not allow this to this account");
});

test("a project without its sections, and a task without its comments, are returned with a note", async () => {
  const seeded = await startSeeded();
  const token = seeded.fake.token("ada", ["projects:read", "tasks:read"]);
  const client = await open({ ...seeded, token });
  const project = await call(client, "get_project", { project: seeded.launch.gid });
  expect(project).toMatchObject({ sections: [], note: expect.stringContaining("The sections are missing") });
  const task = await call(client, "get_task", { task: seeded.task.gid });
  expect(task).toMatchObject({ stories: [], note: expect.stringContaining("lacks the permission stories:read") });
});

test("completes a project by its name, and reports a changed task to subscribers", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded);
  const reference = { type: "ref/resource" as const, uri: "asana://project/{project}" };
  const { values } = await client.complete(reference, { name: "project", value: "lau" });
  expect(values).toEqual([seeded.launch.gid]);
  const uri = `asana://task/${seeded.task.gid}`;
  const watch = await client.watch({ uris: [uri] });
  seeded.fake.story(seeded.task, "bob", "News");
  for await (const change of watch) {
    expect(change).toEqual({ kind: "resource", uri });
    break;
  }
});

test("what others do not share is neither listed nor found nor read", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded);
  const found = await call(client, "search_tasks", { workspace: seeded.fake.workspace.gid, text: "launch" });
  expect(JSON.stringify(found)).not.toContain("Cancel");
  expect(JSON.stringify(await call(client, "list_projects", { workspace: seeded.fake.workspace.gid }))).not.toContain(
    "Secret",
  );
});
