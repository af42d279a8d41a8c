import { nameOf, PortolanError } from "../../errors.ts";
import { FrontmatterError, parseFrontmatter } from "../../protocol/skills/frontmatter.ts";
import { maxSkillBytes } from "../../protocol/skills/limits.ts";
import {
  differenceOf,
  digestOf,
  isWithin,
  problemOfSize,
  problemOfSkill,
  type Skill,
  type SkillFile,
  skillRoot,
} from "../../protocol/skills/skill.ts";

/** The part of a file of a skill that differs from its entry. */
export type SkillMismatch = "unlisted" | "size" | "digest" | "frontmatter";

/** A file of a skill is not what the entry of the skill says. Its content must not be used. */
export class SkillError extends PortolanError {
  readonly mismatch: SkillMismatch;
  readonly uri: string;

  constructor(mismatch: SkillMismatch, uri: string, why: string) {
    super("skill-unverified", `The skill file ${nameOf(uri)} is not what its entry says: ${why}`);
    this.mismatch = mismatch;
    this.uri = uri;
  }
}

/** Throws unless an entry is valid and within the limits that hosts must accept: 512 files with 16 MiB. */
export function checkSkill(skill: Skill): void {
  const problem = problemOfSkill(skill);
  if (problem !== undefined) {
    throw new PortolanError(
      "answer-invalid",
      `The entry of the skill ${nameOf(Object(skill).uri)} is invalid: ${problem}`,
    );
  }
  const size = problemOfSize(skill);
  if (size !== undefined)
    throw new PortolanError("limit-reached", `The skill ${nameOf(skill.uri)} is too large: ${size}`);
}

/** Returns the file that a path in a skill, or its URI, names: a listed one, or one that a dynamic skill may have. */
export function fileOf(skill: Skill, ref: string): SkillFile | { readonly uri: string } {
  const root = skillRoot(skill.uri);
  const isUri = /^[a-z][a-z0-9+.-]*:\/\//i.test(ref);
  const path = isUri ? ref : `${root}/${ref.replace(/^(\.\/)+/, "")}`;
  const unlisted = () => new SkillError("unlisted", isUri ? ref : path, "the skill has no such file");
  if (skill.resources === "dynamic") {
    const uri = isUri ? ref : `${root}/${encodePath(path.slice(root.length + 1))}`;
    if (!isWithin(root, uri)) throw unlisted();
    return { uri };
  }
  const plain = path.replace(/#.*$/s, "");
  for (const wanted of [path, plain]) {
    const exact = skill.resources.find(({ uri }) => uri === wanted);
    if (exact) return exact;
  }
  // Authors write names in a text as they are, and URIs have them escaped.
  const same = skill.resources.filter(({ uri }) => decoded(uri) === decoded(plain));
  if (same.length !== 1) throw unlisted();
  return same[0] as SkillFile;
}

function encodePath(path: string): string {
  try {
    return path
      .split("/")
      .map((segment) => encodeURIComponent(decodeURIComponent(segment)))
      .join("/");
  } catch {
    return path.split("/").map(encodeURIComponent).join("/");
  }
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

/** Throws unless bytes have the size and the digest of their file. Those of a dynamic skill are only bounded. */
export async function verifyBytes(file: SkillFile | { readonly uri: string }, bytes: Uint8Array): Promise<void> {
  const { length } = bytes;
  if (!("digest" in file)) {
    if (length <= maxSkillBytes) return;
    const why = `expected at most ${maxSkillBytes} bytes, got ${length}`;
    throw new PortolanError("limit-reached", `The skill file ${nameOf(file.uri)} is too large: ${why}`);
  }
  if (length !== file.size) throw new SkillError("size", file.uri, `expected ${file.size} bytes, got ${length}`);
  const digest = await digestOf(bytes);
  if (digest !== file.digest) throw new SkillError("digest", file.uri, `expected ${file.digest}, got ${digest}`);
}

/** Returns the text after the frontmatter. Throws unless the frontmatter is that of the entry, member by member. */
export function verifyFrontmatter({ uri, frontmatter: expected }: Skill, text: string): string {
  let read: ReturnType<typeof parseFrontmatter>;
  try {
    read = parseFrontmatter(text);
  } catch (problem) {
    if (!(problem instanceof FrontmatterError)) throw problem;
    throw new SkillError("frontmatter", uri, problem.message);
  }
  const difference = differenceOf(read.frontmatter, expected);
  if (difference === undefined) return read.body;
  throw new SkillError("frontmatter", uri, `the member ${nameOf(difference)} of its frontmatter differs`);
}
