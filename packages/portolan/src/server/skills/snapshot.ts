import { nameOf, PortolanError } from "../../errors.ts";
import { checkOptions } from "../../options.ts";
import { FrontmatterError, parseFrontmatter } from "../../protocol/skills/frontmatter.ts";
import {
  digestOf,
  directoryMimeType,
  problemOfSize,
  problemOfSkill,
  type Skill,
  type SkillFile,
  type SkillFrontmatter,
  textOf,
} from "../../protocol/skills/skill.ts";
import type { Resource } from "../../protocol/types/index.ts";
import { isObject } from "../../schema/shape.ts";
import { pageOf } from "../call/page.ts";
import { maxSourceBytes, maxSourceFiles, skillsPageSize } from "./limits.ts";
import { mediaTypeOf } from "./media-types.ts";
import type { SkillPage, SkillSource } from "./source.ts";

/** Options of `skillsOf`. */
export interface SkillsOfOptions {
  /** The path before that of each skill, such as "acme/billing". Default: none. */
  readonly prefix?: string;
}

/**
 * Makes a source from files in memory, by paths such as "refunds/SKILL.md". Each folder with a `SKILL.md` is a skill; files
 * outside of such folders are not served. Rejects with "invalid-definition" if a skill is invalid.
 */
export async function skillsOf(
  files: { readonly [path: string]: string | Uint8Array },
  options: SkillsOfOptions = {},
): Promise<SkillSource> {
  checkOptions(options, { prefix: 1 }, "skillsOf");
  return takeSnapshot("skillsOf", new Map(Object.entries(files)), [], options.prefix);
}

/** Reads the skills among files, with their digests. `folders` are folders that may be empty. */
export async function takeSnapshot(
  where: string,
  files: ReadonlyMap<string, string | Uint8Array>,
  folders: readonly string[],
  prefix = "",
): Promise<SkillSnapshot> {
  if (typeof prefix !== "string" || !/^([\w.~!$&'()*+,;=%-]+(\/(?!$)|$))*$/.test(prefix)) {
    throw invalid(where, `prefix: expected a path such as "acme/billing", got ${nameOf(prefix)}`);
  }
  const taking = new Taking(where, prefix);
  for (const [path, content] of files) taking.add(path, content);
  const skills: Skill[] = [];
  for (const root of taking.roots) skills.push(await taking.skillAt(root));
  return new SkillSnapshot(skills, taking.served, taking.directoriesOf(folders));
}

/** One state of skills: entries, and the bytes that they describe. */
export class SkillSnapshot implements SkillSource {
  readonly #skills: readonly Skill[];
  readonly #byUri: ReadonlyMap<string, Skill>;
  readonly #files: ReadonlyMap<string, Uint8Array>;
  readonly #directories: ReadonlyMap<string, readonly Resource[]>;

  constructor(
    skills: readonly Skill[],
    files: ReadonlyMap<string, Uint8Array>,
    directories: ReadonlyMap<string, readonly Resource[]>,
  ) {
    this.#skills = [...skills].sort((a, b) => (a.uri < b.uri ? -1 : 1));
    this.#byUri = new Map(skills.map((skill) => [skill.uri, skill]));
    this.#files = files;
    this.#directories = directories;
  }

  list(cursor: string | undefined): SkillPage {
    const paged = { list: "skills", pageSize: skillsPageSize, keyOf: ({ uri }: Skill) => uri };
    const { entries, nextCursor } = pageOf(this.#skills, cursor, paged);
    return { skills: entries, nextCursor };
  }

  get(uri: string): Skill | undefined {
    return this.#byUri.get(uri);
  }

  read(uri: string): Uint8Array | undefined {
    return this.#files.get(uri);
  }

  directory(uri: string): readonly Resource[] | undefined {
    return this.#directories.get(uri);
  }
}

/** The work of taking a snapshot. */
class Taking {
  readonly #where: string;
  readonly #base: string;
  readonly #bytes = new Map<string, Uint8Array>();
  readonly #digests = new Map<string, SkillFile>();
  #total = 0;
  /** The files of all skills, by URI. */
  readonly served: Map<string, Uint8Array> = new Map();

  constructor(where: string, prefix: string) {
    this.#where = where;
    this.#base = `skill://${prefix === "" ? "" : `${prefix}/`}`;
  }

  add(path: string, content: string | Uint8Array): void {
    if (path.split("/").some((segment) => segment === "" || segment === "." || segment === "..")) {
      throw invalid(this.#where, `expected paths such as "refunds/SKILL.md", got ${nameOf(path)}`);
    }
    if (typeof content !== "string" && !(content instanceof Uint8Array)) {
      throw invalid(this.#where, `${path}: expected a text or bytes, got ${nameOf(content)}`);
    }
    // Copied: the bytes must stay those of the digest.
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content);
    this.#total += bytes.length;
    this.#bytes.set(path, bytes);
    if (this.#bytes.size > maxSourceFiles || this.#total > maxSourceBytes) {
      const why = `expected at most ${maxSourceFiles} files with ${maxSourceBytes} bytes together`;
      throw new PortolanError("limit-reached", `${this.#where}: ${why}`);
    }
  }

  /** The folders that have a `SKILL.md`. */
  get roots(): string[] {
    const paths = [...this.#bytes.keys()].filter((path) => path === manifestName || path.endsWith(`/${manifestName}`));
    if (paths.includes(manifestName)) {
      throw invalid(this.#where, `${manifestName}: expected a folder with the name of the skill around it`);
    }
    return paths.map((path) => path.slice(0, -manifestName.length - 1));
  }

  async skillAt(root: string): Promise<Skill> {
    const path = `${root}/${manifestName}`;
    const frontmatter = this.#frontmatterOf(path);
    const resources: SkillFile[] = [];
    for (const [file, bytes] of this.#bytes) {
      if (file.startsWith(`${root}/`)) resources.push(await this.#describe(file, bytes));
    }
    resources.sort((a, b) => (a.uri < b.uri ? -1 : 1));
    const skill: Skill = { uri: this.#uriOf(path), frontmatter, resources };
    const problem = problemOfSkill(skill) ?? problemOfFormat(frontmatter) ?? problemOfSize(skill);
    if (problem !== undefined) throw invalid(this.#where, `${path}: ${problem}`);
    return skill;
  }

  #frontmatterOf(path: string): SkillFrontmatter {
    const text = textOf(this.#bytes.get(path) as Uint8Array);
    if (text === undefined) throw invalid(this.#where, `${path}: expected UTF-8`);
    try {
      return parseFrontmatter(text).frontmatter as SkillFrontmatter;
    } catch (problem) {
      if (problem instanceof FrontmatterError) throw invalid(this.#where, `${path}: ${problem.message}`);
      throw problem;
    }
  }

  /** Files of a nested skill are described once for all skills around it. */
  async #describe(path: string, bytes: Uint8Array): Promise<SkillFile> {
    let file = this.#digests.get(path);
    if (!file) {
      file = { uri: this.#uriOf(path), digest: await digestOf(bytes), size: bytes.length };
      this.#digests.set(path, file);
      this.served.set(file.uri, bytes);
    }
    return file;
  }

  #uriOf(path: string): string {
    try {
      return this.#base + path.split("/").map(encodeURIComponent).join("/");
    } catch {
      throw invalid(this.#where, `${nameOf(path)}: expected a name that a URI can hold`);
    }
  }

  /** Returns the children of every directory that leads to a file of a skill, or is inside a skill. */
  directoriesOf(folders: readonly string[]): Map<string, readonly Resource[]> {
    const children = new Map<string, Map<string, Resource>>();
    const addTo = (uri: string, child: Resource | undefined) => {
      const known = children.get(uri);
      const all = known ?? new Map<string, Resource>();
      if (child) all.set(child.uri, child);
      children.set(uri, all);
      const parent = uri.slice(0, uri.lastIndexOf("/"));
      if (known || parent.endsWith("/")) return;
      addTo(parent, { uri, name: lastNameOf(uri), mimeType: directoryMimeType });
    };
    for (const [uri, bytes] of this.served) {
      const mimeType = mediaTypeOf(uri);
      const file: Resource = { uri, name: lastNameOf(uri), ...(mimeType && { mimeType }), size: bytes.length };
      addTo(uri.slice(0, uri.lastIndexOf("/")), file);
    }
    const { roots } = this;
    for (const folder of folders) {
      if (roots.some((root) => folder.startsWith(`${root}/`))) addTo(this.#uriOf(folder), undefined);
    }
    const byUri = (a: Resource, b: Resource) => (a.uri < b.uri ? -1 : 1);
    return new Map([...children].map(([uri, all]) => [uri, [...all.values()].sort(byUri)]));
  }
}

const manifestName = "SKILL.md";

/** Returns what the format of Agent Skills forbids beyond what every client checks: some hosts refuse it. */
function problemOfFormat(frontmatter: SkillFrontmatter): string | undefined {
  const { description, license, compatibility, metadata } = frontmatter;
  if (description.length > 1024) return "frontmatter.description: expected at most 1024 characters";
  const isText = (value: unknown, most: number) =>
    value === undefined || (typeof value === "string" && value.length <= most);
  if (!isText(license, Number.POSITIVE_INFINITY)) return "frontmatter.license: expected a text";
  if (!isText(compatibility, 500)) return "frontmatter.compatibility: expected a text of at most 500 characters";
  const isPlain = isObject(metadata) && Object.values(metadata).every((value) => typeof value === "string");
  if (metadata === undefined || isPlain) return undefined;
  return "frontmatter.metadata: expected names with texts; put numbers in quotes";
}

function lastNameOf(uri: string): string {
  return decodeURIComponent(uri.slice(uri.lastIndexOf("/") + 1));
}

function invalid(where: string, why: string): PortolanError {
  return new PortolanError("invalid-definition", `${where}: ${why}`);
}
