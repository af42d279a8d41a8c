import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, type ConnectOptions, connect } from "portolan/client";
import { expect, onTestFinished } from "vitest";

/** A server entry of a host configuration. */
export interface Entry {
  readonly command: string;
  readonly args: string[];
  readonly env?: { [name: string]: string };
  readonly onStderr?: (line: string) => void;
}

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Returns the path of a server's program. */
export function scriptOf(name: string): string {
  return `${root}packages/servers/${name}/dist/main.js`;
}

/**
 * Returns the `.mcp.json` entry in a README, which must equal the example file; the program of `npx` is replaced by the
 * one in this tree.
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

/** Connects a client to a program or URL, until the test ends. */
export async function connectTo(target: string | Entry, options: ConnectOptions = {}): Promise<Client> {
  const client = await connect(target, options);
  onTestFinished(() => client.close());
  return client;
}

/** Serves a program over HTTP until the test ends; returns its URL. */
export async function serveHttp(script: string, args: string[] = []): Promise<string> {
  const child = spawn(process.execPath, [script, "--http", "0", ...args], { stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(async () => {
    child.kill();
    await once(child, "exit");
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  return /http\S+/.exec(line)![0];
}
