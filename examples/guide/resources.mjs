// @ts-check
// Pages that can be listed, read and followed, and a prompt about them.
// region handbook
import { EventEmitter } from "node:events";
import { createServer } from "portolan/server";

const pages = new Map([
  ["intro", "# Welcome"],
  ["install", "# Installing"],
]);
const changes = new EventEmitter();

export const server = createServer({ name: "handbook", version: "1.0.0" })
  .resource("handbook://motto", { name: "Motto", mimeType: "text/plain", read: () => "Short pages" })
  .resource("handbook://logo", { name: "Logo", mimeType: "image/gif", read: () => new TextEncoder().encode("GIF89a") })
  .template("handbook://pages/{page}", {
    name: "page",
    mimeType: "text/markdown",
    cache: { ttlMs: 60_000, cacheScope: "public" },
    list: () => [...pages.keys()].map((page) => ({ uri: `handbook://pages/${page}`, name: page })),
    complete: { page: (value) => [...pages.keys()].filter((page) => page.includes(value)) },
    read: ({ page }) => pages.get(String(page)),
    watch(uri, changed) {
      const hear = () => changed();
      changes.on(uri, hear);
      return () => changes.off(uri, hear);
    },
  })
  .prompt("review", {
    description: "Asks for a review of a page",
    arguments: { page: { required: true, complete: [...pages.keys()] }, tone: { description: "Such as strict" } },
    get: ({ page, tone = "friendly" }) => [
      { role: "user", content: { type: "text", text: `Give this page a ${tone} review.` } },
      { role: "user", content: { type: "resource_link", uri: `handbook://pages/${page}`, name: page } },
    ],
  });

/** Called by whatever changes the handbook. */
export function write(/** @type {string} */ page, /** @type {string} */ text) {
  const isNew = !pages.has(page);
  pages.set(page, text);
  if (isNew) server.publish("resources/list_changed", {});
  else changes.emit(`handbook://pages/${page}`);
}
// endregion

/** How many watches run. */
export const watchers = (/** @type {string} */ uri) => changes.listenerCount(uri);
