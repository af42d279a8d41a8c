import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CallToolResult, ContentBlock, JsonObject, ResourceContents } from "portolan";
import type { CommandContext } from "../command.ts";
import type { Screen } from "../terminal/screen.ts";

/** Binary content of a result: shown as its size, saved on request. */
interface Attachment {
  readonly bytes: Buffer;
  readonly type: string;
}

/** Formats the result of a call: its content, or its structured content if there is no other. */
export function showResult(
  { content, structuredContent }: CallToolResult,
  screen: Screen,
  hint: string = saveHint,
): string {
  if (content.length > 0) return showContent(content, screen, hint);
  return structuredContent === undefined ? screen.style("dim", "(no content)") : screen.json(structuredContent);
}

/** Formats content: text as it is, other blocks as their kind and size. */
export function showContent(blocks: readonly ContentBlock[], screen: Screen, hint: string = saveHint): string {
  return blocks.map((block) => showBlock(block, screen, hint)).join("\n");
}

/** How to get content that is not text. */
const saveHint = "; save it with --save <folder>";

function showBlock(block: ContentBlock, screen: Screen, hint: string): string {
  switch (block.type) {
    case "text":
      return screen.safe(block.text, { lines: "keep" });
    case "image":
    case "audio":
      return screen.style("dim", `[${block.type} ${screen.safe(block.mimeType)}, ${sizeOf(block.data)}${hint}]`);
    case "resource_link":
      return `${screen.mark("next")} ${screen.safe(block.uri)} ${screen.style("dim", screen.safe(block.description ?? block.name))}`;
    case "resource":
      return showResource(block.resource ?? {}, screen, hint);
    default:
      return screen.style("dim", `[${screen.safe((block as { type: string }).type)}]`);
  }
}

/** Formats the contents of a resource. */
export function showResource(resource: ResourceContents, screen: Screen, hint: string = saveHint): string {
  if ("text" in resource) return screen.safe(resource.text, { lines: "keep" });
  return screen.style("dim", `[${screen.safe(resource.mimeType ?? "bytes")}, ${sizeOf(resource.blob)}${hint}]`);
}

/** Returns the text of a result alone, or its structured content if there is no text. Names what is left out. */
export function textOfResult({ content, structuredContent }: CallToolResult, context: CommandContext): string {
  const isTextless = !content.some((block) => textsIn(block).length > 0);
  if (isTextless && structuredContent !== undefined) return context.screen.json(structuredContent);
  return textOf(content, context);
}

/** Returns the text of content alone: escaped on a terminal, unchanged in a pipe. Names what is left out. */
export function textOf(blocks: readonly ContentBlock[], { screen, warn }: CommandContext): string {
  const left = blocks.filter((block) => textsIn(block).length === 0).map(kindOf);
  if (left.length > 0) warn(`left out, because it is not text: ${left.join(", ")}`);
  const text = blocks.flatMap(textsIn).join("\n");
  return screen.isTerminal ? screen.safe(text, { lines: "keep" }) : text;
}

function textsIn(block: ContentBlock): string[] {
  if (block.type === "text") return [block.text];
  if (block.type === "resource_link") return [block.uri];
  return block.type === "resource" && "text" in block.resource ? [block.resource.text] : [];
}

function kindOf(block: ContentBlock): string {
  const { type } = block;
  const mimeType = type === "resource" ? block.resource.mimeType : "mimeType" in block ? block.mimeType : undefined;
  return mimeType === undefined ? type : `${type} ${mimeType}`;
}

/** Saves binary content into a folder, under our own names. Returns the paths. */
export async function saveContent(blocks: readonly ContentBlock[], folder: string): Promise<string[]> {
  const attachments = blocks.flatMap(attachmentOf);
  if (attachments.length > 0) await mkdir(folder, { recursive: true });
  const paths: string[] = [];
  for (const attachment of attachments) paths.push(await saveUnderFreeName(attachment, folder, paths.length + 1));
  return paths;
}

/** Writes under the first free number. Never overwrites: a server must not decide which file is lost. */
async function saveUnderFreeName({ bytes, type }: Attachment, folder: string, first: number): Promise<string> {
  for (let number = first; ; number += 1) {
    const path = join(folder, `${number}.${extensionOf(type)}`);
    try {
      await writeFile(path, bytes, { flag: "wx" });
      return path;
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code !== "EEXIST") throw reason;
    }
  }
}

function attachmentOf(block: ContentBlock): Attachment[] {
  if (block.type === "image" || block.type === "audio") {
    return [{ bytes: Buffer.from(block.data, "base64"), type: block.mimeType }];
  }
  if (block.type !== "resource") return [];
  const { resource } = block;
  const type = resource.mimeType ?? ("text" in resource ? "text/plain" : "application/octet-stream");
  return [{ bytes: "text" in resource ? Buffer.from(resource.text) : Buffer.from(resource.blob, "base64"), type }];
}

const extensions: { readonly [type: string]: string } = {
  "text/plain": "txt",
  "text/markdown": "md",
  "image/jpeg": "jpg",
  "image/svg+xml": "svg",
  "audio/mpeg": "mp3",
  "application/octet-stream": "bin",
};

/** Returns an extension of letters and digits only, whatever the server calls the type. */
function extensionOf(type: string): string {
  const plain = type.split(";")[0]?.trim().toLowerCase() ?? "";
  return extensions[plain] ?? /^[a-z]+\/([a-z\d]{1,8})$/.exec(plain)?.[1] ?? "bin";
}

function sizeOf(base64: unknown): string {
  const bytes = Buffer.byteLength(String(base64), "base64");
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}

const serverInfo = "io.modelcontextprotocol/serverInfo";

/** Removes the identity of a stateless server, which the protocol adds, from a result. */
export function withoutServerInfo<T extends object>(result: T): T {
  const { _meta, ...rest } = result as { readonly _meta?: JsonObject };
  if (!_meta || !(serverInfo in _meta)) return result;
  const { [serverInfo]: _, ...others } = _meta;
  return (Object.keys(others).length > 0 ? { ...rest, _meta: others } : rest) as T;
}
