import type { Client } from "portolan/client";
import { connectInMemory } from "portolan/testing";
import { createGit, type GitOptions } from "portolan-git";
import { expect, onTestFinished } from "vitest";

// biome-ignore lint/suspicious/noExplicitAny: tests look at what comes, nothing computes with it
type Data = any;

/** A client of a server for these repositories. */
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

/** The structured content of a call that has to succeed. */
export async function call(client: Pick<Client, "callTool">, tool: string, args: object = {}): Promise<Data> {
  const result = await client.callTool(tool, args as { [name: string]: unknown });
  expect(result.isError, JSON.stringify(result.content)).not.toBe(true);
  return result.structuredContent;
}

/** What the model is told by a call that has to fail. */
export async function refusal(client: Pick<Client, "callTool">, tool: string, args: object = {}): Promise<string> {
  const result = await client.callTool(tool, args as { [name: string]: unknown });
  expect(result.isError, JSON.stringify(result.content)).toBe(true);
  const [block] = result.content;
  return block?.type === "text" ? block.text : "";
}
