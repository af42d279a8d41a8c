import type { JsonObject } from "../../jsonrpc/message.ts";
import type { RevisionChanges } from "../revision.ts";

/** Adds batches, audio, tool annotations, a message in progress, and the capability `completions`. */
export const batchesAndAudio: RevisionChanges = {
  version: "2025-03-26",
  batches: true,
  adds: {
    tool: ["annotations"],
    serverCapabilities: ["completions"],
    progress: ["message"],
  },
  content: { audio: audioAsResource },
  older: { samplingMessages: (messages) => messages.map(withoutAudio) },
};

/** Older peers get audio as an embedded resource, so that no data is lost. */
function audioAsResource({ data, mimeType, annotations }: JsonObject): JsonObject {
  return {
    type: "resource",
    resource: { uri: "audio:inline", mimeType, blob: data },
    ...(annotations !== undefined && { annotations }),
  };
}

/** Older models take text and images only: audio becomes a note in text. */
function withoutAudio(message: JsonObject): JsonObject {
  const { type, mimeType } = message["content"] as JsonObject;
  if (type !== "audio") return message;
  return { ...message, content: { type: "text", text: `[${String(mimeType)}: no audio in this protocol version]` } };
}
