import { nameOf, PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { checkNumbers, checkOptions } from "../../options.ts";
import { invalidParams } from "../../protocol/errors.ts";
import type { Revision } from "../../protocol/revision.ts";
import { problemOfSize, problemOfSkill, type Skill, skillsId, textOf } from "../../protocol/skills/skill.ts";
import type { CacheHints, Resource, ResourceContents } from "../../protocol/types/index.ts";
import { object, optional, string } from "../../schema/shape.ts";
import type { Exchange } from "../call/exchange.ts";
import { pageOf } from "../call/page.ts";
import { toBase64 } from "../call/resources.ts";
import { expectFunction, unexpected } from "../define/check.ts";
import type { ExtendedServer, ExtensionParts, ServerExtension } from "../extension.ts";
import { maxUriCharacters } from "../limits.ts";
import { maxListedSkills } from "./limits.ts";
import { mediaTypeOf } from "./media-types.ts";
import type { SkillRequest, SkillSource } from "./source.ts";

/** Options of `skills`. */
export interface SkillsOptions {
  /** The scheme of the URIs of the source. Default: "skill". */
  readonly scheme?: string;
  /** For how long clients may keep lists, entries and directories, and who may share them. Default: no caching. */
  readonly cache?: CacheHints;
}

/** Serves Agent Skills: instructions for models, as files that clients verify. */
export function skills(source: SkillSource, options: SkillsOptions = {}): ServerExtension {
  checkOptions(options, { scheme: 1, cache: 1 }, "skills", { code: "invalid-definition" });
  for (const method of ["list", "get", "read"] as const) expectFunction(`skills: source.${method}`, source?.[method]);
  const { scheme = "skill", cache = {} } = options;
  if (typeof scheme !== "string" || !/^[a-z][a-z0-9+.-]*$/i.test(scheme)) {
    throw unexpected("skills: scheme", 'the scheme of a URI, such as "skill"', scheme);
  }
  checkOptions(cache, { ttlMs: 1, cacheScope: 1 }, "skills: cache", { code: "invalid-definition" });
  checkNumbers(cache, "ttlMs");
  const served = new ServedSkills(source, cache);
  return {
    id: skillsId,
    on: (revision, server) => served.on(revision, server),
    define: (server) =>
      server.template(`${scheme}://{+path}`, {
        name: "Files of skills",
        extensions: { [skillsId]: "files" },
        list: (request) => served.listed(request),
        read: (_, request, uri) => served.read(uri, request),
        cache,
      }),
  };
}

const parts = {
  list: object({ cursor: optional(string) }),
  get: object({ uri: string }),
  directory: object({ uri: string, cursor: optional(string) }),
};

/** The skills of one source, for all servers that are extended with them. */
class ServedSkills {
  readonly #source: SkillSource;
  readonly #cache: CacheHints;
  /** The servers that tell their clients of changes. Weak, because a source may outlive many servers. */
  #servers: readonly WeakRef<ExtendedServer>[] = [];
  #isWatching = false;
  /** Entries that were checked before. */
  readonly #valid = new WeakSet<Skill>();

  constructor(source: SkillSource, cache: CacheHints) {
    this.#source = source;
    this.#cache = cache;
  }

  on(revision: Revision, server: ExtendedServer): ExtensionParts {
    this.#follow(server);
    const hints = revision.requests.get("resources/list")?.cacheable
      ? { ttlMs: 0, cacheScope: "private", ...this.#cache }
      : {};
    const hasDirectories = this.#source.directory !== undefined;
    return {
      // The specification lets clients call these methods without declaring the extension.
      isOpen: true,
      settings: hasDirectories ? { directoryRead: true } : {},
      requests: {
        "skills/list": {
          params: parts.list,
          handle: async (exchange) => ({ ...(await this.#list(exchange, server)), ...hints }),
        },
        "skills/get": {
          params: parts.get,
          handle: async (exchange) => ({ skill: await this.#get(exchange), ...hints }),
        },
        ...(hasDirectories && {
          "resources/directory/read": {
            params: parts.directory,
            handle: async (exchange) => ({ ...(await this.#directory(exchange)), ...hints }),
          },
        }),
      },
      // A template that matches every URI of the scheme tells clients nothing.
      decorate: (entry, { kind, options }) => (kind === "template" && options === "files" ? undefined : entry),
    };
  }

  async #list(exchange: Exchange, server: ExtendedServer): Promise<JsonObject> {
    const { cursor } = exchange.params as { cursor?: string };
    const page = await this.#source.list(cursor, toRequest(exchange));
    const { nextCursor } = page;
    return { skills: this.#validOf(page.skills, server), ...(nextCursor !== undefined && { nextCursor }) };
  }

  /** Leaves out invalid entries, which no host loads, and reports them: the others are served. */
  #validOf(entries: readonly Skill[], server: ExtendedServer | undefined): Skill[] {
    return entries.filter((skill) => {
      const problem = this.#problemOf(skill);
      if (problem) server?.report(problem);
      return problem === undefined;
    });
  }

  #problemOf(skill: Skill): PortolanError | undefined {
    if (this.#valid.has(skill)) return undefined;
    const problem = problemOfSkill(skill) ?? problemOfSize(skill);
    if (problem !== undefined) {
      return new PortolanError("invalid-definition", `Skill ${nameOf(Object(skill).uri)}: ${problem}`);
    }
    this.#valid.add(skill);
    return undefined;
  }

  async #get(exchange: Exchange): Promise<Skill> {
    const uri = uriOf(exchange);
    const skill = await this.#source.get(uri, toRequest(exchange));
    if (skill === undefined) throw invalidParams(`no skill is served at ${uri}`);
    const problem = this.#problemOf(skill);
    if (problem) throw problem;
    if (skill.uri === uri) return skill;
    throw new PortolanError("invalid-definition", `Skill ${nameOf(uri)}: the source returned ${nameOf(skill.uri)}`);
  }

  async #directory(exchange: Exchange): Promise<JsonObject> {
    const uri = uriOf(exchange);
    const children = await this.#source.directory?.(uri, toRequest(exchange));
    if (children === undefined) throw invalidParams(`${uri} is no directory`);
    const sorted = [...children].sort((a, b) => (a.uri < b.uri ? -1 : 1));
    const paged = { list: "directory", view: uri, keyOf: (child: Resource) => child.uri };
    const { entries, nextCursor } = pageOf(sorted, exchange.params["cursor"], paged);
    return { resources: entries, ...(nextCursor !== undefined && { nextCursor }) };
  }

  /** Returns the `SKILL.md` of each skill, for `resources/list`. */
  async listed(request: SkillRequest): Promise<Resource[]> {
    const found: Resource[] = [];
    const { principal, signal } = request;
    let cursor: string | undefined;
    do {
      const { skills, nextCursor } = await this.#source.list(cursor, { principal, signal });
      found.push(...this.#validOf(skills, this.#servers[0]?.deref()).map(resourceOf));
      if (found.length > maxListedSkills) {
        const why = `the source lists more than ${maxListedSkills} skills; list fewer of them`;
        throw new PortolanError("limit-reached", `skills: ${why}`);
      }
      if (nextCursor !== undefined && nextCursor === cursor) {
        throw new PortolanError("invalid-definition", "skills: source.list returned the cursor that it was given");
      }
      cursor = nextCursor;
    } while (cursor !== undefined);
    return found;
  }

  async read(uri: string, { principal, signal }: SkillRequest): Promise<ResourceContents[] | undefined> {
    const content = await this.#source.read(uri, { principal, signal });
    if (content === undefined) return undefined;
    const text = typeof content === "string" ? content : textOf(content);
    const mimeType = mediaTypeOf(uri) ?? (text === undefined ? "application/octet-stream" : "text/plain");
    if (text !== undefined) return [{ uri, mimeType, text }];
    return [{ uri, mimeType, blob: toBase64(content as Uint8Array) }];
  }

  #follow(server: ExtendedServer): void {
    const servers = this.#servers.filter((known) => known.deref() !== undefined);
    this.#servers = servers.some((known) => known.deref() === server) ? servers : [...servers, new WeakRef(server)];
    if (this.#isWatching || !this.#source.watch) return;
    this.#isWatching = true;
    this.#source.watch(() => {
      for (const known of this.#servers) known.deref()?.publish("resources/list_changed", {});
    });
  }
}

/** Describes the `SKILL.md` of a skill as a resource. */
function resourceOf({ uri, frontmatter, resources }: Skill): Resource {
  const size = resources === "dynamic" ? undefined : resources.find((file) => file.uri === uri)?.size;
  const { name, description } = frontmatter;
  return { uri, name, description, mimeType: "text/markdown", ...(size !== undefined && { size }) };
}

function toRequest({ principal, signal }: Exchange): SkillRequest {
  return { principal, signal };
}

function uriOf({ params }: Exchange): string {
  const uri = params["uri"] as string;
  if (uri.length <= maxUriCharacters) return uri;
  throw invalidParams(`uri: expected at most ${maxUriCharacters} characters, got ${uri.length}`);
}
