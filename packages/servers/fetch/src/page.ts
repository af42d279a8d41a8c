import type { SafeFetch } from "portolan/net";
import { ToolError } from "portolan/server";
import type { Converted } from "./convert.ts";
import type { Settings } from "./options.ts";

/** Format of a page. */
export type Format = "markdown" | "text" | "raw";

/** A fetched document or image. */
export interface Page {
  /** The URL after all redirects. */
  readonly url: string;
  readonly contentType: string;
  /** The document as received. */
  readonly source: string;
  readonly isHtml: boolean;
  readonly image?: Uint8Array;
  /** The converted document, after the first conversion. */
  converted?: Converted;
}

const textTypes =
  /^(text\/|application\/([\w.+-]*\+)?(json|xml|yaml|javascript|ecmascript|x-ndjson|toml|sql|graphql|rtf|x-sh|x-yaml)\b|image\/svg\+xml)/;
const htmlTypes = /^(text\/html|application\/xhtml\+xml)$/;
const imageTypes = /^image\/(png|jpeg|gif|webp|avif)$/;

/** Fetches a URL and determines its type. */
export async function fetchPage(fetch: SafeFetch, url: URL, settings: Settings, signal: AbortSignal): Promise<Page> {
  const headers = {
    "user-agent": "portolan-fetch/0.1.0",
    accept: "text/html, application/xhtml+xml, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5",
    "accept-language": "en, *;q=0.5",
  };
  const response = await fetch(url, { headers, signal });
  const place = response.url;
  if (!response.ok) throw new ToolError(`${place} answered ${response.status}${adviceOn(response.status)}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const header = response.headers.get("content-type") ?? "";
  const contentType = header.split(";", 1)[0]?.trim().toLowerCase() || sniff(bytes);
  if (imageTypes.test(contentType)) return { ...readImage(place, bytes, settings), contentType };
  if (!textTypes.test(contentType) || looksBinary(bytes)) {
    const what = `${contentType}, ${bytes.length} bytes`;
    throw new ToolError(`${place} is not text (${what}); only pages, text and images can be fetched`);
  }
  const charset = /charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(header)?.[1];
  const source = decodeText(bytes, charset);
  return { url: place, contentType, source, isHtml: htmlTypes.test(contentType) };
}

/** Returns true if a page must be converted before it can be shown; documents without markup have one form. */
export function needsConversion({ isHtml, converted }: Page, format: Format): boolean {
  return isHtml && format !== "raw" && converted === undefined;
}

/** Returns the text of a page in a format. */
export function textOf({ isHtml, source, converted }: Page, format: Format): string {
  return format === "raw" || !isHtml ? source : (converted?.[format] ?? "");
}

function readImage(url: string, image: Uint8Array, { maxImageBytes }: Settings): Omit<Page, "contentType"> {
  if (image.length <= maxImageBytes) return { url, source: "", isHtml: false, image };
  throw new ToolError(`${url} is an image of ${image.length} bytes; at most ${maxImageBytes} can be shown`);
}

function adviceOn(status: number): string {
  if (status === 404 || status === 410) return ": page not found; check the URL, or fetch the start page of the site";
  if (status === 401 || status === 403) return ": access denied; fetch another source";
  if (status === 429 || status >= 500) return ": try again later, or fetch another source";
  return "; fetch another source";
}

/** Detects the type of a response without a content type. */
function sniff(bytes: Uint8Array): string {
  if (looksBinary(bytes)) return "application/octet-stream";
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 1_000));
  return /^\s*(<!doctype html|<html|<head|<body)/i.test(head) ? "text/html" : "text/plain";
}

/** Cache of pages, for requests of further parts. */
export interface PageCache {
  get(url: string): Page | undefined;
  /** Keeps a page; called again after its conversion, which adds to its size. */
  set(url: string, page: Page): void;
}

/** Creates a cache that keeps the last used pages for some time. */
export function createCache({ cachePages, cacheLength, cacheMs }: Settings, now: () => number = Date.now): PageCache {
  const pages = new Map<string, { readonly page: Page; readonly until: number; readonly size: number }>();
  let length = 0;
  const remove = (url: string) => {
    length -= pages.get(url)?.size ?? 0;
    pages.delete(url);
  };
  return {
    get(url) {
      const found = pages.get(url);
      if (!found) return undefined;
      if (found.until <= now()) {
        remove(url);
        return undefined;
      }
      pages.delete(url);
      pages.set(url, found);
      return found.page;
    },
    set(url, page) {
      remove(url);
      const size = sizeOf(page);
      if (size > cacheLength) return;
      pages.set(url, { page, until: now() + cacheMs, size });
      length += size;
      for (const oldest of pages.keys()) {
        if (pages.size <= cachePages && length <= cacheLength) break;
        remove(oldest);
      }
    },
  };
}

function sizeOf({ source, converted, image }: Page): number {
  return source.length + (converted ? converted.markdown.length + converted.text.length : 0) + (image?.length ?? 0);
}

/** Bytes at the start of a document that may declare its encoding. */
const headBytes = 4_096;

/** Decodes a document by its byte order mark, the declared charset, its own declaration, or the first that works. */
export function decodeText(bytes: Uint8Array, declared: string | undefined): string {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, headBytes));
  const candidates = [markOf(bytes), declared, declaredIn(head), "utf-8"];
  for (const label of candidates) {
    const text = label === undefined ? undefined : tryDecode(bytes, label);
    if (text !== undefined) return text;
  }
  // Every byte sequence is valid in windows-1252.
  return new TextDecoder("windows-1252").decode(bytes);
}

/** Returns true if bytes are not text in any common encoding. */
export function looksBinary(bytes: Uint8Array): boolean {
  return markOf(bytes) === undefined && bytes.subarray(0, headBytes).includes(0);
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return first === 0xff && second === 0xfe ? "utf-16le" : undefined;
}

function declaredIn(head: string): string | undefined {
  const found =
    /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(head) ??
    /^<\?xml[^>]{0,100}encoding=["']([\w.-]{1,40})/i.exec(head);
  // A document that could be read so far as ASCII is not UTF-16, whatever it declares.
  return found?.[1]?.toLowerCase().startsWith("utf-16") ? "utf-8" : found?.[1];
}

/** Decodes bytes; undefined if the label is unknown or wrong. */
function tryDecode(bytes: Uint8Array, label: string): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
