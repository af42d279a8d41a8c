import { nameOf, PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import { isObject, object, oneOf, optional, record, string } from "../schema/shape.ts";
import { all, type Encode, type EncoderParts, hide, listMember, member } from "./encode.ts";
import { encodeQuestion, mayAsk } from "./questions.ts";
import { type Complete, complete, type InputRequired, metaKeys, type Revision } from "./revision.ts";
import type {
  ClientCapabilities,
  CreateMessageRequest,
  Implementation,
  InputRequests,
  LogLevel,
  SamplingMessage,
} from "./types/index.ts";

/** The identity and the capabilities of a client. */
export interface ClientSelf {
  readonly info: Implementation;
  readonly capabilities: ClientCapabilities;
  /** Adds what its extensions declare on a revision. */
  readonly declare?: (capabilities: ClientCapabilities, revision: Revision) => ClientCapabilities;
}

/** Encodes and decodes the messages of a client in one revision. Values that do not change are not copied. */
export interface ClientCodec {
  /** Returns the capabilities that a client declares in this revision. */
  offered(self: ClientSelf): ClientCapabilities;
  /** Returns the params of `initialize`. Only for stateful revisions. */
  handshake(self: ClientSelf): JsonObject;
  /** Returns the `_meta` of every request, which can be reused. Undefined for stateful revisions. */
  requestMeta(self: ClientSelf, logLevel?: LogLevel): JsonObject | undefined;
  /** Removes members that this revision does not have. */
  encodeParams(method: string, params: JsonObject): JsonObject;
  /** Distinguishes a finished result from questions. Throws a PortolanError "answer-invalid" if it is neither. */
  decodeResult(method: string, result: JsonObject): Complete | InputRequired;
}

/** Made at first use: few programs use more than one revision. */
const codecs = new WeakMap<Revision, ClientCodec>();

/** Returns the codec of a revision. */
export function clientCodec(revision: Revision): ClientCodec {
  let codec = codecs.get(revision);
  if (!codec) {
    codec = createCodec(revision);
    codecs.set(revision, codec);
  }
  return codec;
}

/** Returns the replacement for a request that this revision does not have but another one has, if there is one. */
export function replacementOf(method: string, revision: Revision): string | undefined {
  const { requests, upTo, after } = revision.encoderParts;
  if (requests.has(method)) return undefined;
  const newer = upTo.map((changes) => changes.requests?.[method]).findLast((row) => typeof row === "string");
  if (newer !== undefined) return newer;
  const replaced = after.flatMap((changes) => Object.entries(changes.requests ?? {}));
  return replaced.find(([older, row]) => row === method && requests.has(older))?.[0];
}

/** Encodes the answer to a question. Returns the same object if nothing changes. */
export function encodeAnswer(revision: Revision, method: string, answer: JsonObject): JsonObject {
  // The answer of a model is a message, with the content that messages may have.
  if (method === "sampling/createMessage") return encodeSample(revision, answer);
  const { encoderParts } = revision;
  const roots = method === "roots/list" ? listMember("roots", hide(encoderParts, "root")) : undefined;
  const encode = all(hide(encoderParts, "answer"), roots);
  return encode ? encode(answer) : answer;
}

function createCodec(revision: Revision): ClientCodec {
  const { version, era, questions, encoderParts, requests } = revision;
  const information = hide(encoderParts, "implementation");
  const capabilities = capabilitiesEncoder(revision);
  const params = paramsEncoders(encoderParts);
  const needsObject = encoderParts.traits.structured === "object";
  const infoOf = ({ info }: ClientSelf) => (information ? information({ ...info }) : info);

  return {
    offered: capabilities,
    handshake(self) {
      if (era !== "stateful") throw new Error("a stateless revision has no handshake");
      return { protocolVersion: version, capabilities: capabilities(self), clientInfo: infoOf(self) };
    },
    requestMeta(self, logLevel) {
      if (era === "stateful") return undefined;
      return {
        [metaKeys.protocolVersion]: version,
        [metaKeys.clientInfo]: infoOf(self),
        [metaKeys.clientCapabilities]: capabilities(self),
        ...(logLevel !== undefined && { [metaKeys.logLevel]: logLevel }),
      };
    },
    // Hot path, like decodeResult: one map lookup for each call.
    encodeParams(method, value) {
      const encode = params.get(method);
      return encode ? encode(value) : value;
    },
    decodeResult(method, result) {
      const { structuredContent } = result;
      if (needsObject && structuredContent !== undefined && method === "tools/call" && !isObject(structuredContent)) {
        throw invalid(method, `structuredContent: expected an object, got ${nameOf(structuredContent)}`);
      }
      if (questions === "requests") return complete(result);
      const { resultType } = result;
      // spec 2026-07-28: a result without a type is complete, and one of an unknown type is invalid.
      if (resultType === undefined || resultType === "complete") return complete(result);
      if (resultType !== "input_required") {
        throw invalid(method, `resultType: expected "complete" or "input_required", got ${nameOf(resultType)}`);
      }
      if (!requests.get(method)?.runsHandler) {
        throw invalid(method, 'resultType: expected "complete", since this request allows no questions');
      }
      return decodeQuestions(method, result);
    },
  };
}

function capabilitiesEncoder(revision: Revision): (self: ClientSelf) => JsonObject {
  const { encoderParts } = revision;
  const members = all(
    hide(encoderParts, "clientCapabilities"),
    member("roots", hide(encoderParts, "clientRoots")),
    member("sampling", hide(encoderParts, "clientSampling")),
    member("elicitation", hide(encoderParts, "clientElicitation")),
  );
  return (self) => {
    const capabilities = self.declare?.(self.capabilities, revision) ?? self.capabilities;
    const { elicitation, ...rest } = capabilities;
    // Before URLs could be declared, elicitation meant forms: a client that opens URLs only must not declare it.
    const peer = { revision, capabilities };
    const isAskable = mayAsk(peer, "elicitation.form") || mayAsk(peer, "elicitation.url");
    const declared = isAskable ? { ...rest, elicitation } : rest;
    return members ? members(declared) : declared;
  };
}

function paramsEncoders(parts: EncoderParts): Map<string, Encode> {
  const encoders = new Map<string, Encode>();
  const call = hide(parts, "call");
  for (const [method, { runsHandler }] of parts.requests) if (runsHandler && call) encoders.set(method, call);
  const completion = all(hide(parts, "completion"), member("ref", hide(parts, "promptReference")));
  if (completion) encoders.set("completion/complete", completion);
  return encoders;
}

const interim = object({
  inputRequests: optional(
    record(
      object({
        method: oneOf("elicitation/create", "sampling/createMessage", "roots/list"),
        params: optional(record()),
      }),
    ),
  ),
  requestState: optional(string),
});

function decodeQuestions(method: string, result: JsonObject): InputRequired {
  const problem = interim(result, "");
  if (problem !== undefined) throw invalid(method, problem);
  const { inputRequests, requestState } = result as { inputRequests?: InputRequests; requestState?: string };
  if (requestState === undefined && Object.keys(inputRequests ?? {}).length === 0) {
    throw invalid(method, "expected inputRequests or requestState, got neither");
  }
  return {
    kind: "input_required",
    ...(inputRequests !== undefined && { requests: inputRequests }),
    ...(requestState !== undefined && { state: requestState }),
  };
}

function invalid(method: string, problem: string): PortolanError {
  return new PortolanError("answer-invalid", `The server's result of ${method} is invalid: ${problem}`);
}

/** Encodes the answer of a model by way of a question with the same message, which has the same rules. */
function encodeSample(revision: Revision, answer: JsonObject): JsonObject {
  const { role, content } = answer as unknown as SamplingMessage;
  const asMessage: CreateMessageRequest = {
    method: "sampling/createMessage",
    params: { messages: [{ role, content }], maxTokens: 1 },
  };
  const { messages } = (encodeQuestion(revision, asMessage) as CreateMessageRequest).params;
  const takesTools = revision.encoderParts.asks.has("sampling.tools");
  const blocks = messages.map((message) => message.content as unknown as JsonObject);
  const [only] = blocks;
  const isKnown = only !== undefined && blocks.length === 1 && (takesTools || !isAboutTools(only));
  if (isKnown) return only === (content as unknown) ? answer : { ...answer, content: only };
  return { ...answer, content: { type: "text", text: blocks.map(toText).join("\n") } };
}

function isAboutTools({ type }: JsonObject): boolean {
  return type === "tool_use" || type === "tool_result";
}

/** Describes a content block in text, where several blocks have to become one. */
function toText({ type, text, mimeType, name, input }: JsonObject): string {
  if (type === "text") return String(text);
  if (type === "tool_use") return `[calls the tool ${String(name)} with ${JSON.stringify(input)}]`;
  return `[${String(mimeType ?? type)}: left out, this protocol version takes one block]`;
}
