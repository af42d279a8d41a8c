import type { CallOptions } from "portolan/client";
import type { Skill, SkillContent } from "portolan/client/skills";
import type { HostCallOptions, ServerStatus } from "../api.ts";

/** A listed skill of one server. It is known by its server and its URI; its name is a label. */
export interface HostSkill {
  /** The host's name of the server. */
  readonly server: string;
  readonly skill: Skill;
  /** The name of the skill, or its path if the server lists the name more than once. */
  readonly label: string;
  /** Other servers that list a skill of the same name. */
  readonly alsoOn: readonly string[];
}

/** The listed skills of the servers, and what kept others from being listed. */
export interface HostSkillList {
  readonly skills: readonly HostSkill[];
  readonly problems: readonly { readonly server: string; readonly message: string }[];
}

/** A skill that the user has allowed, with the entry that all its files are verified against. */
export interface LoadedSkill {
  readonly server: string;
  readonly skill: Skill;
  /** The whole `SKILL.md`. */
  readonly text: string;
  /** The instructions: `SKILL.md` without its frontmatter. */
  readonly body: string;
  /** False for a dynamic skill, whose content nothing can be compared with. */
  readonly isVerified: boolean;
}

/** A difference between the files of a skill now and when it was loaded last. */
export interface SkillChange {
  readonly uri: string;
  readonly how: "added" | "removed" | "changed";
}

/** Options of `host.skills.list`. */
export interface ListSkillsOptions extends Pick<CallOptions, "signal"> {
  /** Only this server, which is started if necessary. Default: all connected servers. */
  readonly server?: string;
}

/** Options of `host.skills.load` and `host.skills.read`. */
export interface UseSkillOptions
  extends Pick<
    HostCallOptions,
    "by" | "signal" | "idleMs" | "totalMs" | "conversation" | "answers" | "run" | "callId" | "beforeSend" | "mayHaveRun"
  > {}

/** The skills of the servers. Nothing is read before it is needed, and nothing is kept on disk. */
export interface HostSkills {
  list(options?: ListSkillsOptions): Promise<HostSkillList>;
  /**
   * Loads a skill by its server and URI, listed or not. The user is asked, unless an earlier yes covers exactly these
   * files. Rejects with a `SkillError` if the files are not what their entry says.
   */
  load(server: string, uri: string, options?: UseSkillOptions): Promise<LoadedSkill>;
  /** Reads a file of a loaded skill, verified against the entry that was loaded. */
  read(loaded: LoadedSkill, file: string, options?: UseSkillOptions): Promise<SkillContent>;
  /** Returns the verified text of a `SKILL.md` for the user to look at. Allows nothing. */
  preview(server: string, uri: string, options?: Pick<CallOptions, "signal">): Promise<string>;
}

/** Returns true if a connected server serves skills. */
export function servesSkills({ profile }: Pick<ServerStatus, "profile">): boolean {
  return profile?.capabilities.extensions?.["io.modelcontextprotocol/skills"] !== undefined;
}
