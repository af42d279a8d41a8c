import { PortolanError } from "portolan";
import type { Client, Progress } from "portolan/client";
import { estimateTokens } from "portolan-host/models";
import type { ConsoleBase } from "../base.ts";
import type { Connections } from "../connections/connections.ts";
import { ApiRefusal, messageOf } from "../failure.ts";
import { maxLongBodyBytes, maxPieceChars, maxRunningCalls } from "../limits.ts";
import { noServer } from "../servers/verbs.ts";
import { map, name, optional, text, whole } from "../takes.ts";
import { changes, reads, type VerbTable } from "../verbs.ts";
import { type CallRecords, type EndedCall, parseArguments } from "./calls.ts";

export type CallVerb = "call" | "cancel" | "result" | "content" | "resource.read" | "prompt.get";

export function callVerbs(base: ConsoleBase, calls: CallRecords, connections: Connections): VerbTable<CallVerb> {
  const { host } = base;
  const known = (wanted: string) => {
    if (!host.servers.some((one) => one.name === wanted)) throw noServer(wanted);
  };
  /** Returns the client of an opened connection; undefined for the host's own. */
  const clientOf = (connection: string | undefined): Client | undefined => {
    if (connection === undefined) return undefined;
    const { record, client } = connections.get(connection);
    if (record.isMain) return undefined;
    if (!client) throw new ApiRefusal("busy", "The connection is not open.");
    return client;
  };
  return {
    call: changes(
      { server: name, tool: name, argumentsText: text(maxLongBodyBytes), connection: optional(name) },
      ({ server, tool, argumentsText, connection }) => {
        known(server);
        parseArguments(argumentsText);
        const client = clientOf(connection);
        if (calls.running >= maxRunningCalls) throw new ApiRefusal("busy", "Too many calls are running.");
        const stop = new AbortController();
        const { id } = calls.begin(
          { server, tool, by: "user", argumentsText, ...(connection !== undefined && { connection }) },
          () => {
            stop.abort(new PortolanError("cancelled", "You cancelled the call."));
            return true;
          },
        );
        // A click on exactly this call is its consent; rules may still deny it.
        let schemaProblems: readonly string[] = [];
        const options = {
          signal: stop.signal,
          argumentsText: argumentsText.trim() === "" ? "{}" : argumentsText,
          output: "report",
          onOutputProblems: (problems: readonly string[]) => {
            schemaProblems = problems;
          },
          onProgress: (progress: Progress) => calls.progress(id, progress),
        } as const;
        const send = async () =>
          client
            ? client.callTool(tool, undefined, { ...options, label: id })
            : host.callTool(server, tool, undefined, { ...options, by: "user", callId: id });
        send().then(
          (result) => calls.end(id, { how: "done", result, schemaProblems }),
          (thrown) => calls.end(id, endOf(thrown, stop.signal)),
        );
        return { id };
      },
      maxLongBodyBytes,
    ),
    cancel: changes({ call: name }, (takes) => {
      calls.cancel(takes.call);
      return {};
    }),
    result: reads({ call: name, from: whole(0), chars: whole(1, maxPieceChars) }, ({ call, from, chars }) => {
      const whole = calls.textOf(call);
      return { text: whole.slice(from, from + chars), total: whole.length };
    }),
    "resource.read": reads(
      { server: name, uri: name, connection: optional(name) },
      async ({ server, uri, connection }) => {
        known(server);
        const client = clientOf(connection);
        const result = client ? await client.readResource(uri) : await host.readResource(server, uri, { by: "user" });
        const texts = result.contents.map((one) => ("text" in one && typeof one.text === "string" ? one.text : ""));
        return { result, tokens: estimateTokens(texts) };
      },
    ),
    "prompt.get": reads(
      { server: name, name, args: map(text()), connection: optional(name) },
      async ({ server, name: prompt, args, connection }) => {
        known(server);
        const client = clientOf(connection);
        const result = client
          ? await client.getPrompt(prompt, { ...args })
          : await host.getPrompt(server, prompt, { ...args }, { by: "user" });
        return { result, tokens: estimateTokens(result.messages.map(({ content }) => content)) };
      },
    ),
    content: reads({ call: name, index: whole(0) }, ({ call, index }) => ({ block: calls.blockOf(call, index) })),
  };
}

/** Returns how a call ended that has no result. */
export function endOf(thrown: unknown, { aborted }: AbortSignal): EndedCall {
  const message = messageOf(thrown);
  if (aborted) return { how: "cancelled", message };
  return { how: thrown instanceof PortolanError && thrown.code === "denied" ? "refused" : "failed", message };
}
