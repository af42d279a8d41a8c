import type { JsonObject } from "portolan";
import type { Answers, Client } from "portolan/client";
import { isStateless, type RevisionDate } from "../../../kit/revisions.ts";
import type { Handler } from "./scripted-server.ts";

/** A tool result of one text. */
export function text(value: string): JsonObject {
  return { content: [{ type: "text", text: value }] };
}

/** The text of a tool result. */
export function textOf({ content }: { content?: unknown }): string {
  return (content as { text: string }[])[0]!.text;
}

/** A handler that sends one request to the client in the form of the revision; its text is the answer. */
export function asks(revision: RevisionDate, method: string, params?: JsonObject): Handler {
  if (isStateless(revision)) {
    return ({ params: { inputResponses } }) =>
      inputResponses ? text(JSON.stringify(inputResponses.q)) : round({ q: { method, ...(params && { params }) } });
  }
  return async (_, server) => {
    const { result, error } = await server.ask(method, params);
    return text(JSON.stringify(result ?? { error }));
  };
}

/** An input_required result. */
export function round(inputRequests?: JsonObject, requestState?: string): JsonObject {
  return {
    resultType: "input_required",
    ...(inputRequests && { inputRequests }),
    ...(requestState !== undefined && { requestState }),
  };
}

/** Calls a tool that asks, and resolves to the answer it got, or to the reason if the call was rejected. */
export async function answerOf(client: Client, options: { answers?: Answers } = {}): Promise<AskedAnswer> {
  try {
    return JSON.parse(textOf(await client.callTool("ask", {}, options)));
  } catch (reason) {
    return { reason };
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers of every shape
export type AskedAnswer = any;

/** Makes one call of every kind that a revision has. */
export async function everyCall(client: Client, revision: RevisionDate): Promise<void> {
  await client.callTool("a", { n: 1 });
  await client.readResource("note://a");
  await client.getPrompt("p", { who: "Ada" });
  await client.complete({ type: "ref/prompt", name: "p" }, { name: "who", value: "A" }, { known: { age: "36" } });
  await client.complete({ type: "ref/resource", uri: "note://{id}" }, { name: "id", value: "" });
  await Promise.all([client.listTools(), client.listResources(), client.listTemplates(), client.listPrompts()]);
  await client.setLogLevel("info");
  await client.ping();
  const watch = await client.watch({ tools: true, prompts: true, resources: true, uris: ["note://a"] });
  await watch.close();
  if (!isStateless(revision)) client.rootsChanged();
  await client.ping();
}

/** Answers to every request of a server. */
export const allAnswers: Answers = {
  elicit: () => ({ action: "accept", content: {} }),
  openUrl: () => ({ action: "accept" }),
  sample: () => ({ role: "assistant", content: { type: "text", text: "Hello" }, model: "m", stopReason: "endTurn" }),
  roots: [{ uri: "file:///work", name: "work" }],
};

/** A promise that is resolved from outside. */
export function gate<T = void>(): { promise: Promise<T>; open: (value: T) => void } {
  let open: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

/** Tracks a promise without waiting for it: the code of its failure, "resolved", or "pending". */
export function follow(promise: Promise<unknown>): { outcome: unknown } {
  const followed: { outcome: unknown } = { outcome: "pending" };
  promise.then(
    () => {
      followed.outcome = "resolved";
    },
    ({ code, message }) => {
      followed.outcome = code ?? message;
    },
  );
  return followed;
}

/** Resolves in the next turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
