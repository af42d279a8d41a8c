import { fileURLToPath } from "node:url";
import type { CommandTarget, ConnectOptions } from "portolan/client";
import { type HttpLinkOptions, http } from "portolan/client/http";
import { quickServer } from "../../kit/quick-servers.mjs";
import { createTap, type Tap } from "../../kit/tap.ts";
import type { ServerColumn } from "./feature.ts";
import { openPeer } from "./peer.ts";
import { type ListeningServer, type ServerCommand, startServer } from "./start-server.ts";

export const newestHandshake = "2025-11-25";
export const stateless = "2026-07-28";

/** Options of a column for a fixture of another implementation over HTTP. */
export interface FixtureOptions {
  readonly title: string;
  /** File name of the fixture, without extension. */
  readonly fixture: string;
  readonly habit: string;
  readonly version?: string;
  /** The era or version that the client is fixed to. Default: it negotiates. */
  readonly era?: string;
  /** Path of the endpoint. Default: the one that the server prints. */
  readonly path?: string;
  readonly lacks: ServerColumn["lacks"];
  readonly partly?: NonNullable<ServerColumn["partly"]>;
  readonly knownErrors?: NonNullable<ServerColumn["knownErrors"]>;
}

const peers: { readonly [fixture: string]: string } = { "sdk-v1": "SDK v1", "sdk-v2": "SDK v2" };

export function fixtureOverHttp({
  fixture,
  habit,
  version = newestHandshake,
  era,
  ...more
}: FixtureOptions): ServerColumn {
  const script = quickServer(fileURLToPath(new URL(`../../peers/servers/${fixture}.mjs`, import.meta.url)));
  const command = { args: [script], env: { FIXTURE_HTTP: habit } };
  const tap = createTap(version);
  return {
    ...more,
    ...openers(tap, command, more.path, era === undefined ? {} : { era }),
    tap,
    peer: peers[fixture] ?? fixture,
    habit,
    wire: habit === "http-sse" || more.path === "/sse" ? "HTTP+SSE" : "Streamable HTTP",
    server: `${fixture}-fixture`,
    version,
    era: version === stateless ? "stateless" : "stateful",
    transport: "http",
  };
}

/** Creates a column for the reference server "everything" on one of its transports. */
export function everythingOverHttp(
  transport: "streamableHttp" | "sse",
  server: string,
  own: NonNullable<ServerColumn["own"]>,
  lacks: ServerColumn["lacks"] = {},
): ServerColumn {
  const modules = new URL("../../peers/node_modules/", import.meta.url);
  const script = fileURLToPath(new URL("@modelcontextprotocol/server-everything/dist/index.js", modules));
  const path = transport === "sse" ? "/sse" : "/mcp";
  const tap = createTap(newestHandshake);
  const toUrl = (line: string, port: number) =>
    /(listening|running) on port/.test(line) ? `http://127.0.0.1:${port}${path}` : undefined;
  return {
    ...openers(tap, { args: [script, transport], toUrl }),
    tap,
    title: `everything ${transport === "sse" ? "HTTP+SSE" : "Streamable"}`,
    peer: "everything",
    habit: "auto",
    wire: transport === "sse" ? "HTTP+SSE" : "Streamable HTTP",
    server,
    version: newestHandshake,
    era: "stateful",
    transport: "http",
    lacks,
    own,
  };
}

function openers(
  tap: Tap,
  command: ServerCommand,
  path?: string,
  common: ConnectOptions = {},
): Pick<ServerColumn, "open" | "address" | "openAt" | "stop"> {
  const started = new Map<string, Promise<ListeningServer>>();
  const tapped = () => ["--import", tap.module("http"), ...command.args];
  const serverFor = (env: { readonly [name: string]: string } = {}) => {
    const key = JSON.stringify(env);
    const server = started.get(key) ?? startServer({ ...command, env: { ...command.env, ...env }, args: tapped() });
    started.set(key, server);
    return server;
  };
  const toAddress = ({ url }: ListeningServer) => (path === undefined ? url : new URL(path, url).href);
  const openAt = (url: string, linkOptions: HttpLinkOptions = {}, options: ConnectOptions = {}) => {
    const clock = options.clock && { clock: options.clock };
    return openPeer(http(url, { ...clock, ...linkOptions }), { ...common, ...options });
  };
  return {
    open: async (options?: ConnectOptions, target: Partial<CommandTarget> = {}) =>
      openAt(toAddress(await serverFor(target.env)), {}, options),
    address: async () => toAddress(await serverFor()),
    openAt,
    async stop() {
      for (const server of started.values()) await (await server).stop();
    },
  };
}
