import { type Client, connect } from "portolan/client";
import { expect, onTestFinished } from "vitest";

/** Expects that every tool has a title, a description, annotations and documented schemas. */
export async function expectDescribed(client: Pick<Client, "listTools">): Promise<void> {
  const tools = await client.listTools();
  expect(tools.length).toBeGreaterThan(0);
  for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
    expect({ name, title, description }).toEqual({
      name,
      title: expect.stringMatching(/\w/),
      description: expect.stringMatching(/\w{3}/),
    });
    expect(Object.keys(annotations ?? {}).sort(), name).toEqual([
      ...["destructiveHint", "idempotentHint", "openWorldHint", "readOnlyHint"],
    ]);
    expect(outputSchema, name).toMatchObject({ type: "object" });
    for (const [key, schema] of Object.entries(inputSchema.properties ?? {})) {
      expect(schema, `${name}.${key}`).toMatchObject({ description: expect.stringMatching(/\w/) });
    }
  }
}

/** Starts a program and connects a client, until the test ends. */
export async function start(
  script: string,
  args: string[] = [],
  env: { [name: string]: string } = {},
): Promise<Client> {
  const client = await connect({ command: process.execPath, args: [script, ...args], env });
  onTestFinished(() => client.close());
  return client;
}

/** Returns the structured content of a call; fails the test if the call fails. */
// biome-ignore lint/suspicious/noExplicitAny: tests only compare it
export async function call(client: Pick<Client, "callTool">, tool: string, args: object = {}): Promise<any> {
  const { isError, content, structuredContent } = await client.callTool(tool, args as never);
  expect(isError === true ? content : undefined, `${tool} failed`).toBeUndefined();
  return structuredContent;
}

/** Returns the error text of a call; fails the test if the call succeeds. */
export async function failureOf(client: Pick<Client, "callTool">, tool: string, args: object = {}): Promise<string> {
  const { isError, content } = await client.callTool(tool, args as never);
  expect(isError, JSON.stringify(content)).toBe(true);
  const [first] = content;
  return first?.type === "text" ? first.text : "";
}
