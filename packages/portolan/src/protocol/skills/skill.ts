import { array, integer, isObject, object, string } from "../../schema/shape.ts";
import { maxFrontmatterDepth, maxSkillBytes, maxSkillFiles } from "./limits.ts";

/** The id of the skills extension. */
export const skillsId = "io.modelcontextprotocol/skills";

/** The media type of a directory. */
export const directoryMimeType = "inode/directory";

/** A file of a skill, with what its bytes are verified against. */
export interface SkillFile {
  readonly uri: string;
  /** SHA-256 of the bytes: "sha256:" and 64 hexadecimal digits. */
  readonly digest: string;
  /** The number of bytes. */
  readonly size: number;
}

/** The frontmatter of a `SKILL.md`, with all that its author wrote. */
export interface SkillFrontmatter {
  readonly name: string;
  readonly description: string;
  readonly [member: string]: unknown;
}

/** The entry of a skill, as `skills/list` and `skills/get` return it. */
export interface Skill {
  /** The URI of its `SKILL.md`. */
  readonly uri: string;
  readonly frontmatter: SkillFrontmatter;
  /** All files of the skill, `SKILL.md` included; "dynamic" if they cannot be verified. */
  readonly resources: readonly SkillFile[] | "dynamic";
}

/** Returns the URI of the directory of a skill. */
export function skillRoot(uri: string): string {
  return uri.slice(0, uri.lastIndexOf("/"));
}

const shape = object({ uri: string, frontmatter: object({ name: string, description: string }) });
const fileShape = array(object({ uri: string, digest: string, size: integer }));
const uriPattern = /^[a-z][a-z0-9+.-]*:\/\/(?:[^\s/?#]+\/)+SKILL\.md$/i;
const namePattern = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** Returns what is wrong with the entry of a skill; undefined if it is valid. Its limits are left to `problemOfSize`. */
export function problemOfSkill(value: unknown): string | undefined {
  const problem = shape(value, "skill");
  if (problem !== undefined) return problem;
  const { uri, frontmatter, resources } = value as Skill;
  if (!uriPattern.test(uri)) return "uri: expected the URI of a SKILL.md, such as skill://refunds/SKILL.md";
  const nameProblem = problemOfName(frontmatter.name);
  if (nameProblem !== undefined) return nameProblem;
  if (frontmatter.description.trim() === "") return "frontmatter.description: expected a text that is not empty";
  const root = skillRoot(uri);
  if (nameIn(root) !== frontmatter.name) return "uri: expected the directory to have the name in the frontmatter";
  return resources === "dynamic" ? undefined : problemOfFiles(resources, uri, root);
}

/** Returns what is wrong with the name of a skill. */
export function problemOfName(name: unknown): string | undefined {
  if (typeof name === "string" && name.length <= 64 && namePattern.test(name)) return undefined;
  return "frontmatter.name: expected 1 to 64 of a-z, 0-9 and single hyphens between them";
}

function problemOfFiles(files: unknown, uri: string, root: string): string | undefined {
  if (!Array.isArray(files)) return 'resources: expected a list of files, or "dynamic"';
  const problem = fileShape(files, "resources");
  if (problem !== undefined) return problem;
  const uris = new Set<string>();
  for (const file of files as SkillFile[]) {
    if (!/^sha256:[0-9a-f]{64}$/.test(file.digest)) return "resources: expected digests such as sha256:9f86d0…";
    if (file.size < 0) return "resources: expected sizes from 0 on";
    if (!isWithin(root, file.uri)) return "resources: a file is outside the directory of the skill";
    if (uris.has(file.uri)) return "resources: a file is there twice";
    uris.add(file.uri);
  }
  return uris.has(uri) ? undefined : "resources: SKILL.md is missing";
}

/** Returns why a skill is larger than hosts must accept; undefined if it is not. */
export function problemOfSize({ resources }: Skill): string | undefined {
  if (resources === "dynamic") return undefined;
  if (resources.length > maxSkillFiles) return `the skill has ${resources.length} files; at most ${maxSkillFiles}`;
  const bytes = resources.reduce((sum, { size }) => sum + size, 0);
  return bytes > maxSkillBytes ? `the files of the skill have ${bytes} bytes; at most ${maxSkillBytes}` : undefined;
}

/** Returns true if the URI is that of a file below a directory, and names it plainly. */
export function isWithin(root: string, uri: string): boolean {
  if (!uri.startsWith(`${root}/`)) return false;
  const segments = uri.slice(root.length + 1).split("/");
  return segments.every((segment) => segment !== "" && !/^(\.|%2e){1,2}$/i.test(segment) && !/[\s?#\\]/.test(segment));
}

function nameIn(root: string): string {
  return root.slice(root.lastIndexOf("/") + 1);
}

/** Returns the first difference of two frontmatters as a path; undefined if they are equal, whatever their order. */
export function differenceOf(a: unknown, b: unknown, path = "", depth = 0): string | undefined {
  if (a === b) return undefined;
  if (depth > maxFrontmatterDepth + 1) return path;
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return path;
    return firstDifference(a.keys(), (at) => differenceOf(a[at], b[at], `${path}[${at}]`, depth + 1));
  }
  if (!isObject(a) || !isObject(b)) return path;
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return firstDifference(names, (name) => {
    const member = path === "" ? name : `${path}.${name}`;
    if (!Object.hasOwn(a, name) || !Object.hasOwn(b, name)) return member;
    return differenceOf(a[name], b[name], member, depth + 1);
  });
}

function firstDifference<T>(items: Iterable<T>, differ: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const difference = differ(item);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

/** Returns the digest of bytes as entries of skills have it. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
  return `sha256:${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Returns the text of bytes, with the very same bytes; undefined if they are no UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
