import type { JsonObject } from "../../jsonrpc/message.ts";
import type { RevisionChanges } from "../revision.ts";

/** Batches, audio, tool annotations, a message beside progress, and completion as a capability. */
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

/** An older peer gets the sound as an embedded file, so that nothing is lost. */
function audioAsResource({ data, mimeType, annotations }: JsonObject): JsonObject {
  return {
    type: "resource",
    resource: { uri: "audio:inline", mimeType, blob: data },
    ...(annotations !== undefined && { annotations }),
  };
}

/** Whoever takes texts and images only is told what it does not hear. */
function withoutAudio(message: JsonObject): JsonObject {
  const { type, mimeType } = message["content"] as JsonObject;
  if (type !== "audio") return message;
  return { ...message, content: { type: "text", text: `[${String(mimeType)}: no audio in this protocol version]` } };
}
