import type { FullResult } from "portolan/server";
import type { ServiceResponse } from "portolan-server-kit/service";
import { firstProblem } from "./check-value.ts";
import { isJson, type Json } from "./description.ts";
import type { Input } from "./input.ts";
import type { Operation } from "./operations.ts";
import type { OpenApiLimits } from "./options.ts";

/** The schema of a tool's result; undefined for a tool without one. */
export type Output = Json | undefined;

/** Makes the result of a tool from a response that stands for success. */
export function toResult(
  operation: Operation,
  input: Input,
  response: ServiceResponse,
  output: Output,
  limits: OpenApiLimits,
): FullResult<unknown> {
  const hint = nextPageHint(input, response);
  const result = contentOf(operation, response, output, limits);
  return hint === undefined ? result : { ...result, content: [...result.content, { type: "text", text: hint }] };
}

function contentOf(
  operation: Operation,
  { status, headers, bytes, text, json }: ServiceResponse,
  output: Output,
  limits: OpenApiLimits,
): FullResult<unknown> {
  const mediaType = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (json !== undefined && (output || /\bjson$/.test(mediaType) || mediaType === "")) {
    return jsonResult(status, json, output, limits);
  }
  if (output) return unexpected(status, `expected JSON, got ${mediaType || "no content"}`, cut(text, limits));
  if (bytes.length === 0)
    return said(operation.method === "HEAD" ? headText(status, headers) : `Done (status ${status}).`);
  const kind = /^(image|audio)\//.exec(mediaType)?.[1] as "image" | "audio" | undefined;
  if (kind === undefined && isText(mediaType)) return said(cut(text, limits));
  if (bytes.length > limits.maxFileBytes) {
    return said(`A file of ${bytes.length} bytes (${mediaType || "unknown type"}), too large to be shown here.`);
  }
  const data = Buffer.from(bytes).toString("base64");
  if (kind) return { content: [{ type: kind, data, mimeType: mediaType }] };
  const resource = {
    uri: `openapi://result/${operation.name}`,
    blob: data,
    mimeType: mediaType || "application/octet-stream",
  };
  return { content: [{ type: "resource", resource }] };
}

function jsonResult(status: number, json: unknown, output: Output, limits: OpenApiLimits): FullResult<unknown> {
  const text = cut(JSON.stringify(json), limits);
  if (!output) return said(text);
  const definitions = isJson(output["$defs"]) ? output["$defs"] : {};
  const problem = firstProblem(json, output, definitions);
  if (problem) return unexpected(status, `${problem.path || "the response"} ${problem.message}`, text);
  return { content: [{ type: "text", text }], structuredContent: json };
}

/** Tells of a response that breaks its description. A program would misread it; the request itself has succeeded. */
function unexpected(status: number, why: string, text: string): FullResult<unknown> {
  const first = `The request succeeded (status ${status}), but the response breaks the API's own description: ${why}. Do not send it again because of that. The response:`;
  return {
    content: [
      { type: "text", text: first },
      { type: "text", text },
    ],
    isError: true,
  };
}

function said(text: string): FullResult<unknown> {
  return { content: [{ type: "text", text }] };
}

function cut(text: string, { maxChars }: OpenApiLimits): string {
  if (text.length <= maxChars) return text;
  return `${text.slice(0, maxChars)}\n… cut after ${maxChars} of ${text.length} characters. Ask for less, for example for a smaller page.`;
}

const shownHeaders = ["content-type", "content-length", "etag", "last-modified", "location"];

function headText(status: number, headers: Headers): string {
  const lines = shownHeaders.flatMap((name) => (headers.has(name) ? [`${name}: ${headers.get(name)}`] : []));
  return [`Status ${status}`, ...lines].join("\n");
}

function isText(mediaType: string): boolean {
  return /^text\/|\b(json|xml|yaml|javascript|csv|x-www-form-urlencoded)$/.test(mediaType);
}

/** Returns how to get the next page, from the `next` link of the `Link` header, in arguments of the same tool. */
function nextPageHint(input: Input, { headers }: ServiceResponse): string | undefined {
  const links = [...(headers.get("link") ?? "").slice(0, 10_000).matchAll(/<([^<>]*)>([^<]*)/g)];
  const [, address] = links.find(([, , rest = ""]) => /;\s*rel="?next\b/i.test(rest)) ?? [];
  // A link may be relative to an address that does not matter here.
  const base = "https://example.com";
  if (address === undefined || !URL.canParse(address, base)) return undefined;
  const { searchParams } = new URL(address, base);
  const given = input.arguments.flatMap((argument) => {
    if (argument.kind !== "parameter" || argument.parameter.place !== "query") return [];
    const value = searchParams.get(argument.parameter.name);
    if (value === null) return [];
    const isNumber = firstProblem(value, schemaOf(input, argument.name), {}) && Number.isFinite(Number(value));
    return [`${argument.name}: ${isNumber ? value : JSON.stringify(value)}`];
  });
  if (given.length === 0) return undefined;
  return `There is a next page: call this again with ${given.join(", ")}.`;
}

function schemaOf({ schema }: Input, name: string): Json {
  const { properties } = schema;
  const found = isJson(properties) ? properties[name] : undefined;
  return isJson(found) ? found : {};
}
