import type { JsonObject, Tool } from "portolan";
import type { ClientExtension } from "portolan/client";
import { array, isObject, number, object, optional, record, string } from "portolan/internal";

/** The id of the extension MCP Apps. */
export const appsId = "io.modelcontextprotocol/ui";

/** The media type of an app. */
export const appMimeType = "text/html;profile=mcp-app";

/** The version of the protocol between an app and its host, which has versions of its own. */
export const appProtocolVersion = "2026-01-26";

/** Declares to servers that the host shows apps: `createHost({ extensions: [apps()] })`. */
export function apps(): ClientExtension {
  return { id: appsId, settings: { mimeTypes: [appMimeType] }, on: () => ({}) };
}

/** Returns the URI of a tool's app; undefined if the tool has none. */
export function appUriOf({ _meta }: Pick<Tool, "_meta">): string | undefined {
  const ui = _meta?.["ui"];
  // Older servers write the flat member.
  const uri = (isObject(ui) ? ui["resourceUri"] : undefined) ?? _meta?.["ui/resourceUri"];
  return typeof uri === "string" && uri.startsWith("ui://") ? uri : undefined;
}

/** How an app is placed: in the conversation, over the whole window, or in a window of its own. */
export type AppDisplayMode = "inline" | "fullscreen" | "pip";

/** The surroundings of an app. Members that only the page knows, such as the theme, come from the application. */
export interface AppSurroundings {
  readonly theme?: "light" | "dark";
  /** Style variables by name, and fonts, as the specification lists them. */
  readonly styles?: JsonObject;
  readonly displayMode?: AppDisplayMode;
  readonly containerDimensions?: JsonObject;
  /** A language tag such as "en-GB". */
  readonly locale?: string;
  readonly timeZone?: string;
  readonly userAgent?: string;
  readonly platform?: "web" | "desktop" | "mobile";
  readonly deviceCapabilities?: { readonly touch?: boolean; readonly hover?: boolean };
  readonly safeAreaInsets?: JsonObject;
}

type Check = ReturnType<typeof object>;

const block = object({ type: string });
const hasName = object({ name: string, arguments: optional(record()) });

/** The requests that a host answers, and the check of their params. */
export const appRequests: { readonly [method: string]: Check } = {
  ping: record(),
  "ui/initialize": object({
    protocolVersion: string,
    appInfo: optional(object({ name: string, version: string })),
    appCapabilities: optional(record()),
  }),
  "tools/call": hasName,
  "resources/read": object({ uri: string }),
  "ui/open-link": object({ url: string }),
  "ui/message": object({ role: string, content: array(block) }),
  "ui/update-model-context": object({ content: optional(array(block)), structuredContent: optional(record()) }),
  "ui/request-display-mode": object({ mode: string }),
  // From the draft of the extension.
  "ui/download-file": object({ contents: array(block) }),
  "sampling/createMessage": object({ messages: array(object({ role: string })), maxTokens: number }),
};

/** The notifications that a host takes, and the check of their params. */
export const appNotifications: { readonly [method: string]: Check } = {
  "ui/notifications/initialized": record(),
  "ui/notifications/size-changed": object({ width: optional(number), height: optional(number) }),
  "notifications/message": object({ level: string, logger: optional(string) }),
  "notifications/cancelled": record(),
  // From the draft of the extension.
  "ui/notifications/request-teardown": record(),
  "notifications/tools/list_changed": record(),
};
