import { type MaybePromise, whenDone } from "../../async.ts";
import { nameOf, PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidParams, resourceNotFound } from "../../protocol/errors.ts";
import { complete, type Outcome } from "../../protocol/revision.ts";
import { isObject } from "../../schema/shape.ts";
import type { ReadReturn, TemplateValues } from "../define/definition.ts";
import type { CompiledResource, CompiledTemplate } from "../define/resources.ts";
import { runAround } from "../extension.ts";
import { maxUriCharacters } from "../limits.ts";
import { reportError, type ServerRuntime } from "../runtime.ts";
import { HandlerContext } from "./context.ts";
import type { ServedExchange } from "./exchange.ts";
import { type Produced, runHandler } from "./exchange.ts";

/** Returns the resource of a URI: the fixed one, or else the first template that matches. */
export function findResource(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  uri: string,
): { readable: CompiledResource | CompiledTemplate; values?: TemplateValues } | undefined {
  if (uri.length > maxUriCharacters)
    throw invalidParams(`uri: expected at most ${maxUriCharacters} characters, got ${uri.length}`);
  const { resources, templates } = runtime.snapshot;
  const fixed = resources.find(uri, exchange);
  if (fixed) return { readable: fixed };
  for (const readable of templates.visible(exchange)) {
    const values = readable.template?.match(uri);
    if (values) return { readable, values };
  }
  return undefined;
}

/** Answers `resources/read`. */
export function readResource(runtime: ServerRuntime, exchange: ServedExchange): MaybePromise<Outcome> {
  const uri = exchange.params["uri"] as string;
  const found = findResource(runtime, exchange, uri);
  if (!found) {
    reportBraces(runtime);
    throw resourceNotFound(uri);
  }
  const { readable, values } = found;
  const read = () => runHandler(runtime, exchange, () => readOne(runtime, exchange, uri, readable, values));
  return readable.around.length === 0 ? read() : runAround(readable.around, exchange, read);
}

/** Reports resources whose author meant templates, once: no client finds them. Those of another server are its own. */
function reportBraces({ snapshot }: ServerRuntime): void {
  if (snapshot.hasReportedBraces) return;
  snapshot.hasReportedBraces = true;
  for (const { key } of snapshot.options.leaveOutInvalid ? [] : snapshot.parts.resources) {
    if (!/\{.*\}/.test(key)) continue;
    const why = `Resource "${key}": only this text itself is found, with its braces; define it with .template(…)`;
    reportError(snapshot.options, new PortolanError("invalid-definition", why), {});
  }
}

function readOne(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  uri: string,
  readable: CompiledResource | CompiledTemplate,
  values: TemplateValues | undefined,
): MaybePromise<Produced> {
  const context = new HandlerContext(exchange, runtime, readable.makeApp);
  const returned =
    "template" in readable ? readable.definition.read(values ?? {}, context, uri) : readable.definition.read(context);
  return whenDone<ReadReturn, Produced>(returned, (value) => {
    if (value === undefined) throw resourceNotFound(uri);
    if (isObject(value) && value["kind"] === "questions") return value as Produced;
    const { cache, mimeType } = readable.definition;
    const isRetry = exchange.params["requestState"] !== undefined || exchange.params["inputResponses"] !== undefined;
    const result = toReadResult(uri, mimeType, value);
    const contents: unknown = result?.["contents"];
    if (!Array.isArray(contents) || !contents.every(isContent)) throw invalidReturn(readable.key, value);
    // spec 2026-07-28: the result of a retry must not be cached.
    return complete(isRetry ? { ...result, ttlMs: 0, cacheScope: "private" } : { ...cache, ...result });
  });
}

function toReadResult(uri: string, mimeType: string | undefined, value: unknown): JsonObject | undefined {
  const typed = mimeType === undefined ? { uri } : { uri, mimeType };
  if (typeof value === "string") return { contents: [{ ...typed, text: value }] };
  if (value instanceof Uint8Array) return { contents: [{ ...typed, blob: toBase64(value) }] };
  if (Array.isArray(value)) return { contents: value };
  if (!isObject(value)) return undefined;
  return "contents" in value ? { ...value } : { contents: [value] };
}

function isContent(content: unknown): boolean {
  if (!isObject(content) || typeof content["uri"] !== "string") return false;
  return typeof content["text"] === "string" || typeof content["blob"] === "string";
}

function invalidReturn(uri: string, value: unknown): PortolanError {
  const expected = "a text, bytes, or contents such as { uri, text } or { uri, blob }";
  const got = Array.isArray(value) || isObject(value) ? "others; for JSON return JSON.stringify(value)" : nameOf(value);
  return new PortolanError("invalid-definition", `Resource "${uri}": read: expected ${expected}, got ${got}`);
}

/** Encodes bytes as the member `blob` has them. */
export function toBase64(bytes: Uint8Array): string {
  const chunk = 0x8000;
  let binary = "";
  for (let at = 0; at < bytes.length; at += chunk) binary += String.fromCharCode(...bytes.subarray(at, at + chunk));
  return btoa(binary);
}
