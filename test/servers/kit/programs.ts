import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, type ConnectOptions, connect } from "portolan/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { defaultAnswers } from "../../interop/feature.ts";
import type { PeerClient } from "../../peers/clients/peer.d.mts";
import { connect as connectV1 } from "../../peers/clients/sdk-v1.mjs";
import { connect as connectV2 } from "../../peers/clients/sdk-v2.mjs";

/** How a host is told to start a server. */
export interface Entry {
  readonly command: string;
  readonly args: string[];
  readonly env?: { [name: string]: string };
  readonly onStderr?: (line: string) => void;
}

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The program of a server. */
export function scriptOf(name: string): string {
  return `${root}packages/servers/${name}/dist/main.js`;
}

/**
 * The `.mcp.json` entry that a README prints, which is the one in a file; what `npx` would run of a package is run from
 * this tree.
 */
export function entryOf(file: string): Entry {
  const name = basename(file, ".json");
  const folder = `${root}packages/servers/${name}`;
  const printed = /```json\n([\s\S]*?)```/.exec(readFileSync(`${folder}/README.md`, "utf8"))![1]!;
  expect(printed).toBe(readFileSync(`${root}${file}`, "utf8"));
  const entry: Entry = JSON.parse(printed).mcpServers[name];
  const [yes, command, ...args] = entry.args;
  expect([entry.command, yes, command]).toEqual(["npx", "-y", `portolan-${name}`]);
  const { bin } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  return { command: process.execPath, args: [`${folder}/${bin[command!]}`, ...args] };
}

/** A client of a program or an address, until the test is over. */
export async function connectTo(target: string | Entry, options: ConnectOptions = {}): Promise<Client> {
  const client = await connect(target, options);
  onTestFinished(() => client.close());
  return client;
}

/** Serves a program over HTTP until the test is over. */
export async function serveHttp(script: string, args: string[] = []): Promise<string> {
  const child = spawn(process.execPath, [script, "--http", "0", ...args], { stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(async () => {
    child.kill();
    await once(child, "exit");
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  return /http\S+/.exec(line)![0];
}

const clients = [
  { name: "SDK v1", connect: connectV1, version: "2025-11-25" },
  { name: "SDK v2, with a handshake", connect: connectV2, version: "2025-11-25", mode: "legacy" },
  { name: "SDK v2, without one", connect: connectV2, version: "2026-07-28", mode: "pin" },
  { name: "SDK v2, finding out", connect: connectV2, version: "2026-07-28", mode: "auto" },
] as const;

/** Lets each of the official clients use a server's program, over stdio and over HTTP. */
export function forOfficialClients(script: string, what: string, use: (client: PeerClient) => Promise<void>): void {
  describe.each(["stdio", "http"])("over %s", (transport) => {
    test.each(clients)(`$name ${what}`, async ({ connect, ...options }) => {
      const target = transport === "stdio" ? { script } : { url: await serveHttp(script) };
      const client = await connect({ ...target, answers: defaultAnswers(), ...options });
      try {
        expect(client.version).toBe(options.version);
        await use(client);
        expect(client.errors).toEqual([]);
      } finally {
        await client.close();
      }
    });
  });
}
