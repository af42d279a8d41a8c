import { basename } from "node:path";
import { ToolError } from "portolan/server";
import { annotations, count, object, string } from "portolan-server-kit";
import { explainSystemErrors, linesOf, type OpenFile, uriOf } from "portolan-server-kit/files";
import { typeOfName } from "../disk/mime.ts";
import type { Limits } from "../options.ts";
import { decode, type Encoding, encodingOf, sampleBytes, withoutRest } from "../text/encoding.ts";
import { createReader, type Range, readBytes, readFromLine, readFromOffset, readLastLines } from "../text/range.ts";
import { type CreateTool, formatSize, pathSchema } from "./tool-parts.ts";

interface Input {
  path: string;
  from?: number;
  lines?: number;
  offset?: number;
  bytes?: number;
  as?: "text" | "bytes";
}

interface Output {
  path: string;
  mimeType: string;
  size: number;
  offset: number;
  text?: string;
  encoding?: Encoding;
  from?: number;
  lines?: number;
  bytes?: number;
  nextFrom?: number;
  nextOffset?: number;
}

const defaultLines = 1_000;

export const readTool: CreateTool<Input, Output> = (workspace) => ({
  title: "Read a file",
  description: `Reads a file. Text: from line \`from\` (negative: from the end) or from byte \`offset\`. Default: ${defaultLines} lines. Images, audio and other bytes are returned as such. Long files come in parts: pass nextOffset as offset.`,
  input: object(
    {
      path: pathSchema,
      from: { type: "integer", description: "First line, from 1; -20 means the last 20 lines" },
      lines: count(`Maximum number of lines. Default: ${defaultLines}`, { minimum: 1 }),
      offset: count("Start at this byte instead of a line"),
      bytes: count("Maximum number of bytes", { minimum: 1, maximum: workspace.settings.limits.blobBytes }),
      as: { enum: ["text", "bytes"], description: "Overrides the detected type" },
    },
    ["from", "lines", "offset", "bytes", "as"],
  ),
  output: object(
    {
      path: string("The file"),
      mimeType: string("Media type"),
      size: count("Size of the whole file in bytes"),
      offset: count("Start of this part in bytes"),
      text: string("The text; other bytes are in the content"),
      encoding: string("Encoding of the text"),
      from: count("Number of the first line, if it is known", { minimum: 1 }),
      lines: count("Number of lines in this part"),
      bytes: count("Number of bytes in this part"),
      nextFrom: count("First line of the next part"),
      nextOffset: count("Start of the next part: pass it as offset"),
    },
    ["text", "encoding", "from", "lines", "bytes", "nextFrom", "nextOffset"],
  ),
  annotations: annotations.reads,
  run(input, ctx) {
    const { path, from, offset } = input;
    return explainSystemErrors(path, async () => {
      if (from !== undefined && offset !== undefined) throw new ToolError("from and offset cannot be combined");
      const file = await (await workspace.jailFor(ctx)).openFile(path);
      try {
        return await readOpen(file, input, workspace.settings.limits, ctx.signal);
      } finally {
        await file.handle.close();
      }
    });
  },
});

async function readOpen(file: OpenFile, input: Input, limits: Limits, signal: AbortSignal) {
  const { handle, stats, place } = file;
  const read = createReader(handle, stats.size);
  const sample = await read(0, sampleBytes);
  const found = encodingOf(sample);
  const isWide = found?.startsWith("utf-16") ?? false;
  const guessed = isWide && stats.size > limits.readBytes ? undefined : found;
  const encoding = input.as === "bytes" ? undefined : (guessed ?? (input.as === "text" ? "windows-1252" : undefined));
  const name = basename(place.real);
  const type = typeOfName(name) ?? (encoding ? "text/plain" : "application/octet-stream");
  const about = { path: place.path, mimeType: type, size: stats.size };
  if (!encoding) return bytesOf(file, input, limits, about);
  if (isWide) return wideText(await read(0, limits.readBytes), input, encoding, about);
  const { from = 1, lines = defaultLines, offset } = input;
  const options = {
    lines,
    maxBytes: Math.min(limits.readBytes, input.bytes ?? limits.readBytes),
    size: stats.size,
    signal,
  };
  if (offset !== undefined)
    return textOf(trimmed(await readFromOffset(read, offset, options), encoding), encoding, about);
  if (from < 0) {
    const last = await readLastLines(read, { ...options, lines: Math.min(-from, lines) });
    return textOf(trimmed(last, encoding), encoding, about);
  }
  const range = await readFromLine(read, Math.max(1, from), options);
  if (range.lines === 0 && from > 1 && (range.from ?? 1) < from + 1 && range.bytes.length === 0) {
    throw new ToolError(`${place.path} ends before line ${from}; from: -${defaultLines} reads its end`);
  }
  return textOf(range, encoding, about);
}

/** Moves the start of a range out of the middle of a character. */
function trimmed(range: Range, encoding: Encoding): Range {
  if (encoding !== "utf-8") return range;
  const bytes = withoutRest(range.bytes);
  return { ...range, bytes, offset: range.offset + range.bytes.length - bytes.length };
}

type About = Pick<Output, "path" | "mimeType" | "size">;

function textOf({ offset, bytes, from, lines, isAtEnd }: Range, encoding: Encoding, about: About) {
  const text = decode(bytes, encoding);
  const goesOn = !isAtEnd && { nextOffset: offset + bytes.length };
  const isWhole = bytes.at(-1) === 10;
  const nextFrom = !isAtEnd && from !== undefined && { nextFrom: from + lines - (isWhole ? 0 : 1) };
  const known = from !== undefined && { from };
  return withText(text, {
    ...about,
    offset,
    text,
    encoding,
    ...known,
    lines,
    bytes: bytes.length,
    ...nextFrom,
    ...goesOn,
  });
}

/** UTF-16 text is read completely, and its lines are counted in memory. */
function wideText(bytes: Uint8Array, { from = 1, lines = defaultLines }: Input, encoding: Encoding, about: About) {
  const all = linesOf(decode(bytes, encoding));
  const start = from < 0 ? Math.max(0, all.length + from) : Math.max(0, from - 1);
  const some = all.slice(start, start + lines);
  const text = some.join("");
  const next = start + some.length;
  const nextFrom = next < all.length && { nextFrom: next + 1 };
  return withText(text, { ...about, offset: 0, text, encoding, from: start + 1, lines: some.length, ...nextFrom });
}

function withText(text: string, output: Output) {
  const { from, lines = 0, nextFrom, nextOffset, size } = output;
  const isMore = nextFrom !== undefined || nextOffset !== undefined;
  const which = from === undefined ? `${lines} lines` : `lines ${from}–${from + lines - 1}`;
  const how = nextOffset === undefined ? `from: ${nextFrom}` : `offset: ${nextOffset}`;
  const note = { type: "text" as const, text: `[${which} of ${formatSize(size)}; continue with ${how}]` };
  return { content: [{ type: "text" as const, text }, ...(isMore ? [note] : [])], structuredContent: output };
}

async function bytesOf({ handle, stats, place }: OpenFile, input: Input, limits: Limits, about: About) {
  if (input.from !== undefined) {
    throw new ToolError(`${about.path} is not text and has no lines; leave out from, or use offset and bytes`);
  }
  const { offset = 0, bytes: wanted = limits.blobBytes } = input;
  const bytes = await readBytes(
    handle,
    offset,
    Math.max(0, Math.min(wanted, limits.blobBytes, stats.size - offset)),
    stats.size,
  );
  const end = offset + bytes.length;
  const isWhole = offset === 0 && end >= stats.size;
  const data = bytes.toString("base64");
  const { mimeType } = about;
  const kind = isWhole && /^(image|audio)\//.exec(mimeType)?.[1];
  const blob = { type: "resource" as const, resource: { uri: uriOf(place.real), mimeType, blob: data } };
  const block = kind ? { type: kind as "image" | "audio", data, mimeType } : blob;
  const output = { ...about, offset, bytes: bytes.length, ...(end < stats.size && { nextOffset: end }) };
  const range = isWhole ? formatSize(stats.size) : `bytes ${offset}–${end} of ${stats.size}`;
  return {
    content: [{ type: "text" as const, text: `${about.path}: ${mimeType}, ${range}` }, block],
    structuredContent: output,
  };
}
