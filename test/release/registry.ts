import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dist?: { readonly integrity: string; readonly shasum: string };
}

interface Version {
  readonly manifest: Manifest;
  readonly tarball: () => Promise<Buffer>;
}

/** A registry on loopback for the real npm. */
export interface TestRegistry {
  readonly url: string;
  /** The names of published packages, in the order in which they came. */
  readonly published: readonly string[];
  /** Refuses to publish this package, as to someone who does not own its name. */
  refuse(name: string): void;
  /** Undoes `refuse`. */
  accept(name: string): void;
  close(): Promise<void>;
}

/**
 * Starts a registry that takes what npm publishes. Packages of others come from a `node_modules` folder, so that nothing
 * leaves the machine. Its symbolic links are skipped: these are our own packages, which must come from `npm publish`.
 */
export async function startRegistry(modules: string): Promise<TestRegistry> {
  const packages = findInstalled(modules);
  const published: string[] = [];
  const refused = new Set<string>();
  let url = "";

  const describe = (name: string, versions: Map<string, Version>) => {
    const described = [...versions].map(([version, { manifest }]) => {
      // Digests are known of what was published; npm computes those of others itself.
      return [
        version,
        { ...manifest, dist: { ...manifest.dist, tarball: `${url}/${name}/-/${version}.tgz` } },
      ] as const;
    });
    return { name, "dist-tags": { latest: described[0]?.[0] }, versions: Object.fromEntries(described) };
  };

  const publish = (name: string, body: PublishBody) => {
    const versions = packages.get(name) ?? new Map<string, Version>();
    const [[version, manifest] = ["", undefined]] = Object.entries(body.versions);
    const [attachment] = Object.values(body._attachments);
    if (manifest === undefined || attachment === undefined) return 400;
    if (versions.has(version)) return 409;
    const content = Buffer.from(attachment.data, "base64");
    packages.set(name, versions.set(version, { manifest, tarball: async () => content }));
    published.push(name);
    return 201;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const [name = "", version] = decodeURIComponent(request.url ?? "")
      .slice(1)
      .replace(/\?.*$/, "")
      .split("/-/");
    const send = (status: number, body: unknown) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    if (request.method === "PUT") {
      const body = JSON.parse(await readAll(request)) as PublishBody;
      const status = refused.has(name) ? 403 : publish(name, body);
      return send(status, status === 201 ? { ok: true } : { error: `refused with ${status}` });
    }
    const versions = packages.get(name);
    if (versions === undefined) return send(404, { error: `there is no ${name}` });
    if (version === undefined) return send(200, describe(name, versions));
    const found = versions.get(version.replace(/\.tgz$/, ""));
    if (found === undefined) return send(404, { error: `there is no ${name} ${version}` });
    response.writeHead(200, { "content-type": "application/octet-stream" }).end(await found.tarball());
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => response.writeHead(500).end(error.message));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    published,
    refuse: (name) => void refused.add(name),
    accept: (name) => void refused.delete(name),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface PublishBody {
  readonly versions: { readonly [version: string]: Manifest };
  readonly _attachments: { readonly [file: string]: { readonly data: string } };
}

/** Returns all packages in a `node_modules` folder and in those inside it, by name and version. */
function findInstalled(modules: string): Map<string, Map<string, Version>> {
  const found = new Map<string, Map<string, Version>>();
  const visit = (folder: string) => {
    for (const entry of entriesIn(folder)) {
      const path = join(folder, entry.name);
      if (!entry.isDirectory() || entry.name.startsWith(".")) continue;
      if (entry.name.startsWith("@")) {
        visit(path);
        continue;
      }
      const manifest = readManifest(path);
      if (manifest !== undefined) {
        const versions = found.get(manifest.name) ?? new Map<string, Version>();
        let packed: Promise<Buffer> | undefined;
        if (!versions.has(manifest.version)) {
          versions.set(manifest.version, { manifest, tarball: () => (packed ??= pack(path)) });
        }
        found.set(manifest.name, versions);
      }
      visit(join(path, "node_modules"));
    }
  };
  visit(modules);
  return found;
}

function entriesIn(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Most packages have no dependencies of their own.
    return [];
  }
}

function readManifest(folder: string): Manifest | undefined {
  try {
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return manifest.version === undefined ? undefined : manifest;
  } catch {
    // A folder without a manifest is no package.
    return undefined;
  }
}

async function pack(folder: string): Promise<Buffer> {
  const args = [
    "--exclude=./node_modules",
    "--transform",
    "s,^\\.,package,",
    "-I",
    "gzip -1",
    "-cf",
    "-",
    "-C",
    folder,
  ];
  const { stdout } = await promisify(execFile)("tar", [...args, "."], {
    encoding: "buffer",
    maxBuffer: 512 * 1024 * 1024,
  });
  return stdout;
}

async function readAll(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
