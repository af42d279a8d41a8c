import type { JsonObject } from "portolan";

/** Our end of a channel. */
export interface PeerChannel {
  send(message: unknown): void;
  onPost?: ((message: JsonObject) => void) | undefined;
}

/** What the tests use of the official view. */
export interface OfficialView {
  getHostCapabilities(): JsonObject | undefined;
  getHostContext(): JsonObject | undefined;
  callServerTool(params: { name: string; arguments?: object }): Promise<JsonObject>;
  readServerResource(params: { uri: string }): Promise<JsonObject>;
  openLink(params: { url: string }): Promise<JsonObject>;
  sendMessage(params: { role: "user"; content: object[] }): Promise<JsonObject>;
  updateModelContext(params: object): Promise<JsonObject>;
  requestDisplayMode(params: { mode: string }): Promise<JsonObject>;
  sendLog(params: { level: string; data: unknown }): Promise<void>;
}

export function connectView(
  channel: PeerChannel,
): Promise<{ readonly view: OfficialView; readonly told: [kind: string, params: JsonObject][] }>;

export function openBridge(
  url: string,
  tool: string,
  post: (message: JsonObject) => void,
): Promise<{
  readonly uri: string;
  readonly content: JsonObject;
  receive(message: unknown): void;
  show(args: object): Promise<void>;
  teardown(): Promise<unknown>;
  close(): Promise<void>;
}>;
