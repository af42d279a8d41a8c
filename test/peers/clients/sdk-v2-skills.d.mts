import type { Skill } from "portolan/server/skills";

/** The skills of a server, as the official SDK reads them. It rejects what it cannot verify. */
export interface PeerSkills {
  readonly version: string;
  readonly directoryRead: boolean;
  list(): Promise<Skill[]>;
  get(uri: string): Promise<Skill>;
  read(skill: Skill, ref?: string): Promise<{ bytes: Uint8Array; verified: boolean; text?: string; body?: string }>;
  readDirectory(uri: string): Promise<{ uri: string; mimeType?: string }[]>;
  close(): Promise<void>;
}

/** Connects to a program on one revision, with the handshake or without. */
export function openSkills(
  command: string,
  args: string[],
  version: string,
  hasHandshake: boolean,
): Promise<PeerSkills>;
