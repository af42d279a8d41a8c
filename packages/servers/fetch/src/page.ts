import type { SafeFetch } from "portolan/net";
import { ToolError } from "portolan/server";
import { decodeText, looksBinary } from "./charset.ts";
import type { Converted } from "./convert.ts";
import type { Settings } from "./options.ts";
import type { Convert } from "./worker.ts";

/** How a page is shown. */
export type Format = "markdown" | "text" | "raw";

/** What an address has: a document, or an image. */
export interface Page {
  /** Who gave it, after all redirects. */
  readonly url: string;
  readonly contentType: string;
  /** The document as it came. */
  readonly source: string;
  readonly isHtml: boolean;
  readonly image?: Uint8Array;
  /** What was made of it, once somebody asked. */
  converted?: Converted;
}

const textTypes =
  /^(text\/|application\/([\w.+-]*\+)?(json|xml|yaml|javascript|ecmascript|x-ndjson|toml|sql|graphql|rtf|x-sh|x-yaml)\b|image\/svg\+xml)/;
const htmlTypes = /^(text\/html|application\/xhtml\+xml)$/;
const imageTypes = /^image\/(png|jpeg|gif|webp|avif)$/;

/** Fetches an address and says what it is. */
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
    throw new ToolError(`${place} is no text (${what}); only pages, texts and images can be fetched`);
  }
  const charset = /charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(header)?.[1];
  const source = decodeText(bytes, charset);
  return { url: place, contentType, source, isHtml: htmlTypes.test(contentType) };
}

/** The text of a page in a format; what has no markup is the same in all of them. */
export async function showPage(page: Page, format: Format, convert: Convert, signal: AbortSignal): Promise<string> {
  if (format === "raw" || !page.isHtml) return page.source;
  page.converted ??= await convert({ html: page.source, url: page.url }, signal);
  return page.converted[format];
}

function readImage(url: string, image: Uint8Array, { maxImageBytes }: Settings): Omit<Page, "contentType"> {
  if (image.length <= maxImageBytes) return { url, source: "", isHtml: false, image };
  throw new ToolError(`${url} is an image of ${image.length} bytes; at most ${maxImageBytes} can be shown`);
}

function adviceOn(status: number): string {
  if (status === 404 || status === 410)
    return ": there is no such page; check the address, or fetch the site's start page";
  if (status === 401 || status === 403) return ": it is not for everybody; fetch another source";
  if (status === 429 || status >= 500) return ": try again later, or fetch another source";
  return "; fetch another source";
}

/** What bytes are of which nothing was said. */
function sniff(bytes: Uint8Array): string {
  if (looksBinary(bytes)) return "application/octet-stream";
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 1_000));
  return /^\s*(<!doctype html|<html|<head|<body)/i.test(head) ? "text/html" : "text/plain";
}
