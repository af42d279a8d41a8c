import { PortolanError } from "portolan";
import type { Client } from "portolan/client";
import {
  checkSkill,
  getSkill,
  hasSkills,
  listSkills,
  type OpenSkill,
  openSkill,
  readSkillFile,
  type Skill,
  type SkillContent,
} from "portolan/client/skills";
import { toError } from "portolan/internal";
import type { KeyValue } from "portolan/storage";
import { canonicalJson, sha256 } from "portolan/storage";
import type { ContentOrigins } from "../api.ts";
import type { Calls } from "../calls.ts";
import { type Consent, waitFor } from "../consent.ts";
import { display } from "../display/index.ts";
import type { HostedServer } from "../hosted-server.ts";
import { grantTtlMs, maxListedSkills, skillListMs } from "../limits.ts";
import type { Grants } from "../policy/index.ts";
import type { Servers } from "../servers.ts";
import type { HostSkill, HostSkillList, HostSkills, LoadedSkill, SkillChange } from "./skills.ts";

/** Parts of the host that its skills use. */
export interface LocalSkillsOptions {
  readonly servers: Servers;
  readonly calls: Calls;
  readonly consent: Consent;
  readonly grants: Grants;
  readonly kv: KeyValue;
}

/** The listed skills of one connection. */
interface Listed {
  readonly skills: readonly Skill[];
  readonly problems: readonly string[];
}

/** The skills of a host that connects to its servers from this process. */
export class LocalSkills implements HostSkills {
  readonly #options: LocalSkillsOptions;
  /** Lists by connection, so that a restarted server is asked again. */
  readonly #lists = new WeakMap<Client, Promise<Listed>>();
  /** The servers of loaded skills, by their entries: only what this host has loaded can be read. */
  readonly #loaded = new WeakMap<Skill, HostedServer>();

  constructor(options: LocalSkillsOptions) {
    this.#options = options;
  }

  async list({ server: name, signal }: Parameters<HostSkills["list"]>[0] = {}): Promise<HostSkillList> {
    const { servers } = this.#options;
    const named = name === undefined ? undefined : await servers.findTrusted(name, signal);
    const wanted = named ? [named] : servers.all.filter(({ client }) => client && hasSkills(client));
    const found = await Promise.allSettled(wanted.map((server) => this.#listOf(server, signal)));
    if (signal?.aborted) throw toError(signal.reason);
    const skills: Omit<HostSkill, "alsoOn">[] = [];
    const problems: { server: string; message: string }[] = [];
    for (const [at, result] of found.entries()) {
      const { name: server } = wanted[at] as HostedServer;
      if (result.status === "rejected") problems.push({ server, message: toError(result.reason).message });
      else {
        skills.push(...labelled(server, result.value.skills));
        problems.push(...result.value.problems.map((message) => ({ server, message })));
      }
    }
    return { skills: withCollisions(skills), problems };
  }

  async load(name: string, uri: string, options: Parameters<HostSkills["load"]>[2] = {}): Promise<LoadedSkill> {
    const { servers, consent, calls } = this.#options;
    const { signal } = options;
    const server = await servers.findTrusted(name, signal);
    const client = await server.use(signal);
    // Fresh, so that the user decides about what the server has now.
    const skill = await getSkill(client, uri, signal ? { signal } : {});
    checkSkill(skill);
    await this.#revokeOutdated(server, [skill]);
    const digest = await setDigest(skill);
    const changes = await this.#changesOf(server, skill);
    const action = {
      kind: "skill",
      uri,
      skill,
      ...(digest !== undefined && { digest }),
      ...(changes.length > 0 && { changes }),
    } as const;
    let opened: OpenSkill | undefined;
    const open: Parameters<Calls["readSkill"]>[3] = async (connected, call) => {
      opened = await openSkill(connected, skill, call);
      return { contents: [{ uri, mimeType: "text/markdown", text: opened.text }] };
    };
    await calls.readSkill(server, uri, options, open, (id) => consent.permitSkill(id, server, action, options));
    if (!opened) throw new PortolanError("server-unavailable", `${name} did not answer`);
    await this.#remember(server, skill);
    const { text, body, isVerified } = opened;
    const loaded: LoadedSkill = { server: name, skill, text, body, isVerified };
    this.#loaded.set(skill, server);
    if (options.conversation) actingOn(options.conversation).add(name);
    return loaded;
  }

  async read(
    loaded: LoadedSkill,
    file: string,
    options: Parameters<HostSkills["read"]>[2] = {},
  ): Promise<SkillContent> {
    const server = this.#loaded.get(loaded.skill);
    if (!server) throw new PortolanError("invalid-argument", "skills.read: expected a skill that this host has loaded");
    const current = await this.#options.servers.findTrusted(loaded.server, options.signal);
    if (current.digest !== server.digest) {
      const why = "its server is configured in another way since; load the skill again";
      throw new PortolanError("denied", `The skill ${loaded.skill.frontmatter.name} is no longer loaded: ${why}`);
    }
    let content: SkillContent | undefined;
    await this.#options.calls.readSkill(current, `${loaded.skill.uri} ${file}`, options, async (connected, call) => {
      content = await readSkillFile(connected, loaded.skill, file, call);
      const { uri, mimeType, text = "" } = content;
      return { contents: [{ uri, ...(mimeType !== undefined && { mimeType }), text }] };
    });
    if (!content) throw new PortolanError("server-unavailable", `${loaded.server} did not answer`);
    return content;
  }

  async preview(name: string, uri: string, { signal }: Parameters<HostSkills["preview"]>[2] = {}): Promise<string> {
    const server = await this.#options.servers.findTrusted(name, signal);
    const client = await server.use(signal);
    return (await openSkill(client, uri, signal ? { signal } : {})).text;
  }

  /** Lists the skills of a server anew next time. */
  forget(name: string): void {
    const { client } = this.#options.servers.find(name);
    if (client) this.#lists.delete(client);
  }

  async #listOf(server: HostedServer, signal: AbortSignal | undefined): Promise<Listed> {
    const client = await server.use(signal);
    let listing = this.#lists.get(client);
    if (!listing) {
      listing = this.#read(server, client);
      this.#lists.set(client, listing);
      // A failure is not kept: the next reader tries again.
      listing.catch(() => this.#lists.delete(client));
    }
    return waitFor(listing, signal);
  }

  async #read(server: HostedServer, client: Client): Promise<Listed> {
    const problems: string[] = [];
    const onInvalid = (problem: string, entry: unknown) => {
      const { uri } = Object(entry) as { uri?: unknown };
      problems.push(`The skill ${display(String(uri), { maxChars: 200 })} is invalid: ${problem}`);
    };
    const skills = await listSkills(client, { maxItems: maxListedSkills, idleMs: skillListMs, onInvalid });
    await this.#revokeOutdated(server, skills);
    return { skills, problems };
  }

  /** Revokes each yes to a skill whose files are no longer those that the user agreed to. */
  async #revokeOutdated({ name }: HostedServer, skills: readonly Skill[]): Promise<void> {
    const { grants } = this.#options;
    const given = grants.list().filter((grant) => grant.kind === "skill" && grant.server === name && grant.allow);
    for (const { id, subject, digest } of given) {
      const skill = skills.find(({ uri }) => uri === subject);
      if (skill && (await setDigest(skill)) !== digest) await grants.revoke(id);
    }
  }

  async #changesOf(server: HostedServer, { uri, resources }: Skill): Promise<SkillChange[]> {
    if (resources === "dynamic") return [];
    const stored = parseSet(await this.#options.kv.get(await keyOf(server, uri)));
    if (!stored) return [];
    const before = new Map(stored);
    const changes: SkillChange[] = [];
    for (const { uri: file, digest } of resources) {
      const known = before.get(file);
      if (known === undefined) changes.push({ uri: file, how: "added" });
      else if (known !== digest) changes.push({ uri: file, how: "changed" });
      before.delete(file);
    }
    for (const file of before.keys()) changes.push({ uri: file, how: "removed" });
    return changes;
  }

  /** Keeps the digests of a loaded skill, to show later what has changed. */
  async #remember(server: HostedServer, { uri, resources }: Skill): Promise<void> {
    if (resources === "dynamic") return;
    const set = resources.map((file) => [file.uri, file.digest]);
    await this.#options.kv.set(await keyOf(server, uri), JSON.stringify(set), { ttlMs: grantTtlMs });
  }
}

/** Returns the digest of all files of a skill; undefined for a dynamic one, which no stored answer can cover. */
export async function setDigest({ resources }: Skill): Promise<string | undefined> {
  if (resources === "dynamic") return undefined;
  const pairs = resources.map(({ uri, digest }) => [uri, digest] as const);
  return sha256(canonicalJson(pairs.toSorted(([a], [b]) => (a < b ? -1 : 1)) as never));
}

/** Returns the servers whose skills a conversation acts on. */
function actingOn(conversation: ContentOrigins): Set<string> {
  const noted = conversation as { skillsFrom?: Set<string> };
  noted.skillsFrom ??= new Set();
  return noted.skillsFrom;
}

/** Both halves of the identity: two servers may serve the same URI. */
async function keyOf({ name, digest }: HostedServer, uri: string): Promise<string> {
  return `host/skill/${await sha256(canonicalJson([name, digest, uri]))}`;
}

function parseSet(text: string | undefined): [string, string][] | undefined {
  try {
    const value: unknown = text === undefined ? undefined : JSON.parse(text);
    const isPair = (item: unknown) => Array.isArray(item) && item.every((part) => typeof part === "string");
    return Array.isArray(value) && value.every(isPair) ? (value as [string, string][]) : undefined;
  } catch {
    // Not a set of ours: then nothing is known about the last time.
    return undefined;
  }
}

function labelled(server: string, skills: readonly Skill[]): Omit<HostSkill, "alsoOn">[] {
  const counts = countNames(skills.map(({ frontmatter }) => frontmatter.name));
  return skills.map((skill) => {
    const { name } = skill.frontmatter;
    const path = skill.uri.replace(/^[^:]+:\/\//, "").replace(/\/SKILL\.md$/, "");
    return { server, skill, label: counts.get(name) === 1 ? name : path };
  });
}

function withCollisions(skills: readonly Omit<HostSkill, "alsoOn">[]): HostSkill[] {
  const serversOf = new Map<string, Set<string>>();
  for (const { server, skill } of skills) {
    const { name } = skill.frontmatter;
    serversOf.set(name, (serversOf.get(name) ?? new Set()).add(server));
  }
  return skills.map((one) => ({
    ...one,
    alsoOn: [...(serversOf.get(one.skill.frontmatter.name) ?? [])].filter((server) => server !== one.server),
  }));
}

function countNames(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
