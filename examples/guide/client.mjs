// @ts-check
// A client connects to a server, calls tools, reads lists, answers questions and watches for changes.
import { connect, createResponseCache } from "portolan/client";
import { createMemoryStorage } from "portolan/storage";

// region connect
/** @param {string} script path of a server program */
export async function greet(script) {
  const client = await connect({ command: process.execPath, args: [script] });
  const { version, era, info } = client.server;
  const { content } = await client.callTool("greet", { name: "Ada" });
  await client.close();
  return { version, era, server: info?.name, content };
}
// endregion

// region call
/** @param {import("portolan/client").Client} client @param {AbortSignal} signal @param {(text: string) => void} show */
export async function work(client, signal, show) {
  const result = await client.callTool(
    "work",
    { steps: 3 },
    {
      signal,
      idleMs: 10_000,
      onProgress: ({ progress, total }) => show(`${progress} of ${total}`),
    },
  );
  return result.isError ? "The tool failed" : result.structuredContent;
}
// endregion

// region errors
/** @param {import("portolan/client").Client} client @param {AbortSignal} signal */
export async function describeOutcome(client, signal) {
  try {
    await client.callTool("work", { steps: 1_000_000 }, { signal, totalMs: 60_000 });
    return "done";
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.name === "AbortError") return "you stopped it";
    if (error.name === "TimeoutError") return "it took too long";
    if (error.name === "RpcError") return `the server refused: ${error.message}`;
    return `no answer: ${error.message}`;
  }
}
// endregion

// region lists
/** @param {import("portolan/client").Client} client */
export async function overview(client) {
  const names = [];
  for await (const tool of client.tools()) names.push(tool.name);
  const prompts = await client.listPrompts();
  return { names, prompts: prompts.map(({ name }) => name) };
}
// endregion

// region features
/** @param {import("portolan/client").Client} client */
export async function prepareDay(client) {
  const { contents } = await client.readResource("note://today");
  const { values } = await client.complete({ type: "ref/prompt", name: "plan" }, { name: "day", value: "mon" });
  const { messages } = await client.getPrompt("plan", { day: values[0] ?? "today" });
  return { contents, messages };
}
// endregion

// region answers
/** @param {import("portolan/client").ConnectTarget} target @param {(question: string) => Promise<string>} askUser */
export const connectForUser = (target, askUser) =>
  connect(target, {
    answers: {
      async elicit({ message, requestedSchema }) {
        const [field] = Object.keys(requestedSchema.properties);
        const typed = await askUser(message);
        if (typed === "") return { action: "decline" };
        return { action: "accept", content: field === undefined ? {} : { [field]: typed } };
      },
      roots: [{ uri: "file:///home/ada/project", name: "project" }],
    },
  });
// endregion

// region watch
/** @param {import("portolan/client").Client} client @param {string} uri */
export async function waitForChange(client, uri) {
  for await (const change of await client.watch({ tools: true, uris: [uri] })) {
    return change.kind === "resource" ? change.uri : `the list of ${change.kind} changed`;
  }
  return "the server ended the watch";
}
// endregion

// region rounds
/** @param {import("portolan/client").Client} client @param {string} name */
export async function answerByHand(client, name) {
  const first = await client.callTool("greet_formally", { name }, { autoAnswer: false });
  if (first.resultType !== "input_required") return first;
  /** @type {import("portolan").InputResponses} */
  const inputResponses = {};
  for (const key of Object.keys(first.inputRequests ?? {})) {
    inputResponses[key] = { action: "accept", content: { title: "Dr." } };
  }
  const { requestState } = first;
  return client.callTool(
    "greet_formally",
    { name },
    {
      autoAnswer: false,
      inputResponses,
      ...(requestState !== undefined && { requestState }),
    },
  );
}
// endregion

// region kept
const storage = createMemoryStorage();
const cache = createResponseCache({ maxEntries: 10_000 });

/** @param {import("portolan/client").CommandTarget} target @param {string} user */
export const connectFor = (target, user) =>
  connect(target, { eraCache: storage.kv, eraCacheKey: "notes", cache, principal: user });
// endregion
