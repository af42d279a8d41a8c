import { type MaybePromise, whenDone } from "../../async.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidParams, resourceNotFound } from "../../protocol/errors.ts";
import { complete, type Outcome } from "../../protocol/revision.ts";
import type { ResourceContents } from "../../protocol/types/index.ts";
import type { ReadReturn, TemplateValues } from "../define/definition.ts";
import type { CompiledResource, CompiledTemplate } from "../define/resources.ts";
import { runAround } from "../extension.ts";
import { maxUriCharacters } from "../limits.ts";
import type { ServerRuntime } from "../runtime.ts";
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
  if (!found) throw resourceNotFound(uri);
  const { readable, values } = found;
  const read = () => runHandler(runtime, exchange, () => readOne(runtime, exchange, uri, readable, values));
  return readable.around.length === 0 ? read() : runAround(readable.around, exchange, read);
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
    if (typeof value === "object" && "kind" in value && value.kind === "questions") return value;
    const { cache, mimeType } = readable.definition;
    const isRetry = exchange.params["requestState"] !== undefined || exchange.params["inputResponses"] !== undefined;
    const result = toReadResult(uri, mimeType, value as Exclude<ReadReturn, undefined | Produced>);
    // spec 2026-07-28: the result of a retry must not be cached.
    return complete(isRetry ? { ...result, ttlMs: 0, cacheScope: "private" } : { ...cache, ...result });
  });
}

function toReadResult(
  uri: string,
  mimeType: string | undefined,
  value: string | Uint8Array | ResourceContents | ResourceContents[] | { contents: ResourceContents[] },
): JsonObject {
  const typed = mimeType === undefined ? { uri } : { uri, mimeType };
  if (typeof value === "string") return { contents: [{ ...typed, text: value }] };
  if (value instanceof Uint8Array) return { contents: [{ ...typed, blob: toBase64(value) }] };
  if (Array.isArray(value)) return { contents: value };
  return "contents" in value ? { ...value } : { contents: [value] };
}

/** Encodes bytes as the member `blob` has them. */
export function toBase64(bytes: Uint8Array): string {
  const chunk = 0x8000;
  let binary = "";
  for (let at = 0; at < bytes.length; at += chunk) binary += String.fromCharCode(...bytes.subarray(at, at + chunk));
  return btoa(binary);
}
