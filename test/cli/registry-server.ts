import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

type Entry = { readonly name: string; readonly version: string; readonly [member: string]: unknown };

/** A version of a server in the registry. */
export interface Registered {
  readonly server: Entry;
  readonly status?: "active" | "deprecated" | "deleted";
  readonly statusMessage?: string;
}

const schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/** Returns the entry of a server as the registry's schema of 2025-12-11 has it. */
export const entryOf = (name: string, parts: object): Entry => ({
  ...{ $schema: schema, name, description: `The server ${name}`, version: "1.2.0" },
  ...parts,
});

/** Serves files by their paths, and what was asked for. */
export interface Loopback {
  readonly origin: string;
  /** The method and address of each request. */
  readonly asked: string[];
}

type Handle = (request: IncomingMessage, response: ServerResponse, url: URL) => void;

export async function serveLoopback(handle: Handle): Promise<Loopback> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    handle(request, response, new URL(request.url ?? "/", "http://127.0.0.1"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** A registry with the paths, status codes and members of its API v0.1; `files` are served beside it. */
export function serveRegistry(
  entries: readonly Registered[],
  files: { readonly [path: string]: Buffer } = {},
): Promise<Loopback> {
  return serveLoopback((_, response, url) => {
    const answer = (status: number, body: object) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    const file = files[url.pathname];
    if (file) {
      response.writeHead(200, { "content-type": "application/octet-stream" }).end(file);
      return;
    }
    const isKnown = ({ status }: Registered) =>
      status !== "deleted" || url.searchParams.get("include_deleted") === "true";
    const known = entries.filter(isKnown);
    const toResponse = ({ server, status = "active", statusMessage }: Registered) => ({
      server,
      _meta: {
        "io.modelcontextprotocol.registry/official": {
          ...{ status, publishedAt: "2026-01-01T00:00:00Z", updatedAt: "2026-01-01T00:00:00Z", isLatest: true },
          ...(statusMessage !== undefined && { statusMessage }),
        },
      },
    });
    const [, name, version] = /^\/v0\.1\/servers\/([^/]+)\/versions\/([^/]+)$/.exec(url.pathname) ?? [];
    if (name !== undefined && version !== undefined) {
      const found = known.find(
        ({ server }) =>
          server.name === decodeURIComponent(name) &&
          (version === "latest" || server.version === decodeURIComponent(version)),
      );
      if (found) answer(200, toResponse(found));
      else answer(404, { error: "Server not found" });
      return;
    }
    if (url.pathname !== "/v0.1/servers") {
      answer(404, { error: "Not found" });
      return;
    }
    const search = url.searchParams.get("search") ?? "";
    const servers = known.filter(({ server }) => server.name.includes(search)).map(toResponse);
    answer(200, { servers, metadata: { count: servers.length } });
  });
}
