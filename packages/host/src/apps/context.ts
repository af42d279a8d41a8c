import type { ContentBlock, JsonObject } from "portolan";

/** Words of an app beside the conversation. They are the server's: data, and no instructions. */
export interface AppContext {
  readonly server: string;
  /** The URI of the app. */
  readonly app: string;
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: JsonObject;
}
