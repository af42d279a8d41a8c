import type { ContentBlock } from "portolan";
import { isObject } from "portolan/internal";
import { maxAppFileNameChars, maxAppFiles } from "./limits.ts";

/** A file that an app offers to the user. */
export interface AppFile {
  /** The name without folders, and without characters that have a meaning for a system or deceive a reader. */
  readonly name: string;
  readonly mimeType?: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Reads the files that an app offers. Returns undefined unless all of them came with the message. */
export function toAppFiles(contents: readonly ContentBlock[]): AppFile[] | undefined {
  if (contents.length === 0 || contents.length > maxAppFiles) return undefined;
  const files = contents.flatMap((block): AppFile[] => {
    // A link would have to be fetched, with the host's address and from wherever the app likes.
    const resource: unknown = block.type === "resource" ? block.resource : undefined;
    if (!isObject(resource) || typeof resource["uri"] !== "string") return [];
    const { uri, mimeType, text, blob } = resource;
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : bytesOf(blob);
    return bytes ? [{ name: safeNameOf(uri as string), ...(typeof mimeType === "string" && { mimeType }), bytes }] : [];
  });
  return files.length === contents.length ? files : undefined;
}

function bytesOf(blob: unknown): Uint8Array<ArrayBuffer> | undefined {
  try {
    return typeof blob === "string" ? Uint8Array.from(atob(blob), (char) => char.charCodeAt(0)) : undefined;
  } catch {
    // Not base64.
    return undefined;
  }
}

/** Names that are devices on Windows, whatever follows the first dot. */
const devices = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

/** Returns the last part of a URI as the name of a file. */
function safeNameOf(uri: string): string {
  const [path = ""] = uri.split(/[?#]/, 1);
  let name = path.split("/").at(-1) ?? "";
  try {
    name = decodeURIComponent(name);
  } catch {
    // Shown as it was written.
  }
  const safe = name
    .normalize("NFC")
    // Among them the marks that change the direction of a text: "seats\u202Efdp.exe" reads as a PDF.
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "")
    .replace(/[/\\:*?"<>|]/g, "_")
    .replace(/^[\s.]+|[\s.]+$/g, "")
    .replace(devices, "_$&");
  const dot = safe.lastIndexOf(".");
  const ending = dot > 0 && safe.length - dot <= 10 ? safe.slice(dot) : "";
  return safe.slice(0, safe.length - ending.length).slice(0, maxAppFileNameChars - ending.length) + ending || "file";
}
