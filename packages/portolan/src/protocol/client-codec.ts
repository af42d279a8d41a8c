import { nameOf, PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import { object, oneOf, optional, record, string } from "../schema/shape.ts";
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

/** What a client says of itself. */
export interface ClientSelf {
  readonly info: Implementation;
  readonly capabilities: ClientCapabilities;
}

/** How a client speaks one revision. Values that need no change are not copied. */
export interface ClientCodec {
  /** The params of the handshake; only where the lifecycle is one. */
  handshake(self: ClientSelf): JsonObject;
  /** What every request carries in `_meta`, good for many requests; undefined where the handshake has told it. */
  requestMeta(self: ClientSelf, logLevel?: LogLevel): JsonObject | undefined;
  /** Leaves out what a server of this revision does not know. */
  encodeParams(method: string, params: JsonObject): JsonObject;
  /** Tells a finished result from questions; throws a PortolanError "answer-invalid" for what is neither. */
  decodeResult(method: string, result: JsonObject): Complete | InputRequired;
}

/** Made when a revision is first spoken; few programs speak more than one. */
const codecs = new WeakMap<Revision, ClientCodec>();

/** The client half of a revision. */
export function clientCodec(revision: Revision): ClientCodec {
  let codec = codecs.get(revision);
  if (!codec) {
    codec = createCodec(revision);
    codecs.set(revision, codec);
  }
  return codec;
}

/** What to use instead of a request that a revision lacks and another has; undefined when there is nothing. */
export function replacementOf(method: string, revision: Revision): string | undefined {
  const { requests, upTo, after } = revision.asking;
  if (requests.has(method)) return undefined;
  const newer = upTo.map((changes) => changes.requests?.[method]).findLast((row) => typeof row === "string");
  if (newer !== undefined) return newer;
  const replaced = after.flatMap((changes) => Object.entries(changes.requests ?? {}));
  return replaced.find(([older, row]) => row === method && requests.has(older))?.[0];
}

function createCodec(revision: Revision): ClientCodec {
  const { version, lifecycle, questions, asking, requests } = revision;
  const information = hide(asking, "implementation");
  const capabilities = capabilitiesEncoder(revision);
  const params = paramsEncoders(asking);
  const infoOf = ({ info }: ClientSelf) => (information ? information({ ...info }) : info);

  return {
    handshake(self) {
      if (lifecycle !== "handshake") throw new Error("a stateless revision has no handshake");
      return { protocolVersion: version, capabilities: capabilities(self.capabilities), clientInfo: infoOf(self) };
    },
    requestMeta(self, logLevel) {
      if (lifecycle === "handshake") return undefined;
      return {
        [metaKeys.protocolVersion]: version,
        [metaKeys.clientInfo]: infoOf(self),
        [metaKeys.clientCapabilities]: capabilities(self.capabilities),
        ...(logLevel !== undefined && { [metaKeys.logLevel]: logLevel }),
      };
    },
    // Hot path, like decodeResult: one look into a map for every call.
    encodeParams(method, value) {
      const encode = params.get(method);
      return encode ? encode(value) : value;
    },
    decodeResult(method, result) {
      if (questions === "requests") return complete(result);
      const { resultType } = result;
      // spec 2026-07-28: a result without a type is complete, and one of an unknown type is invalid.
      if (resultType === undefined || resultType === "complete") return complete(result);
      if (resultType !== "input_required") {
        throw invalid(method, `resultType: expected "complete" or "input_required", got ${nameOf(resultType)}`);
      }
      if (!requests.get(method)?.mayAsk) {
        throw invalid(method, "resultType: expected a complete result of this request, which must not ask");
      }
      return decodeQuestions(method, result);
    },
  };
}

function capabilitiesEncoder(revision: Revision): (capabilities: ClientCapabilities) => JsonObject {
  const { asking } = revision;
  const members = all(
    hide(asking, "clientCapabilities"),
    member("roots", hide(asking, "clientRoots")),
    member("sampling", hide(asking, "clientSampling")),
    member("elicitation", hide(asking, "clientElicitation")),
  );
  return (capabilities) => {
    const { elicitation, ...rest } = capabilities;
    // A client that takes nothing but addresses must not seem to take forms where those are all there is.
    const peer = { revision, capabilities };
    const isAskable = mayAsk(peer, "elicitation.form") || mayAsk(peer, "elicitation.url");
    const declared = isAskable ? { ...rest, elicitation } : rest;
    return members ? members(declared) : declared;
  };
}

function paramsEncoders(parts: EncoderParts): Map<string, Encode> {
  const encoders = new Map<string, Encode>();
  const call = hide(parts, "call");
  for (const [method, { mayAsk }] of parts.requests) if (mayAsk && call) encoders.set(method, call);
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
    throw invalid(method, "expected inputRequests or requestState beside input_required, got neither");
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

/** An answer to a question as a revision spells it; the same object when there is nothing to change. */
export function encodeAnswer(revision: Revision, method: string, answer: JsonObject): JsonObject {
  // What a model said is a message, and may have what messages have.
  if (method === "sampling/createMessage") return encodeSample(revision, answer);
  const { asking } = revision;
  const roots = method === "roots/list" ? listMember("roots", hide(asking, "root")) : undefined;
  const encode = all(hide(asking, "answer"), roots);
  return encode ? encode(answer) : answer;
}

/** What a model said, as the one message that a server of this revision could also have sent. */
function encodeSample(revision: Revision, answer: JsonObject): JsonObject {
  const { role, content } = answer as unknown as SamplingMessage;
  const asMessage: CreateMessageRequest = {
    method: "sampling/createMessage",
    params: { messages: [{ role, content }], maxTokens: 1 },
  };
  const { messages } = (encodeQuestion(revision, asMessage) as CreateMessageRequest).params;
  const takesTools = revision.asking.asks.has("sampling.tools");
  const said = messages.map((message) => message.content as unknown as JsonObject);
  const [only] = said;
  const isKnown = only !== undefined && said.length === 1 && (takesTools || !isAboutTools(only));
  if (isKnown) return only === (content as unknown) ? answer : { ...answer, content: only };
  return { ...answer, content: { type: "text", text: said.map(inWords).join("\n") } };
}

function isAboutTools({ type }: JsonObject): boolean {
  return type === "tool_use" || type === "tool_result";
}

/** A block as text, where several have to become one: what cannot be said in words is named. */
function inWords({ type, text, mimeType, name, input }: JsonObject): string {
  if (type === "text") return String(text);
  if (type === "tool_use") return `[calls the tool ${String(name)} with ${JSON.stringify(input)}]`;
  return `[${String(mimeType ?? type)}: left out, this protocol version takes one block]`;
}
