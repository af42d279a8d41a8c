import type { Client } from "portolan/client";
import { connectInMemory } from "portolan/testing";
import { createGit, type GitOptions } from "portolan-git";
import { expect, onTestFinished } from "vitest";

// biome-ignore lint/suspicious/noExplicitAny: tests only compare it
type Data = any;

/** Connects a client to a server for these repositories. */
export async function connectTo(
  repositories: string | readonly string[],
  options: Omit<GitOptions, "repositories"> & Parameters<typeof connectInMemory>[1] = {},
) {
  const { readOnly, ask, identity, limits, ...connection } = options;
  const server = await createGit({
    repositories: [repositories].flat(),
    ...(readOnly !== undefined && { readOnly }),
    ...(ask !== undefined && { ask }),
    ...(identity !== undefined && { identity }),
    ...(limits !== undefined && { limits }),
  });
  const client = await connectInMemory(server, connection);
  onTestFinished(() => client.close());
  return client;
}

/** Returns the structured content of a call; fails the test if the call fails. */
export async function call(client: Pick<Client, "callTool">, tool: string, args: object = {}): Promise<Data> {
  const result = await client.callTool(tool, args as { [name: string]: unknown });
  expect(result.isError, JSON.stringify(result.content)).not.toBe(true);
  return result.structuredContent;
}

/** Returns the error text of a call; fails the test if the call succeeds. */
export async function refusal(client: Pick<Client, "callTool">, tool: string, args: object = {}): Promise<string> {
  const result = await client.callTool(tool, args as { [name: string]: unknown });
  expect(result.isError, JSON.stringify(result.content)).toBe(true);
  const [block] = result.content;
  return block?.type === "text" ? block.text : "";
}
