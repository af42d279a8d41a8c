// The fake of Asana, proved by Asana's own client, whose comments also have the scope that each operation needs.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Data, startSeeded } from "../../servers/asana/kit.ts";
import { startFakeAsana } from "./fake.ts";

const vendors = createRequire(join(import.meta.dirname, "../vendors/package.json"));
const vendor: Data = vendors("asana");

function clientOf(api: string, token: string): (name: string) => Data {
  const client = new vendor.ApiClient();
  client.basePath = api;
  client.authentications.token.accessToken = token;
  return (name) => new vendor[name](client);
}

test("Asana's own client reads the fake, with the fields that it asks for", async () => {
  const { fake, token, launch, task } = await startSeeded();
  const api = clientOf(fake.api, token);
  expect((await api("UsersApi").getUser("me", {})).data).toMatchObject({ name: "ada" });
  expect((await api("WorkspacesApi").getWorkspaces({})).data).toMatchObject([{ name: "Acme" }]);
  const projects = await api("ProjectsApi").getProjectsForWorkspace(fake.workspace.gid, { archived: false });
  expect(projects.data).toEqual([{ gid: launch.gid, resource_type: "project", name: "Launch" }]);
  expect((await api("ProjectsApi").getProject(launch.gid, { opt_fields: "notes,owner.name" })).data).toEqual({
    ...{ gid: launch.gid, resource_type: "project", notes: "Everything for the launch" },
    owner: { gid: fake.user("ada").gid, resource_type: "user", name: "ada" },
  });
  const sections = await api("SectionsApi").getSectionsForProject(launch.gid, {});
  expect(sections.data).toMatchObject([{ name: "To do" }, { name: "Done" }]);
  const opts = { opt_fields: "name,memberships.section.name" };
  const tasks = await api("TasksApi").getTasksForProject(launch.gid, opts);
  expect(tasks.data).toMatchObject([{ gid: task.gid, memberships: [{ section: { name: "To do" } }] }]);
  expect((await api("TasksApi").getTasksForSection(launch.sections[1]?.gid, {})).data).toEqual([]);
  const stories = await api("StoriesApi").getStoriesForTask(task.gid, { opt_fields: "type,text" });
  expect(stories.data).toMatchObject([{ type: "system" }, { type: "comment", text: "I can help" }]);
  const search = { text: "announce", "assignee.any": "me", completed: false };
  expect((await api("TasksApi").searchTasksForWorkspace(fake.workspace.gid, search)).data).toHaveLength(1);
  const found = await api("TypeaheadApi").typeaheadForWorkspace(fake.workspace.gid, "project", { query: "lau" });
  expect(found.data).toMatchObject([{ name: "Launch" }]);
});

test("Asana's own client changes the fake", async () => {
  const { fake, token, launch } = await startSeeded();
  const api = clientOf(fake.api, token);
  const made = await api("ProjectsApi").createProject({ data: { name: "Next", workspace: fake.workspace.gid } }, {});
  expect(made.data).toMatchObject({ name: "Next" });
  const data = { name: "Rehearse", projects: [launch.gid], assignee: "me" };
  const { gid } = (await api("TasksApi").createTask({ data }, {})).data;
  const opts = { opt_fields: "completed,assignee.name" };
  const updated = await api("TasksApi").updateTask({ data: { completed: true } }, gid, opts);
  expect(updated.data).toMatchObject({ completed: true, assignee: { name: "ada" } });
  await api("StoriesApi").createStoryForTask({ data: { text: "Done" } }, gid, {});
  await api("SectionsApi").addTaskForSection(launch.sections[1]?.gid, { body: { data: { task: gid } } });
  expect((await api("TasksApi").getTasksForSection(launch.sections[1]?.gid, {})).data).toMatchObject([{ gid }]);
});

test("Asana's own client walks through all pages of the fake", async () => {
  const { fake, token, launch } = await startSeeded();
  for (let number = 0; number < 6; number += 1) fake.task(launch, "ada", { name: `Task ${number}` });
  const names: string[] = [];
  let page = await clientOf(fake.api, token)("TasksApi").getTasksForProject(launch.gid, { limit: 3 });
  for (let pages = 0; pages < 5 && page.data; pages += 1) {
    names.push(...page.data.map(({ name }: Data) => name));
    page = await page.nextPage();
  }
  expect(names).toHaveLength(7);
});

test("Asana's own client understands the errors of the fake", async () => {
  const { fake, task } = await startSeeded();
  const failing = (promise: Promise<unknown>) =>
    promise.catch(({ status, response }: Data) => [status, response.body.errors[0].message]);
  const wrong = clientOf(fake.api, "wrong")("UsersApi").getUser("me", {});
  expect(await failing(wrong)).toEqual([401, "Not Authorized"]);
  const poor = clientOf(fake.api, fake.token("ada", ["users:read"]));
  expect(await failing(poor("TasksApi").getTask(task.gid, {}))).toEqual([403, expect.stringContaining("tasks:read")]);
  const full = clientOf(fake.api, fake.token("ada"));
  expect(await failing(full("TasksApi").getTask("404", {}))).toEqual([404, "task: Unknown object: 404"]);
});

test("each operation of the fake needs the scope that Asana's own client documents", async () => {
  const folder = vendors.resolve("asana/package.json").replace(/package\.json$/, "src/api");
  const text = readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("\n");
  // Each method begins with its comment, and names its path and its HTTP method further down.
  const documented = new Map<string, string>();
  for (const part of text.split("    /**\n").slice(1)) {
    const scope = /Required scope: &lt;\/b&gt;&lt;code&gt;([\w.:]+)/.exec(part)?.[1] ?? "";
    const [, path, method] = /'(\/[\w{}/]+)', '(GET|POST|PUT|DELETE)'/.exec(part) ?? [];
    if (path !== undefined) documented.set(`${method} ${path}`, scope);
  }
  expect(documented.size).toBeGreaterThan(100);
  for (const { method, path, scope } of (await startFakeAsana()).operations) {
    expect([path, documented.get(`${method} ${path}`)]).toEqual([path, scope]);
  }
});
