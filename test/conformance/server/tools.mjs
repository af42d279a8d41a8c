// @ts-check
// Tools that ask no questions.
import { setTimeout as pause } from "node:timers/promises";
import { ToolError } from "portolan/server";
import { picture, sound } from "./media.mjs";
import { contact, place } from "./schemas.mjs";

/** @typedef {import("portolan/server").Server} Server */

const stepMs = 50;
const image = /** @type {const} */ ({ type: "image", data: picture, mimeType: "image/png" });

/** @param {Server} server @returns {Server} */
export const addTools = (server) =>
  server
    .tool("test_simple_text", {
      description: "Returns a text",
      run: () => "This is a simple text response for testing.",
    })
    .tool("test_image_content", { description: "Returns an image", run: () => [image] })
    .tool("test_audio_content", {
      description: "Returns a sound",
      run: () => [{ type: "audio", data: sound, mimeType: "audio/wav" }],
    })
    .tool("test_embedded_resource", {
      description: "Returns an embedded resource",
      run: () => [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
    })
    .tool("test_multiple_content_types", {
      description: "Returns a text, an image and a resource",
      run: () => [
        { type: "text", text: "Multiple content types test:" },
        image,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
      ],
    })
    .tool("test_error_handling", {
      description: "Fails",
      run() {
        throw new ToolError("This tool intentionally returns an error for testing");
      },
    })
    .tool("test_tool_with_progress", {
      description: "Reports progress",
      async run(_, ctx) {
        for (const progress of [0, 50, 100]) {
          ctx.progress(progress, 100, `Completed step ${progress} of 100`);
          await pause(stepMs);
        }
        return "Progress was reported";
      },
    })
    .tool("test_tool_with_logging", {
      description: "Logs three times",
      async run(_, ctx) {
        ctx.log("info", "Tool execution started");
        await pause(stepMs);
        ctx.log("info", "Tool processing data");
        await pause(stepMs);
        ctx.log("info", "Tool execution completed");
        return "Logged three times";
      },
    })
    .tool("test_logging_tool", {
      description: "Logs to clients that request it",
      run(_, ctx) {
        ctx.log("info", "The client requested this log level");
        return "Logged";
      },
    })
    .tool("test_reconnection", {
      description: "Closes its stream before the result",
      async run(_, ctx) {
        ctx.hangUp();
        await pause(2 * stepMs);
        return "The client has reconnected";
      },
    })
    .tool("test_x_mcp_header", {
      description: "Takes a region, which clients repeat in a header",
      input: place,
      run: ({ region }) => `The region is ${region ?? "not given"}`,
    })
    .tool("json_schema_2020_12_tool", {
      description: "Has an input schema that uses much of JSON Schema 2020-12",
      input: contact,
      run: (args) => JSON.stringify(args),
    });

/** @param {string} uri @param {string} mimeType @param {string} text */
const embedded = (uri, mimeType, text) =>
  /** @type {const} */ ({ type: "resource", resource: { uri, mimeType, text } });
