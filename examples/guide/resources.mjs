// @ts-check
// Pages that clients list, read and subscribe to, and a prompt about them.
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
      const onChange = () => changed();
      changes.on(uri, onChange);
      return () => changes.off(uri, onChange);
    },
  })
  .prompt("review", {
    description: "Asks for a review of a page",
    arguments: { page: { required: true, complete: [...pages.keys()] }, tone: { description: "For example: strict" } },
    get: ({ page, tone = "friendly" }) => [
      { role: "user", content: { type: "text", text: `Give this page a ${tone} review.` } },
      { role: "user", content: { type: "resource_link", uri: `handbook://pages/${page}`, name: page } },
    ],
  });

/** Writes a page and notifies clients; every change of the handbook goes through here. */
export function write(/** @type {string} */ page, /** @type {string} */ text) {
  const isNew = !pages.has(page);
  pages.set(page, text);
  if (isNew) server.publish("resources/list_changed", {});
  else changes.emit(`handbook://pages/${page}`);
}
// endregion

/** Returns the number of active watches on a URI, for the tests. */
export const watchers = (/** @type {string} */ uri) => changes.listenerCount(uri);
