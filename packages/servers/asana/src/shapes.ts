import type { JsonSchema } from "portolan/server";
import { array, boolean, object, string } from "portolan-server-kit";
import { cut } from "portolan-server-kit/service";
import type { Fields } from "./asana.ts";

// Asana's records as far as this server reads them, and what tools return of them.

export const gid = (description: string): JsonSchema =>
  string(`${description}, such as 1200000000000001`, { pattern: "^\\d{1,20}$" });

export const day = (description: string): JsonSchema =>
  string(`${description}, such as 2026-11-19`, { pattern: "^\\d{4}-\\d{2}-\\d{2}$" });

/** A record with its name. */
export interface Named {
  readonly gid: string;
  readonly name: string;
}

export const namedFields: Fields = { fields: ["name"] };

export const namedSchema: JsonSchema = object({ gid: string("Id"), name: string("Name") });

export function toNamed({ gid, name }: { readonly gid: string; readonly name?: string | null }): Named {
  return { gid, name: name ?? "" };
}

export function namedLine({ gid, name }: Named): string {
  return `${gid} ${name}`;
}

export interface RawTask {
  readonly gid: string;
  readonly name?: string;
  readonly completed?: boolean;
  readonly assignee?: { readonly gid: string; readonly name?: string } | null;
  readonly due_on?: string | null;
  readonly modified_at?: string;
  readonly notes?: string;
  readonly permalink_url?: string;
  readonly memberships?: readonly {
    readonly project?: { readonly gid: string; readonly name?: string } | null;
    readonly section?: { readonly gid: string; readonly name?: string } | null;
  }[];
}

export interface Task extends Named {
  readonly isCompleted: boolean;
  readonly assignee: string;
  readonly due: string;
  readonly places: readonly string[];
  readonly url: string;
}

const place = ["memberships.project.name", "memberships.section.name"];
export const taskFields: Fields = {
  fields: ["name", "completed", "assignee.name", "due_on", "permalink_url", ...place],
};
export const wholeTaskFields: Fields = { fields: [...taskFields.fields, "notes", "modified_at"] };

export const taskSchema: JsonSchema = object({
  gid: string("Id of the task"),
  name: string("Name"),
  isCompleted: boolean("True if it is done"),
  assignee: string("Name of the person who works on it; empty if nobody does"),
  due: string("Day by which it should be done; empty if there is none"),
  places: array(string("Project and section, such as Launch / To do (1200000000000001)"), "Where it is"),
  url: string("Address of the page for people"),
});

export function toTask({ gid, name, completed, assignee, due_on, permalink_url, memberships = [] }: RawTask): Task {
  return {
    gid,
    name: name ?? "",
    isCompleted: completed ?? false,
    assignee: assignee?.name ?? "",
    due: due_on ?? "",
    places: memberships.flatMap(({ project, section }) =>
      project
        ? `${project.name ?? project.gid}${section ? ` / ${section.name ?? ""} (${section.gid})` : ` (${project.gid})`}`
        : [],
    ),
    url: permalink_url ?? "",
  };
}

export function taskLine({ gid, name, isCompleted, assignee, due, places }: Task): string {
  const facts = [isCompleted ? "done" : "open", assignee, due && `due ${due}`, ...places].filter((fact) => fact !== "");
  return `${gid} ${name}: ${facts.join(", ")}`;
}

export interface RawStory {
  readonly gid: string;
  readonly type?: string;
  readonly text?: string;
  readonly created_at?: string;
  readonly created_by?: { readonly name?: string } | null;
}

export interface Story {
  readonly gid: string;
  readonly isComment: boolean;
  readonly author: string;
  readonly created: string;
  readonly text: string;
}

export const storyFields: Fields = { fields: ["type", "text", "created_at", "created_by.name"] };

export const storySchema: JsonSchema = object({
  gid: string("Id of the story"),
  isComment: boolean("False for a change that Asana notes by itself"),
  author: string("Name of its author"),
  created: string("When it was written"),
  text: string("Text; cut at a limit"),
});

export function toStory({ gid, type, text = "", created_at, created_by }: RawStory, maxChars: number): Story {
  return {
    gid,
    isComment: type === "comment",
    author: created_by?.name ?? "",
    created: created_at ?? "",
    text: cut(text, maxChars),
  };
}

export function storyLine({ author, created, text, isComment }: Story): string {
  return isComment ? `${author}, ${created}:\n${text}` : `${created}: ${author} ${text}`;
}

export interface RawProject {
  readonly gid: string;
  readonly name?: string;
  readonly notes?: string;
  readonly archived?: boolean;
  readonly due_on?: string | null;
  readonly owner?: { readonly name?: string } | null;
  readonly permalink_url?: string;
}

export interface Project extends Named {
  readonly isArchived: boolean;
  readonly owner: string;
  readonly due: string;
  readonly url: string;
}

export const projectFields: Fields = { fields: ["name", "archived", "due_on", "owner.name", "permalink_url"] };
export const wholeProjectFields: Fields = { fields: [...projectFields.fields, "notes"] };

export const projectSchema: JsonSchema = object({
  gid: string("Id of the project"),
  name: string("Name"),
  isArchived: boolean("True if it was archived"),
  owner: string("Name of its owner; empty if it has none"),
  due: string("Day by which it should be done; empty if there is none"),
  url: string("Address of the page for people"),
});

export function toProject({ gid, name, archived, due_on, owner, permalink_url }: RawProject): Project {
  return {
    gid,
    name: name ?? "",
    isArchived: archived ?? false,
    owner: owner?.name ?? "",
    due: due_on ?? "",
    url: permalink_url ?? "",
  };
}

export function projectLine({ gid, name, owner, due, isArchived }: Project): string {
  const facts = [owner, due && `due ${due}`, isArchived ? "archived" : ""].filter((fact) => fact !== "");
  return `${gid} ${name}${facts.length === 0 ? "" : `: ${facts.join(", ")}`}`;
}
