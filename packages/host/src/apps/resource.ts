import type { ReadResourceResult, Resource } from "portolan";
import { PortolanError } from "portolan";
import { isObject, nameOf } from "portolan/internal";
import { maxAppHtmlChars } from "./limits.ts";
import { appMimeType } from "./protocol.ts";
import { type DeclaredGrant, readGrant } from "./sources.ts";

/** An app as its server wrote it: the document, and what it declares. */
export interface AppResource extends DeclaredGrant {
  readonly uri: string;
  readonly html: string;
  /** True if the app wants a border around it. Undefined if it does not care. */
  readonly border?: boolean;
}

/** Reads an app from a resource. Metadata of the content wins over the listing. Throws if it is no app. */
export function toAppResource(
  uri: string,
  { contents }: ReadResourceResult,
  listed: Resource | undefined,
): AppResource {
  const content = contents.find((one) => one.uri === uri) ?? contents[0];
  if (!content) throw invalid(uri, "the server returned no content");
  const mimeType = content.mimeType?.replace(/\s/g, "").toLowerCase();
  if (mimeType !== appMimeType) {
    throw invalid(uri, `expected the media type ${appMimeType}, got ${nameOf(content.mimeType)}`);
  }
  const html = "text" in content ? content.text : decode(uri, content.blob);
  if (html.length > maxAppHtmlChars) throw invalid(uri, `the document is longer than ${maxAppHtmlChars} characters`);
  const ui = [content._meta?.["ui"], listed?._meta?.["ui"]].find(isObject) ?? {};
  const border = ui["prefersBorder"];
  return { uri, html, ...readGrant(ui), ...(typeof border === "boolean" && { border }) };
}

function decode(uri: string, blob: string): string {
  // Four characters of base64 are three bytes.
  if (blob.length > maxAppHtmlChars * 1.4)
    throw invalid(uri, `the document is longer than ${maxAppHtmlChars} characters`);
  try {
    const bytes = Uint8Array.from(atob(blob), (char) => char.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new PortolanError("answer-invalid", `App ${uri}: its blob is no text in base64 and UTF-8`, { cause });
  }
}

function invalid(uri: string, why: string): PortolanError {
  return new PortolanError("answer-invalid", `App ${uri}: ${why}`);
}
