import type { CallToolResult, Implementation, JsonObject, Tool } from "portolan";
import type { Answers, Clock } from "portolan/client";
import type { HostCallOptions } from "../api.ts";
import type { Action, SayQuestion } from "../questions.ts";

/** A tool that an app offers, as the host calls it. */
export interface OfferedTool {
  /** The URI of the app. */
  readonly app: string;
  readonly name: string;
  readonly definition: Tool;
  /** Digest of the app's session and the definition. */
  readonly digest: string;
  /** True if the app has changed the definition since it first offered the tool. */
  readonly isChanged: boolean;
  /** Aborts when the app is removed. */
  readonly until: AbortSignal;
  /** Throws if the app does not offer exactly this tool any more. */
  check(): void;
  /** Sends the call to the app. */
  call(args: JsonObject, signal: AbortSignal): Promise<CallToolResult>;
}

/** The parts of a host that an app's session uses, beyond the public methods. A host made by `createHost` has them. */
export interface AppAccess {
  /** Aborts when the host is closed. */
  readonly closed: AbortSignal;
  readonly clock: Clock;
  /** The name and version of the host, as servers and apps read it. */
  readonly info: Implementation;
  /** True if a server's content is no reason for care. */
  trustsContent(server: string): boolean;
  /** Resolves when a server is connected and its tools are in the catalog. */
  settled(server: string, signal?: AbortSignal): Promise<void>;
  /** Resolves if the app may be shown; rejects with "denied". */
  permit(id: string, server: string, action: Extract<Action, { kind: "app" }>, options: HostCallOptions): Promise<void>;
  /** Calls a tool that an app of the server offers, with the consent and the log of all calls. */
  callTool(server: string, tool: OfferedTool, args: JsonObject, options: HostCallOptions): Promise<CallToolResult>;
  /** Returns the function that asks whether to open an address; undefined if the application cannot be asked. */
  visit(server: string, options: Pick<HostCallOptions, "answers">): Answers["openUrl"];
  /** Returns the function that asks a model, by the same rules as for the server; undefined if there is no way to. */
  sample(server: string, options: Pick<HostCallOptions, "answers">): Answers["sample"];
  /** Returns the function that asks whether to send a message; undefined if the application cannot be asked. */
  say(
    server: string,
    options: Pick<HostCallOptions, "answers">,
  ): ((app: string, content: SayQuestion["content"], signal: AbortSignal) => Promise<boolean>) | undefined;
}
