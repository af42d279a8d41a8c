import { logLevels } from "portolan";
import type { CatalogTool, HostSkill } from "portolan-host";
import { estimateTokens } from "portolan-host/models";
import type { SkillRow } from "../../api.ts";
import type { ConsoleBase } from "../base.ts";
import { ApiRefusal, explained } from "../failure.ts";
import { either, flag, isNull, map, name, object, oneOf, optional, text } from "../takes.ts";
import { changes, reads, type VerbTable } from "../verbs.ts";
import { digestOf, type ServerRecords, tokensOf } from "./records.ts";

const server = { server: name };
const variables = map(text(), 200);
const keptVariables = map(either(text(), isNull), 200);

/** The verbs about servers and what they offer. */
export type ServerVerb =
  | `server.${"start" | "stop" | "enable" | "remove" | "add" | "adopt" | "set-variables" | "trust" | "subject"}`
  | `server.${"entry" | "replace" | "ping" | "log-level" | "show-tool" | "accept"}`
  | "found"
  | "catalog"
  | "definition"
  | "complete"
  | "skills"
  | "skill.preview"
  | "resource.follow";

export function serverVerbs(base: ConsoleBase, records: ServerRecords): VerbTable<ServerVerb> {
  const { host, options } = base;
  const { tools } = options;
  /** Ends the following of resources, by server and address. */
  const followed = new Map<string, () => Promise<void>>();
  const known = (wanted: string) => {
    if (!host.servers.some((one) => one.name === wanted)) throw noServer(wanted);
  };
  const done = async (work: Promise<unknown>) => {
    await work;
    return {};
  };
  return {
    "server.start": changes(server, (takes) => {
      known(takes.server);
      // The course of the start comes as events; one that waits for the user must not hold the request.
      host.start(takes.server).catch(() => records.show(takes.server));
      return {};
    }),
    "server.stop": changes(server, (takes) => {
      known(takes.server);
      return done(host.stop(takes.server));
    }),
    "server.enable": changes({ ...server, isOn: flag }, (takes) => {
      known(takes.server);
      return done(host.enable(takes.server, takes.isOn));
    }),
    "server.remove": changes(server, (takes) => {
      known(takes.server);
      return done(host.remove(takes.server).then(() => records.show(takes.server)));
    }),
    "server.add": changes(
      {
        name,
        target: text(10_000, 1),
        env: optional(variables),
        headers: optional(variables),
        keep: optional(flag),
      },
      async ({ request: _, ...typed }) => {
        await explained(tools.add(host, typed));
        records.show(typed.name);
        return {};
      },
    ),
    "server.entry": reads(server, async (takes) => {
      known(takes.server);
      return explained((async () => tools.entry(host, takes.server))());
    }),
    "server.replace": changes(
      {
        ...server,
        target: optional(text(10_000, 1)),
        env: optional(keptVariables),
        headers: optional(keptVariables),
        keep: optional(flag),
      },
      async ({ request: _, server: of, ...change }) => {
        known(of);
        await explained(tools.replace(host, of, change));
        records.toolsChanged(of);
        return {};
      },
    ),
    "server.adopt": changes({ name, file: name }, async (takes) => {
      const { servers } = await explained(tools.findServers());
      // Only what was found may be added: a page must not name any file of the machine.
      if (!servers.some((found) => found.name === takes.name && found.file === takes.file)) {
        throw new ApiRefusal("not-found", `No other product has a server ${JSON.stringify(takes.name)} in that file.`);
      }
      await explained(tools.adopt(host, takes.name, takes.file));
      records.show(takes.name);
      return {};
    }),
    "server.set-variables": changes({ ...server, env: variables }, (takes) => {
      known(takes.server);
      return done(explained(tools.setVariables(host, takes.server, takes.env)).then(() => records.show(takes.server)));
    }),
    "server.trust": changes({ ...server, allow: flag, trustHints: optional(flag), digest: name }, async (takes) => {
      known(takes.server);
      if (digestOf(host.trustSubject(takes.server)) !== takes.digest) {
        throw new ApiRefusal("changed", `The configuration of ${takes.server} changed since it was shown.`, {
          next: "Look at it again.",
        });
      }
      const { allow, trustHints } = takes;
      await host.trust(takes.server, {
        allow,
        for: "always",
        ...(trustHints !== undefined && { trustHints }),
      });
      records.show(takes.server);
      return {};
    }),
    "server.subject": reads(server, (takes) => {
      known(takes.server);
      const subject = host.trustSubject(takes.server);
      return { subject, digest: digestOf(subject) };
    }),
    "server.ping": reads(server, (takes) => {
      known(takes.server);
      return host.ping(takes.server);
    }),
    "server.log-level": changes({ ...server, level: oneOf(...logLevels) }, async (takes) => {
      known(takes.server);
      await host.setLogLevel(takes.server, takes.level);
      records.setLogLevel(takes.server, takes.level);
      return {};
    }),
    "server.show-tool": changes({ ...server, tool: name, isVisible: flag }, async (takes) => {
      findTool(base, takes.server, takes.tool);
      await host.show(takes.server, takes.tool, takes.isVisible);
      records.toolsChanged(takes.server);
      return {};
    }),
    "server.accept": changes(
      { ...server, kind: oneOf("tool", "instructions"), name, digest: name },
      async ({ server: of, kind, name: changed, digest }) => {
        known(of);
        await host.accept(of, { kind, name: changed, digest });
        records.toolsChanged(of);
        return {};
      },
    ),
    found: reads({}, () => explained(tools.findServers())),
    catalog: reads(server, (takes) => {
      known(takes.server);
      return records.catalog(takes.server);
    }),
    definition: reads({ ...server, tool: name, connection: optional(name) }, (takes) => {
      const tool = findTool(base, takes.server, takes.tool);
      const { definition, modelName } = tool;
      const { description, inputSchema } = definition;
      const modelText = JSON.stringify({ name: modelName, description, inputSchema }, undefined, 2);
      return { definition, modelName, modelText, tokens: tokensOf(tool) };
    }),
    skills: reads(server, async (takes) => {
      known(takes.server);
      const { skills, problems } = await host.skills.list({ server: takes.server });
      return { skills: skills.map(({ skill }) => toSkillRow(skill)), problems: problems.map(({ message }) => message) };
    }),
    "skill.preview": reads({ ...server, uri: name }, async (takes) => {
      known(takes.server);
      const shown = await host.skills.preview(takes.server, takes.uri);
      return { text: shown, tokens: estimateTokens(shown) };
    }),
    complete: reads(
      {
        ...server,
        ref: either(object({ type: oneOf("ref/prompt"), name }), object({ type: oneOf("ref/resource"), uri: name })),
        argument: object({ name, value: text() }),
        known: optional(map(text())),
      },
      async (takes) => {
        known(takes.server);
        const options = takes.known ? { known: { ...takes.known } } : {};
        const { values, hasMore = false } = await host.complete(takes.server, takes.ref, takes.argument, options);
        return { values, hasMore };
      },
    ),
    "resource.follow": changes({ ...server, uri: name, isOn: flag }, async (takes) => {
      known(takes.server);
      const key = JSON.stringify([takes.server, takes.uri]);
      const end = followed.get(key);
      if (takes.isOn === (end !== undefined)) return {};
      if (!end && followed.size >= maxFollowed) throw new ApiRefusal("busy", "Too many resources are followed.");
      if (end) {
        followed.delete(key);
        await end();
      } else followed.set(key, await host.follow(takes.server, takes.uri));
      return {};
    }),
  };
}

function toSkillRow({ uri, frontmatter, resources }: HostSkill["skill"]): SkillRow {
  const { name: label, description } = frontmatter;
  const files = resources === "dynamic" ? undefined : resources.map(({ uri: file, size }) => ({ uri: file, size }));
  return { uri, name: label, description, ...(files && { files }) };
}

/** Resources that are followed at the same time. */
const maxFollowed = 500;

export function findTool({ host }: ConsoleBase, of: string, tool: string): CatalogTool {
  if (!host.servers.some((one) => one.name === of)) throw noServer(of);
  const found = host.catalog.tool(of, tool);
  if (!found) throw new ApiRefusal("not-found", `${of} has no tool ${JSON.stringify(tool.slice(0, 200))}.`);
  return found;
}

export function noServer(wanted: string): ApiRefusal {
  return new ApiRefusal("not-found", `There is no server ${JSON.stringify(wanted.slice(0, 200))}.`);
}
