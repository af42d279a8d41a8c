import type { Completer, Server } from "portolan/server";
import { completer, followed, path, reader, readFor } from "portolan-server-kit/service";
import { type Asana, pageSize } from "./asana.ts";
import {
  type Named,
  namedFields,
  type RawProject,
  type RawStory,
  type RawTask,
  storyFields,
  taskFields,
  toNamed,
  toProject,
  toStory,
  toTask,
  wholeProjectFields,
  wholeTaskFields,
} from "./shapes.ts";

const wholePage = { limit: pageSize.max };
/** Workspaces in which a project is looked for by its name. */
const maxWorkspaces = 3;

/** Adds workspaces, projects, sections, tasks and stories as resources. */
export function addResources(server: Server, asana: Asana): Server {
  const { access } = asana;
  const json = { mimeType: "application/json" };
  const project = completeProject(asana);
  const { maxChars } = access.limits;
  return server
    .resource("asana://workspaces", {
      ...json,
      name: "workspaces",
      title: "Workspaces",
      description: "The first 100 workspaces and organizations of the account",
      read: (ctx) =>
        readFor(access, ctx, async () =>
          toText(await asana.readSome<Named>("/workspaces", ctx, namedFields, wholePage)),
        ),
    })
    .template("asana://workspace/{workspace}/projects", {
      ...json,
      name: "projects",
      title: "Projects of a workspace",
      description: "The first 100 projects of a workspace",
      read: reader(access, async ({ workspace }, ctx) => {
        const address = path`/workspaces/${String(workspace)}/projects`;
        return toText((await asana.readSome<Named>(address, ctx, namedFields, wholePage)).map(toNamed));
      }),
    })
    .template("asana://project/{project}", {
      ...json,
      name: "project",
      title: "A project",
      description: "A project with its text",
      complete: { project },
      read: reader(access, async ({ project }, ctx) => {
        const found = await asana.read<RawProject>(path`/projects/${String(project)}`, ctx, wholeProjectFields);
        return toText({ ...toProject(found), notes: found.notes ?? "" });
      }),
    })
    .template("asana://project/{project}/sections", {
      ...json,
      name: "sections",
      title: "Sections of a project",
      description: "The first 100 sections of a project",
      complete: { project },
      read: reader(access, async ({ project }, ctx) => {
        const address = path`/projects/${String(project)}/sections`;
        return toText((await asana.readSome<Named>(address, ctx, namedFields, wholePage)).map(toNamed));
      }),
    })
    .template("asana://project/{project}/tasks", {
      ...json,
      name: "tasks",
      title: "Tasks of a project",
      description: "The first 100 tasks of a project",
      complete: { project },
      read: reader(access, async ({ project }, ctx) => {
        const address = path`/projects/${String(project)}/tasks`;
        return toText((await asana.readSome<RawTask>(address, ctx, taskFields, wholePage)).map(toTask));
      }),
    })
    .template("asana://task/{task}", {
      ...json,
      name: "task",
      title: "A task",
      description: "A task with its text; a subscription reports changes",
      ...followed(access, async ({ task }, ctx) => {
        const fields = { fields: ["modified_at"] };
        return (await asana.read<RawTask>(path`/tasks/${String(task)}`, ctx, fields)).modified_at;
      }),
      read: reader(access, async ({ task }, ctx) => {
        const found = await asana.read<RawTask>(path`/tasks/${String(task)}`, ctx, wholeTaskFields);
        return toText({ ...toTask(found), notes: found.notes ?? "", modified: found.modified_at ?? "" });
      }),
    })
    .template("asana://task/{task}/stories", {
      ...json,
      name: "stories",
      title: "Stories of a task",
      description: "The first 100 comments and changes of a task, oldest first",
      read: reader(access, async ({ task }, ctx) => {
        const address = path`/tasks/${String(task)}/stories`;
        const found = await asana.readSome<RawStory>(address, ctx, storyFields, wholePage);
        return toText(found.map((one) => toStory(one, maxChars)));
      }),
    });
}

function toText(data: unknown): string {
  return JSON.stringify(data, null, 2);
}

/** Completes the id of a project by its name. */
function completeProject(asana: Asana): Completer<undefined> {
  return completer(async (value, _known, ctx) => {
    const workspaces = await asana.readSome<Named>("/workspaces", ctx, namedFields, { limit: maxWorkspaces });
    const query = { resource_type: "project", query: value, count: 50 };
    const found = await Promise.all(
      workspaces.map(({ gid }) => asana.readSome<Named>(path`/workspaces/${gid}/typeahead`, ctx, namedFields, query)),
    );
    return found.flat().map(({ gid, name }) => [gid, name] as const);
  });
}
