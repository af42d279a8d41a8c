import type { Implementation } from "portolan";
import type { Answers, Client, ConnectOptions } from "portolan/client";
import { isStateless, type RevisionDate } from "../../kit/revisions.ts";

const info: Implementation = {
  name: "atlas",
  version: "1.0.0",
  title: "Atlas",
  description: "A client with everything to say",
  websiteUrl: "https://example.com",
  icons: [{ src: "https://example.com/icon.png", mimeType: "image/png" }],
};

const answers: Answers = {
  elicit: ({ requestedSchema }) => ({
    action: "accept",
    content: "name" in requestedSchema.properties ? { name: "Ada" } : {},
  }),
  openUrl: () => ({ action: "decline" }),
  sample: () => ({
    role: "assistant",
    model: "test-model",
    stopReason: "endTurn",
    content: { type: "text", text: "Hello" },
  }),
  roots: [{ uri: "file:///home/ada", name: "home", _meta: { "example.com/x": 1 } }],
};

/** The options of the client in a transcript. */
export function connecting(revision: RevisionDate): ConnectOptions {
  return {
    era: revision,
    info,
    answers,
    capabilities: { sampling: { tools: {}, context: {} }, experimental: { "example.com/x": {} } },
    onError: (error) => {
      throw error;
    },
  };
}

/** Calls every feature of a client once, in a fixed order. */
export async function playScenario(client: Client, revision: RevisionDate): Promise<void> {
  await client.listTools();
  await client.listResources();
  await client.listTemplates();
  await client.listPrompts();
  await client.callTool("echo", { message: "hi\n" }, { meta: { "example.com/trace": "1" } });
  await client.callTool("add", { a: 1, b: 2 });
  await client.callTool("fails");
  await client.callTool("no_such_tool").catch(() => {});
  await client.callTool("progress", { steps: 2 }, { onProgress: () => {} });
  await client.callTool("logs", {}, { logLevel: "error" });
  await client.setLogLevel("warning");
  await client.callTool("logs");
  for (const uri of ["note://a", "note://missing"]) await client.readResource(uri).catch(() => {});
  await client.getPrompt("greet", { who: "Ada" });
  const ref = { type: "ref/resource", uri: "page://{book}/{number}" } as const;
  await client.complete(ref, { name: "book", value: "al" }, { known: { number: "1" } });

  for (const name of ["ask_name", "ask_two", "ask_in_turn", "ask_model", "ask_model_with_tools", "ask_roots"]) {
    await client.callTool(name).catch(() => {});
  }
  await client.callTool("ask_visit").catch(() => {});
  await client.readResource("note://asks").catch(() => {});
  if (isStateless(revision)) await client.callTool("ask_name", {}, { autoAnswer: false });

  const watch = await client.watch({ tools: true, uris: ["note://a"] });
  await client.callTool("change");
  for await (const _ of watch) break;
  await client.ping();

  const controller = new AbortController();
  const waiting = client.callTool("wait", { ms: 60_000 }, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await waiting.catch(() => {});
  client.rootsChanged();
  await client.ping();
}
