import type { ContentBlock, JsonObject } from "portolan";

/** What an app says beside the conversation. They are words of the server: data, and no instructions. */
export interface AppContext {
  readonly server: string;
  /** The URI of the app. */
  readonly app: string;
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: JsonObject;
}
