import type { Client, ConnectOptions } from "portolan/client";
import { expect } from "vitest";
import type { RevisionDate } from "../../kit/revisions.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests only compare it
export type Data = any;

/** A client with the notifications and questions that it received. */
export interface Walk {
  readonly client: Client;
  readonly revision: RevisionDate;
  readonly transport: "memory" | "stdio" | "http";
  readonly asked: Data[];
  readonly logged: Data[];
  /** Answers to the next questions, used before the default answers. */
  readonly script: Data[];
  call(tool: string, args?: object, options?: object): Promise<Data>;
}

/** One feature, and the first revision that has it. */
export interface Step {
  readonly name: string;
  readonly since?: RevisionDate;
  check(walk: Walk): Promise<void>;
  /** Expected behaviour on older revisions. */
  before?(walk: Walk): Promise<void>;
}

/** Options of a client that supports all questions and records them. */
export function everyAnswer(asked: Data[], logged: Data[], script: Data[]): ConnectOptions {
  const next = (params: Data, usual: Data): Data => {
    asked.push(params);
    return script.length > 0 ? script.shift() : usual;
  };
  return {
    capabilities: { sampling: { tools: {} }, extensions: { "com.example/popularity": {} } },
    onLog: (message) => logged.push(message),
    answers: {
      elicit: (params) => next(params, { action: "accept", content: {} }),
      openUrl: (params) => next(params, { action: "accept" }),
      sample: (params) => next(params, { role: "assistant", model: "tiny", content: { type: "text", text: "hi" } }),
      roots: () => next({ roots: true }, [{ uri: "file:///home/ada", name: "home" }]),
    },
  };
}

export const textOf = ({ content }: Data): string => content[0].text;

/** Returns the structured content of a call, or the text on revisions without it. */
export function valueIn({ content, structuredContent, isError }: Data): Data {
  expect(isError === true ? content : undefined).toBeUndefined();
  return structuredContent ?? JSON.parse(content.findLast(({ type }: Data) => type === "text").text);
}

/** Reads a resource as text. */
export async function read({ client }: Walk, uri: string): Promise<string> {
  const { contents } = await client.readResource(uri, { fresh: true });
  return (contents[0] as Data).text;
}

/** Waits until a condition becomes true. */
export async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 20_000; tries += 1) {
    if (await isSo()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error("The condition did not become true in time");
}
