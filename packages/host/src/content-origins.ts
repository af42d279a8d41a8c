import type { CallToolResult, ContentBlock } from "portolan";
import type { HostCallOptions } from "./api.ts";
import type { HostedServer } from "./hosted-server.ts";

/** Marks a server's content as part of the conversation. An error message is its content, too. */
export function markUntrusted(
  { name, entry }: HostedServer,
  { conversation }: Pick<HostCallOptions, "conversation">,
): void {
  if (conversation && entry.settings.trustContent !== true) conversation.contentFrom.add(name);
}

/** Notes resources that are embedded in a result, and returns it. */
export function noteResultResources(
  server: HostedServer,
  result: CallToolResult,
  options: Pick<HostCallOptions, "conversation">,
): CallToolResult {
  noteResources(server, result.content, options);
  return result;
}

/** Notes resources that are embedded in a result or a prompt. */
export function noteResources(
  { name }: HostedServer,
  blocks: readonly ContentBlock[],
  options: Pick<HostCallOptions, "conversation">,
): void {
  if (blocks.some((block) => block?.type === "resource")) options.conversation?.resourcesFrom.add(name);
}
