import type { ContentBlock, Icon } from "portolan";

/** A picture of one pixel. */
export const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A sound of no length. */
export const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/** Icons are shown by clients since 2025-11-25; addresses are https or data. */
export const icons: Icon[] = [{ src: `data:image/png;base64,${png}`, mimeType: "image/png", sizes: ["1x1"] }];

/** One block of each type. Older clients get what they know instead: a link becomes text, sound an embedded file. */
export const blocks: { readonly [kind: string]: ContentBlock } = {
  text: {
    type: "text",
    text: "Plain text",
    // For whom the block is, how much it matters, and how old it is (`lastModified` since 2025-06-18).
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
