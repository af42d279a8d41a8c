// @ts-check
import { picture } from "./media.mjs";

/** @typedef {import("portolan/server").Server} Server */

/** @param {Server} server @returns {Server} */
export const addPrompts = (server) =>
  server
    .prompt("test_simple_prompt", {
      description: "Returns a simple text",
      get: () => "This is a simple prompt for testing.",
    })
    .prompt("test_prompt_with_arguments", {
      description: "Returns its arguments",
      arguments: {
        arg1: { description: "The first", required: true, complete: ["testValue1", "otherValue1"] },
        arg2: { description: "The second", required: true },
      },
      get: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
    })
    .prompt("test_prompt_with_embedded_resource", {
      description: "Shows a resource",
      arguments: { resourceUri: { description: "Which one", required: true } },
      get: ({ resourceUri: uri }) => [
        {
          role: "user",
          content: {
            type: "resource",
            resource: { uri, mimeType: "text/plain", text: "Embedded resource content for testing." },
          },
        },
        { role: "user", content: { type: "text", text: "Please process the embedded resource above." } },
      ],
    })
    .prompt("test_prompt_with_image", {
      description: "Shows an image",
      get: () => [
        { role: "user", content: { type: "image", data: picture, mimeType: "image/png" } },
        { role: "user", content: { type: "text", text: "Please analyze the image above." } },
      ],
    });
