// @ts-check
import { picture } from "./media.mjs";

/** @typedef {import("portolan/server").Server} Server */

/** @param {Server} server @returns {Server} */
export const addResources = (server) =>
  server
    .resource("test://static-text", {
      name: "Static text",
      mimeType: "text/plain",
      read: () => "This is the content of the static text resource.",
    })
    .resource("test://static-binary", {
      name: "Static binary",
      mimeType: "image/png",
      read: () => Buffer.from(picture, "base64"),
    })
    .resource("test://watched-resource", {
      name: "Watched resource",
      mimeType: "text/plain",
      subscribe: true,
      read: () => "Watched resource content",
    })
    .template("test://template/{id}/data", {
      name: "Template",
      mimeType: "application/json",
      read: ({ id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    });
