import type { Skill } from "portolan/server/skills";

/** The skills of a server, as `@olaservo/ext-skills` reads them. It rejects what it cannot verify. */
export interface ExtSkills {
  readonly version: string;
  readonly directoryRead: boolean;
  list(): Promise<Skill[]>;
  get(uri: string): Promise<Skill>;
  /** The text of the `SKILL.md`. */
  open(skill: Skill): Promise<string>;
  read(skill: Skill, uri: string): Promise<{ text?: string; blob?: string }>;
  readDirectory(uri: string): Promise<{ uri: string; mimeType?: string }[]>;
  close(): Promise<void>;
}

/** Connects to a program on one revision, with the handshake or without. */
export function openExtSkills(
  command: string,
  args: string[],
  version: string,
  hasHandshake: boolean,
): Promise<ExtSkills>;
