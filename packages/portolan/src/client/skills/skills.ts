import { nameOf, PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import {
  directoryMimeType,
  problemOfSkill,
  type Skill,
  type SkillFile,
  skillRoot,
  skillsId,
  textOf,
} from "../../protocol/skills/skill.ts";
import type { Resource, ResourceContents } from "../../protocol/types/index.ts";
import { array, isObject, object, string } from "../../schema/shape.ts";
import type { Client, ListAllOptions } from "../api.ts";
import type { ClientExtension } from "../extension.ts";
import { collect } from "../lists.ts";
import type { CallOptions } from "../options.ts";
import { checkSkill, fileOf, SkillError, verifyBytes, verifyFrontmatter } from "./verify.ts";

/** A file of a skill, as it was read. */
export interface SkillContent {
  readonly uri: string;
  readonly mimeType?: string;
  readonly bytes: Uint8Array;
  /** The bytes as text; undefined if they are no UTF-8. */
  readonly text: string | undefined;
  /** True if size and digest are those of the entry; false for a dynamic skill, whose entry has none. */
  readonly isVerified: boolean;
}

/** A skill whose `SKILL.md` was read and verified. */
export interface OpenSkill {
  /** The entry against which all files are verified. It stays the same. */
  readonly skill: Skill;
  /** The whole `SKILL.md`. */
  readonly text: string;
  /** The instructions: `SKILL.md` without its frontmatter. */
  readonly body: string;
  /** False for a dynamic skill, of which nothing but the frontmatter can be verified. */
  readonly isVerified: boolean;
}

/** Declares to servers that the client knows skills. Servers answer other clients just the same. */
export function skills(): ClientExtension {
  return { id: skillsId, on: () => ({}) };
}

/** Tells if the server serves skills. */
export function hasSkills<S>(client: Client<S>): boolean {
  return settingsOf(client) !== undefined;
}

/**
 * Returns the entries of the listed skills; an empty list for a server without skills. A server may have further skills,
 * which `getSkill` finds. Reads no file.
 */
export async function listSkills<S>(client: Client<S>, options: ListAllOptions = {}): Promise<Skill[]> {
  const { onInvalid, maxItems: _, maxPages: __, ...call } = options;
  const requestPage = async (params: JsonObject) => {
    const page = await client.request("skills/list", params, call);
    const problem = pageShape(page, "result");
    if (problem !== undefined) throw invalid("skills/list", problem);
    return page;
  };
  const listed = await collect<Skill>(hasSkills(client) ? requestPage : undefined, "skills/list", "skills", options);
  const known = new Set<string>();
  return listed.filter((skill) => {
    const problem = problemOfSkill(skill) ?? (known.has(skill.uri) ? "uri: the list has it twice" : undefined);
    if (problem === undefined) known.add(skill.uri);
    else if (onInvalid) onInvalid(problem, skill);
    else throw invalid("skills/list", `${nameOf(Object(skill).uri)}: ${problem}`);
    return problem === undefined;
  });
}

/** Returns the entry of a skill by the URI of its `SKILL.md`, as it is now. Reads no file. */
export async function getSkill<S>(client: Client<S>, uri: string, options: CallOptions = {}): Promise<Skill> {
  need(client, "getSkill");
  const result = await client.request("skills/get", { uri }, options);
  const skill = result["skill"] as Skill;
  const problem = problemOfSkill(skill) ?? (skill.uri === uri ? undefined : "uri: expected the one that was asked for");
  if (problem !== undefined) throw invalid("skills/get", problem);
  return skill;
}

/**
 * Reads the `SKILL.md` of a skill. Rejects with a `SkillError` unless its size, its digest and its frontmatter are those of the
 * entry. The entry of a URI is read first.
 */
export async function openSkill<S>(
  client: Client<S>,
  skill: Skill | string,
  options: CallOptions = {},
): Promise<OpenSkill> {
  const entry = typeof skill === "string" ? await getSkill(client, skill, options) : skill;
  const { text, isVerified } = await readSkillFile(client, entry, entry.uri, options);
  if (text === undefined) throw new SkillError("frontmatter", entry.uri, "expected UTF-8");
  return { skill: entry, text, body: verifyFrontmatter(entry, text), isVerified };
}

/**
 * Reads a file of a skill by its path, such as "examples/email.md", or by its URI. Rejects with a `SkillError` unless the
 * entry lists the file, with this size and digest. Other files of the server are never read.
 */
export async function readSkillFile<S>(
  client: Client<S>,
  skill: Skill,
  file: string,
  options: CallOptions = {},
): Promise<SkillContent> {
  checkSkill(skill);
  need(client, "readSkillFile");
  const listed = fileOf(skill, file);
  try {
    return await readFile(client, listed, options);
  } catch (reason) {
    if (!(reason instanceof SkillError)) throw reason;
    // The cache of the client may have the bytes of an older entry.
    return readFile(client, listed, { ...options, fresh: true });
  }
}

/**
 * Returns the direct children of a folder of a skill, as its entry lists them; "" is the folder of the skill. Only for a
 * dynamic skill the server is asked.
 */
export async function readSkillFolder<S>(
  client: Client<S>,
  skill: Skill,
  folder = "",
  options: CallOptions = {},
): Promise<Resource[]> {
  checkSkill(skill);
  const root = skillRoot(skill.uri);
  if (skill.resources !== "dynamic") return childrenOf(root, skill.resources, folder);
  need(client, "readSkillFolder");
  if (settingsOf(client)?.["directoryRead"] !== true) {
    throw new PortolanError("capability-missing", "The server does not list the files of its skills");
  }
  const { uri } = folder === "" ? { uri: root } : fileOf(skill, folder);
  const method = "resources/directory/read";
  const requestPage = async (params: JsonObject) => {
    const page = await client.request(method, { ...params, uri }, options);
    const problem = childrenShape(page, "result");
    if (problem !== undefined) throw invalid(method, problem);
    return page;
  };
  return collect<Resource>(requestPage, method, "resources", options);
}

const pageShape = object({ skills: array(() => undefined) });
const childrenShape = object({ resources: array(object({ uri: string, name: string })) });

function settingsOf({ server }: Client<never> | Client): JsonObject | undefined {
  const settings = server.capabilities.extensions?.[skillsId];
  return isObject(settings) ? settings : undefined;
}

function need<S>(client: Client<S>, where: string): void {
  if (hasSkills(client)) return;
  throw new PortolanError("capability-missing", `${where}: the server has no skills`);
}

function invalid(method: string, problem: string): PortolanError {
  return new PortolanError("answer-invalid", `${method}: the server's result is invalid: ${problem}`);
}

async function readFile<S>(
  client: Client<S>,
  file: SkillFile | { readonly uri: string },
  options: CallOptions,
): Promise<SkillContent> {
  const { contents } = await client.readResource(file.uri, options);
  const [content] = contents as ResourceContents[];
  if (contents.length !== 1 || content === undefined) {
    throw invalid("resources/read", `expected one content of ${nameOf(file.uri)}, got ${contents.length}`);
  }
  const bytes = bytesOf(content);
  await verifyBytes(file, bytes);
  const { mimeType } = content;
  return {
    uri: file.uri,
    ...(mimeType !== undefined && { mimeType }),
    bytes,
    text: textOf(bytes),
    isVerified: "digest" in file,
  };
}

function bytesOf(content: ResourceContents): Uint8Array {
  const { text, blob } = content as { text?: unknown; blob?: unknown };
  if (typeof text === "string") return new TextEncoder().encode(text);
  try {
    if (typeof blob === "string") return Uint8Array.from(atob(blob), (char) => char.charCodeAt(0));
  } catch {
    // Refused below, like a content without any bytes.
  }
  throw invalid("resources/read", `contents[0]: expected a text or base64, got ${nameOf(blob)}`);
}

function childrenOf(root: string, files: readonly SkillFile[], folder: string): Resource[] {
  const path = folder.replace(/^(\.\/)+|\/+$/g, "");
  const base = path === "" || path === "." ? root : path.includes("://") ? path : `${root}/${path}`;
  const children = new Map<string, Resource>();
  for (const { uri, size } of files) {
    if (!uri.startsWith(`${base}/`)) continue;
    const [name = "", ...rest] = uri.slice(base.length + 1).split("/");
    const child = `${base}/${name}`;
    const isFolder = rest.length > 0;
    children.set(child, { uri: child, name, ...(isFolder ? { mimeType: directoryMimeType } : { size }) });
  }
  if (children.size === 0) throw new SkillError("unlisted", base, "the skill has no such folder");
  return [...children.values()];
}
