import type { CallToolResult, ContentBlock, JsonObject, LogLevel } from "portolan";
import type { ContentOrigins, HostCallOptions } from "../api.ts";
import type { HostAnswers } from "../questions.ts";
import type { AppTool } from "./app-tools.ts";
import type { AppContext } from "./context.ts";
import type { AppFile } from "./files.ts";
import type { AppDisplayMode, AppSurroundings } from "./protocol.ts";
import type { AppResource } from "./resource.ts";

/** How the messages of an app travel: `postMessage` in a browser, anything else elsewhere. */
export interface AppChannel {
  /** Passes each message of the app to `receive`, in the order of their arrival. */
  open(receive: (message: unknown) => void): void;
  /** Sends a message to the app. */
  post(message: JsonObject): void;
  /** Removes the app. Called once, when its session is over. */
  close(): void;
}

/** The state of an app: it loads, starts, is ready, is told of its end, is gone. */
export type AppState = "loading" | "starting" | "ready" | "closing" | "closed";

/** Why an app is gone: the host closed it, it did not start, it sent too much, or its channel failed. */
export type AppEnd = "closed" | "no-start" | "flood" | "too-large" | "failed";

/** Options of `openApp`. */
export interface OpenAppOptions {
  /** The server of the tool. An app reaches no other. */
  readonly server: string;
  /** The tool whose app is shown. */
  readonly tool: string;
  /** The arguments of the call that is shown. Default: none yet; `sendInput` sends them. */
  readonly args?: JsonObject;
  /** The result of the call. A promise that rejects becomes a cancellation. Default: none yet; `sendResult` sends it. */
  readonly result?: CallToolResult | Promise<CallToolResult>;
  /** The id of the call, which the app may read. */
  readonly callId?: string;
  /** The surroundings that the app can read. Default: nothing. */
  readonly surroundings?: AppSurroundings;
  /** Display modes that the application has. Default: ["inline"]. */
  readonly displayModes?: readonly AppDisplayMode[];
  /** Switches to a display mode that the app asks for. Returns the mode that holds then. */
  readonly onDisplayMode?: (mode: AppDisplayMode) => AppDisplayMode | Promise<AppDisplayMode>;
  /** Takes a message that the app wants to send, after the user's consent. Without it, apps send no messages. */
  readonly onMessage?: (content: readonly ContentBlock[]) => void | Promise<void>;
  /**
   * Offers files of the app to the user, with their names and sizes, and returns whether they are saved. Without it, apps
   * offer no files.
   */
  readonly onDownload?: (files: readonly AppFile[]) => boolean | Promise<boolean>;
  /** True if the app may ask the host's models, with the consent and the budget of its server. Default: false. */
  readonly sampling?: boolean;
  /**
   * True if models may call tools that the app itself offers, in runs that get the session in `apps`. Default: false.
   */
  readonly appTools?: boolean;
  /** Is told when the tools of the app have changed. */
  readonly onTools?: (tools: readonly AppTool[]) => void;
  /** Is told when the app has changed its words beside the conversation. */
  readonly onContext?: (context: AppContext) => void;
  /** Takes the log messages of the app. */
  readonly onLog?: (message: { readonly level: LogLevel; readonly data: unknown }) => void;
  /** Is told of each new state. */
  readonly onState?: (state: AppState) => void;
  /** The conversation that the app's messages and words enter. */
  readonly conversation?: ContentOrigins;
  /** Answers that come before those of the host. */
  readonly answers?: HostAnswers;
  /** The run that the app belongs to. */
  readonly run?: string;
  /** An app that does not start within this time is closed. Default: 60 seconds. */
  readonly startMs?: number;
  /** The app is removed at the latest this long after it was told of its end. Default: 2 seconds. */
  readonly teardownMs?: number;
  /** Closes the app. */
  readonly signal?: AbortSignal;
}

/** An app while it is shown. */
export interface AppSession {
  /** Random, so that it cannot be guessed. */
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly resource: AppResource;
  readonly state: AppState;
  /** Resolves when the app is gone. */
  readonly closed: Promise<AppEnd>;
  /** The last words of the app beside the conversation, until they are taken. */
  readonly context: AppContext | undefined;
  /** Returns the last words of the app for the next turn of the model, and forgets them. */
  takeContext(): AppContext | undefined;
  /** The tools that the app offers now; none without `appTools`, and none when it is gone. */
  readonly tools: readonly AppTool[];
  /** Resolves when `tools` is as the app last told of them, at the latest after a second. */
  settleTools(): Promise<void>;
  /**
   * Calls one of `tools`, with the consent that a tool of its server needs. Rejects if the app is gone, or does not offer
   * exactly this tool any more.
   */
  callTool(tool: AppTool, args?: JsonObject, options?: HostCallOptions): Promise<CallToolResult>;
  /** Connects the app, once. */
  connect(channel: AppChannel): void;
  /** Sends arguments that are not complete yet. Ignored after `sendInput`. */
  sendPartialInput(args: JsonObject): void;
  /** Sends the complete arguments, once. */
  sendInput(args: JsonObject): void;
  /** Sends the result of the call, once. */
  sendResult(result: CallToolResult): void;
  /** Says that the call has no result. */
  sendCancelled(reason?: string): void;
  /** Tells the app what has changed in its surroundings. */
  setSurroundings(changed: AppSurroundings): void;
  /** Tells the app that it is removed, waits for its answer or for `teardownMs`, and removes it. */
  close(reason?: string): Promise<void>;
}
