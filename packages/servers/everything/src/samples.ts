import type { ContentBlock, Icon } from "portolan";

/** A picture of one pixel. */
export const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** An empty sound. */
export const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/** Clients since 2025-11-25 show icons; URLs are https or data. */
export const icons: Icon[] = [{ src: `data:image/png;base64,${png}`, mimeType: "image/png", sizes: ["1x1"] }];

/** One block of each type. Older clients get a known type instead: text for a link, an embedded file for audio. */
export const blocks: { readonly [kind: string]: ContentBlock } = {
  text: {
    type: "text",
    text: "Plain text",
    // Audience, importance, and age of the block (`lastModified` since 2025-06-18).
    annotations: { audience: ["user", "assistant"], priority: 1, lastModified: "2026-07-28T00:00:00Z" },
  },
  image: { type: "image", data: png, mimeType: "image/png" },
  audio: { type: "audio", data: wav, mimeType: "audio/wav" },
  link: { type: "resource_link", uri: "everything://readme", name: "readme", mimeType: "text/markdown" },
  "embedded-text": {
    type: "resource",
    resource: { uri: "everything://embedded", mimeType: "text/plain", text: "Embedded text" },
  },
  "embedded-blob": { type: "resource", resource: { uri: "everything://pixel", mimeType: "image/png", blob: png } },
};
