import { fileURLToPath } from "node:url";
import type { CommandTarget, ConnectOptions } from "portolan/client";
import { quickServer } from "../../kit/quick-servers.mjs";
import { createTap, type Tap } from "../../kit/tap.ts";
import type { ServerColumn } from "./feature.ts";
import { openPeer } from "./peer.ts";
import { everything, filesystem, memory } from "./reference.ts";

const handshakes = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const newestHandshake = "2025-11-25";
const stateless = "2026-07-28";

const noPages = "its lists always have one page";

const sdkLacks = { pages: noPages };
const sdkStatelessLacks = {
  ...sdkLacks,
  "roots: changed": "a stateless server asks again each time",
};

const fastmcpLacks = {
  ...sdkLacks,
  "completion: in context": "its completers do not receive the other arguments",
  "log: level": "it stores the log level but does not filter by it",
};

const tmcpLacks = {
  cancellation: "its stdio transport gives handlers no signal, so a running call cannot be cancelled",
  timeouts: "its stdio transport gives handlers no signal, so a running call cannot be cancelled",
  "resources: cached for their lifetime": "it sets one cache lifetime for all resources, including those that change",
};

export const columns: readonly ServerColumn[] = [
  ...handshakes.map((version) => fixture("SDK v1", "sdk-v1", { version, era: version, lacks: sdkLacks })),
  ...handshakes.map((version) => fixture("SDK v2", "sdk-v2", { version, era: version, lacks: sdkLacks })),
  fixture("SDK v2", "sdk-v2", { version: stateless, era: stateless, lacks: sdkStatelessLacks }),
  fixture("SDK v2", "sdk-v2", { version: stateless, era: "auto", lacks: sdkStatelessLacks }),
  fixture("fastmcp", "fastmcp", { version: newestHandshake, era: "auto", lacks: fastmcpLacks }),
  fixture("tmcp", "tmcp", {
    version: "2025-06-18",
    era: "stateful",
    lacks: tmcpLacks,
  }),
  fixture("tmcp", "tmcp", {
    version: stateless,
    era: "auto",
    lacks: {
      ...tmcpLacks,
      roots: "it asks for roots only on stateful connections",
      "roots: changed": "a stateless server asks again each time",
    },
  }),
  reference("everything", everything),
  reference("filesystem", filesystem),
  reference("memory", memory),
];

interface FixtureOptions {
  readonly version: string;
  readonly era: string;
  readonly lacks: ServerColumn["lacks"];
}

function fixture(peer: string, server: string, { version, era, lacks }: FixtureOptions): ServerColumn {
  const script = quickServer(fileURLToPath(new URL(`../../peers/servers/${server}.mjs`, import.meta.url)));
  const habit = era === "auto" ? { habit: era } : {};
  const tap = createTap(version);
  return {
    title: `${peer} ${habit.habit ?? version}`,
    peer,
    ...habit,
    wire: "stdio",
    server: `${server}-fixture`,
    version,
    era: version === stateless ? "stateless" : "stateful",
    transport: "stdio",
    tap,
    lacks,
    open: (options, target) => openPeer(toTarget(tap, [script], target), { era, ...options }),
  };
}

function reference(name: string, { server, args = [], env = {}, checks }: typeof everything): ServerColumn {
  const script = fileURLToPath(
    new URL(`../../peers/node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url),
  );
  const tap = createTap(newestHandshake);
  return {
    title: `${name} auto`,
    peer: name,
    habit: "auto",
    wire: "stdio",
    server,
    version: newestHandshake,
    era: "stateful",
    transport: "stdio",
    tap,
    lacks: {},
    own: checks,
    open: (options?: ConnectOptions, more?: Partial<CommandTarget>) =>
      openPeer(toTarget(tap, [script, ...args], { env, ...more }), options),
  };
}

function toTarget(tap: Tap, args: readonly string[], more: Partial<CommandTarget> = {}): CommandTarget {
  return { command: process.execPath, args: ["--import", tap.module("stdio"), ...args], ...more };
}
