import { createHash } from "node:crypto";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import { fromBundle } from "./bundle.ts";
import { fetchDocument, isTable, parseTable, policyFor, type Table, toTypedUrl } from "./fetch.ts";
import { entryNameOf, type FoundServer } from "./found.ts";
import { bundleMs, maxBundleBytes, maxRegistryMatches } from "./limits.ts";
import { packageProblem, toTarget } from "./package.ts";

/** The official registry. */
const defaultRegistry = "https://registry.modelcontextprotocol.io";
const official = "io.modelcontextprotocol.registry/official";

/** The choices on the command line. */
export interface RegistryRequest {
  readonly registry: string | undefined;
  /** The kind of package to use. */
  readonly kind: string | undefined;
  readonly given: ReadonlyMap<string, readonly string[]>;
  /** The name of the entry. */
  readonly name: string | undefined;
}

/** Reads the entry of a server in a registry, and makes a server of a package or a remote of it. */
export async function fromRegistry(
  context: CommandContext,
  typedName: string,
  request: RegistryRequest,
): Promise<FoundServer> {
  const [wanted = "", version = "latest"] = typedName.split("@");
  const registry = toTypedUrl(request.registry ?? defaultRegistry, "--registry");
  const { server, meta, place } = await readEntry(context, registry, wanted, version);
  // Another name would be another publisher.
  if (server["name"] !== wanted) {
    throw new Failure("protocol", `the registry answered for ${JSON.stringify(server["name"])} instead of ${wanted}`);
  }
  const status = meta["status"] ?? "active";
  const said = typeof meta["statusMessage"] === "string" ? `: ${meta["statusMessage"]}` : "";
  if (status === "deleted") {
    throw new Failure("denied", `${typedName} was deleted from the registry${said}; nothing was added`);
  }
  const name = request.name ?? entryNameOf(wanted);
  const found = await useFirst(context, { name, server, place, registry, request });
  const isOld = status === "deprecated" ? [`${wanted} is deprecated${said}`] : [];
  return { ...found, warnings: [...isOld, ...found.warnings] };
}

interface RegistryEntry {
  readonly server: Table;
  readonly meta: Table;
  readonly place: string;
}

async function readEntry(
  context: CommandContext,
  registry: URL,
  name: string,
  version: string,
): Promise<RegistryEntry> {
  const path = `servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`;
  const place = addressOf(registry, path);
  const read = (url: URL) => fetchDocument(context, url, { typed: registry, accept: "application/json" });
  let response = await read(place);
  if (response.status === 404) {
    const deleted = new URL(place);
    deleted.searchParams.set("include_deleted", "true");
    response = await read(deleted);
  }
  if (response.status === 404) {
    const similar = await search(context, registry, name);
    const hint = similar.length > 0 ? `; it has ${similar.join(", ")}` : "";
    const what = version === "latest" ? name : `${name} in version ${version}`;
    throw new Failure("usage", `the registry ${registry.host} has no ${what}${hint}`);
  }
  if (!response.ok) throw new Failure("unreachable", `the registry ${registry.host} answered with ${response.status}`);
  const { server, _meta: all } = parseTable(await response.text(), `the answer of the registry ${registry.host}`);
  if (!isTable(server)) throw new Failure("protocol", `the answer of the registry ${registry.host} has no server`);
  const meta = isTable(all) && isTable(all[official]) ? all[official] : {};
  return { server, meta, place: place.href };
}

/** Returns the address of a resource of the registry, which may be below a path. */
function addressOf(registry: URL, path: string): URL {
  const base = new URL(registry);
  base.pathname = `${registry.pathname.replace(/\/+$/, "")}/v0.1/`;
  return new URL(path, base);
}

/** Returns the names of servers that contain the last part of a name. Whatever goes wrong, there are none. */
async function search(context: CommandContext, registry: URL, name: string): Promise<readonly string[]> {
  const url = addressOf(registry, "servers");
  url.searchParams.set("search", name.slice(name.lastIndexOf("/") + 1));
  url.searchParams.set("version", "latest");
  url.searchParams.set("limit", String(maxRegistryMatches));
  try {
    const response = await fetchDocument(context, url, { typed: registry, accept: "application/json" });
    const { servers } = parseTable(await response.text(), "the answer");
    const names = (Array.isArray(servers) ? servers : []).flatMap((each) => {
      const own = isTable(each) && isTable(each["server"]) ? each["server"]["name"] : undefined;
      return typeof own === "string" && /^[\w.-]+\/[\w.-]+$/.test(own) ? [own] : [];
    });
    return names.slice(0, maxRegistryMatches);
  } catch {
    // The name is unknown; names that look like it are only a help.
    return [];
  }
}

interface Chosen {
  readonly name: string;
  readonly server: Table;
  readonly place: string;
  readonly registry: URL;
  readonly request: RegistryRequest;
}

/** Uses the first package or remote that can be used, or the one of the kind that the person wants. */
async function useFirst(context: CommandContext, chosen: Chosen): Promise<FoundServer> {
  const { name, server, place, registry, request } = chosen;
  const listOf = (member: string) => (Array.isArray(server[member]) ? server[member].filter(isTable) : []);
  const packages = listOf("packages").map((item) => ({ item, kind: String(item["registryType"]) }));
  const remotes = listOf("remotes").map((item) => ({ item, kind: "remote" }));
  const all = [...packages, ...remotes];
  const wanted = request.kind === undefined ? all : all.filter(({ kind }) => kind === request.kind);
  const problems: string[] = [];
  const { version } = server;
  const from = {
    kind: "registry" as const,
    ...{ name: String(server["name"]), place },
    ...(typeof version === "string" && { version }),
  };
  for (const { item, kind } of wanted) {
    if (kind === "mcpb") {
      const bytes = await download(context, registry, item);
      const bundle = await fromBundle(context, bytes, {
        place: String(item["identifier"]),
        given: request.given,
        name,
      });
      return { ...bundle, from: { ...bundle.from, ...from } };
    }
    const problem = kind === "remote" ? undefined : packageProblem(item);
    if (problem !== undefined) {
      problems.push(problem);
      continue;
    }
    const described = { name, item, kind: kind === "remote" ? "remotes" : "packages" } as const;
    const { target, warnings } = await toTarget(context, described, request.given, policyFor(context, registry));
    const kinds = [...new Set(all.map((each) => each.kind))].filter((each) => each !== kind);
    const others = request.kind === undefined && kinds.length > 0;
    return {
      ...{ name, target, from },
      warnings: [
        ...warnings,
        ...(others
          ? [
              `the ${kind} ${kind === "remote" ? "address" : "package"} is used; there is also: ${kinds.join(", ")} (--package)`,
            ]
          : []),
      ],
    };
  }
  const kinds = [...new Set(all.map(({ kind }) => kind))].join(", ") || "none";
  const why = problems.length > 0 ? problems.join("; ") : `its packages: ${kinds}`;
  throw new Failure("usage", `${String(server["name"])} cannot be added from the registry: ${why}`);
}

/** Downloads a bundle, and compares it with its digest in the registry. */
async function download(context: CommandContext, registry: URL, item: Table): Promise<Buffer> {
  const { identifier, fileSha256: expected } = item;
  if (typeof expected !== "string" || !/^[a-f\d]{64}$/.test(expected)) {
    throw new Failure("protocol", "the registry has no SHA-256 of the bundle to compare it with; nothing was added");
  }
  const url = toTypedUrl(String(identifier), "the bundle");
  const policy = { maxBytes: maxBundleBytes, timeoutMs: bundleMs, redirects: "anywhere" } as const;
  const response = await fetchDocument(context, url, { typed: registry, accept: "*/*", policy });
  if (!response.ok) throw new Failure("unreachable", `${url.href} answered with ${response.status}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  const actual = createHash("sha256").update(bytes).digest("hex");
  if (actual === expected) return bytes;
  throw new Failure(
    "denied",
    `${url.href} is not the bundle of the registry: its SHA-256 is ${actual}, not ${expected}; nothing was added`,
  );
}
