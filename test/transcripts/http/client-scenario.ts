import type { Client } from "portolan/client";
import type { RecordingProxy } from "./recording-proxy.ts";

/** Calls every feature of an HTTP client once, each after the previous one has completed. */
export async function playClientScenario(client: Client, { passed, until }: RecordingProxy): Promise<void> {
  await client.listTools();
  await client.callTool("echo", { message: "hi\n" });
  await client.callTool("no_such_tool").catch(() => {});
  await client.callTool("progress", { steps: 2 }, { onProgress: () => {} });
  await client.setLogLevel("warning");
  await client.readResource("note://a");
  await client.getPrompt("greet", { who: "Ada" });
  for (const name of ["ask_name", "ask_in_turn", "ask_model", "ask_roots"]) await client.callTool(name).catch(() => {});
  await client.ping();

  const watch = await client.watch({ tools: true, uris: ["note://a"] });
  await client.callTool("change");
  const kinds = new Set<string>();
  for await (const { kind } of watch) {
    kinds.add(kind);
    if (kinds.size === 2) break;
  }
  await client.ping();

  const controller = new AbortController();
  const before = passed.length;
  const waiting = client.callTool("wait", { ms: 60_000 }, { signal: controller.signal });
  await until(() => passed.length > before && passed[before]?.body.includes('"wait"') === true);
  controller.abort(new Error("enough"));
  await waiting.catch(() => {});
  const quiet = () => passed.slice(before).every(({ endedBy, method }) => endedBy !== undefined || method === "GET");
  await until(quiet);
  client.rootsChanged();
  await client.ping();
}
