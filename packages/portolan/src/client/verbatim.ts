import { nameOf, PortolanError } from "../errors.ts";
import { elementsOf, endOfString } from "../jsonrpc/elements.ts";
import type { JsonObject, RpcRequest } from "../jsonrpc/message.ts";
import { isObject } from "../schema/shape.ts";
import type { RawRequestOptions, SerializedCallOptions, ToolCallOptions } from "./options.ts";

// Loaded late: only calls with `argumentsText` and requests with `paramsText` need it.

/** Arguments whose text is sent as the caller wrote it. */
export interface VerbatimArguments {
  readonly args: JsonObject;
  /** The text on one line. */
  readonly text: string;
  /** Replaces the arguments of a request by their text. */
  readonly rewrite: (request: RpcRequest) => RpcRequest;
}

/** Returns the arguments and options of a call that sends the text of its arguments unchanged. Throws if it is unusable. */
export function verbatim(
  name: string,
  given: JsonObject,
  { argumentsText = "", ...options }: ToolCallOptions,
): [JsonObject, SerializedCallOptions] {
  if (Object.keys(given).length > 0) {
    const why = "expected no arguments beside `argumentsText`; pass undefined for `args`";
    throw new PortolanError("invalid-argument", `callTool "${name}": ${why}`);
  }
  const { args, rewrite } = readArgumentsText(argumentsText, `callTool "${name}"`);
  return [args, { ...options, rewrite }];
}

/** Returns the params and options of a request that sends the text of its params unchanged. Throws if it is unusable. */
export function verbatimParams(
  method: string,
  given: JsonObject,
  { paramsText = "", ...options }: RawRequestOptions,
): [JsonObject, SerializedCallOptions] {
  const what = `request "${method}"`;
  if (Object.keys(given).length > 0) {
    const why = "expected no params beside `paramsText`; pass undefined for `params`";
    throw new PortolanError("invalid-argument", `${what}: ${why}`);
  }
  const { value, text } = readObject(paramsText, `${what}: paramsText`);
  // A cache compares the values that JavaScript reads.
  return [value, { ...options, fresh: true, rewrite: (request) => withParams(request, text) }];
}

/** Reads the text of arguments. Throws unless it is one JSON object. */
export function readArgumentsText(argumentsText: string, what: string): VerbatimArguments {
  const { value: args, text } = readObject(argumentsText, `${what}: argumentsText`);
  return { args, text, rewrite: (request) => withArguments(request, text) };
}

function readObject(given: string, what: string): { readonly value: JsonObject; readonly text: string } {
  const value = parse(given);
  if (!isObject(value)) {
    // The text itself is not repeated: it may contain a secret.
    const got = value === undefined ? "text that is not valid JSON" : nameOf(value);
    throw new PortolanError("invalid-argument", `${what}: expected the text of a JSON object, got ${got}`);
  }
  // A line break outside strings is white space, and would end the message on a transport of lines.
  return { value, text: given.trim().replace(/[\r\n]/g, " ") };
}

function withArguments(request: RpcRequest, text: string): RpcRequest {
  const { name, arguments: _, ...others } = request.params ?? {};
  return withText(request, () => {
    const rest = JSON.stringify(others).slice(1);
    return `{"name":${JSON.stringify(name)},"arguments":${text}${rest === "}" ? "" : ","}${rest}`;
  });
}

/** The members of the protocol in `_meta` are those of this request, also if the text was copied from another one. */
function withParams(request: RpcRequest, text: string): RpcRequest {
  const { _meta: own } = parse(text) as JsonObject;
  const { _meta: meta } = request.params ?? {};
  const members = elementsOf(text).filter(
    (member) => JSON.parse(member.slice(0, endOfString(member, 0) + 1)) !== "_meta",
  );
  return withText(request, () => {
    const merged = { ...(isObject(own) && own), ...(isObject(meta) && meta) };
    const all = Object.keys(merged).length === 0 ? members : [...members, `"_meta":${JSON.stringify(merged)}`];
    return `{${all.join(",")}}`;
  });
}

/** Gives a request its own text. `serialize` of every transport prefers it. */
function withText(request: RpcRequest, paramsText: () => string): RpcRequest {
  const { params: _, ...envelope } = request;
  let messageText: string;
  try {
    messageText = `${JSON.stringify(envelope).slice(0, -1)},"params":${paramsText()}}`;
  } catch {
    // The transport explains why a request has no JSON form.
    return request;
  }
  // Not enumerable, because a link of the application may copy or serialize the request by itself.
  return Object.defineProperty(request, "messageText", { value: messageText, configurable: true });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
