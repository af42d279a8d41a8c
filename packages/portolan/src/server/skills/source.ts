import type { MaybePromise } from "../../async.ts";
import type { Resource } from "../../protocol/types/index.ts";
import type { Principal } from "../call/exchange.ts";

export type { Skill, SkillFile, SkillFrontmatter } from "../../protocol/skills/skill.ts";

import type { Skill } from "../../protocol/skills/skill.ts";

/** The request that a source answers. */
export interface SkillRequest {
  /** The identity that the request is made for. A source may serve other skills to another one. */
  readonly principal: Principal;
  /** Aborts when the client cancels the request or disconnects. */
  readonly signal: AbortSignal;
}

/** One page of the skills of a source. */
export interface SkillPage {
  readonly skills: readonly Skill[];
  /** The cursor of the next page, if there is one. */
  readonly nextCursor?: string | undefined;
}

/** The skills of a server. Each answer belongs to one state of the skills: `read` returns the bytes that the digest names. */
export interface SkillSource {
  /** Returns a page of the skills. The list may be empty although there are skills. */
  list(cursor: string | undefined, request: SkillRequest): MaybePromise<SkillPage>;
  /** Returns the entry of a skill by the URI of its `SKILL.md`; undefined if there is no such skill. */
  get(uri: string, request: SkillRequest): MaybePromise<Skill | undefined>;
  /** Returns the content of a file; undefined if there is no such file. */
  read(uri: string, request: SkillRequest): MaybePromise<string | Uint8Array | undefined>;
  /**
   * Returns the direct children of a directory, whose own media type is "inode/directory"; undefined if there is no such
   * directory. Default: clients cannot read directories.
   */
  directory?(uri: string, request: SkillRequest): MaybePromise<readonly Resource[] | undefined>;
  /** Calls the function after each change of the skills. Default: clients are not told of changes. */
  watch?(changed: () => void): void;
}
