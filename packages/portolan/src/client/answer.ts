import { nameOf, PortolanError } from "../errors.ts";
import { type JsonObject, type RequestId, RpcError, type RpcRequest, type RpcResponse } from "../jsonrpc/message.ts";
import { weigh } from "../jsonrpc/weigh.ts";
import { encodeAnswer } from "../protocol/client-codec.ts";
import { invalidParams, methodNotFound, questionRefused, sentBack, tooManyQuestions } from "../protocol/errors.ts";
import { lackedBy } from "../protocol/questions.ts";
import type { InputRequired, Revision } from "../protocol/revision.ts";
import type {
  ClientCapabilities,
  CreateMessageParams,
  ElicitParams,
  ElicitResult,
  InputRequest,
  InputResponse,
  InputResponses,
} from "../protocol/types/index.ts";
import { array, isObject, number, object, oneOf, optional, record, type ShapeCheck, string } from "../schema/shape.ts";
import type { Call } from "./call.ts";
import { type ClientConnection, capabilitiesFor } from "./connection.ts";
import { pauseFor } from "./deadlines.ts";
import { toError } from "./failures.ts";
import { checkFormAnswer } from "./form-answer.ts";
import { firstEmptyRoundMs, maxEmptyRoundMs, maxOpenQuestionBytes, maxOpenQuestions, maxRounds } from "./limits.ts";
import type { Answers, QuestionContext } from "./options.ts";

/** Answers the server's questions, which come as requests (stateful) or in results (stateless). */
export class QuestionAnswerer {
  readonly #connection: ClientConnection;
  readonly #answers: Answers;
  readonly #open = new Map<RequestId, AbortController>();
  #openBytes = 0;
  /** Questions that must not be answered any more. */
  readonly #cancelled = new WeakSet<AbortController>();

  constructor(connection: ClientConnection, answers: Answers) {
    this.#connection = connection;
    this.#answers = answers;
  }

  /** Answers a request of a stateful server. `during` is the id of the call that led to it, if the link knows it. */
  async answerRequest(
    request: RpcRequest,
    answer: (response: RpcResponse) => void,
    during: RequestId | undefined,
  ): Promise<void> {
    const { id, method } = request;
    const respond = (error: RpcError) => answer({ jsonrpc: "2.0", id, error: error.toErrorObject() });
    if (method === "initialize" || method === "server/discover") {
      // A program such as `cat` also sends this error back, where the handshake shows it.
      respond(sentBack(method));
      return;
    }
    const bytes = weigh(request);
    if (this.#open.size >= maxOpenQuestions || this.#openBytes + bytes > maxOpenQuestionBytes) {
      respond(tooManyQuestions(maxOpenQuestions, maxOpenQuestionBytes));
      return;
    }
    this.#openBytes += bytes;
    const controller = new AbortController();
    this.#open.set(id, controller);
    const call = this.#connection.extensions?.askedIn(request) ?? this.#callOf(during);
    // A channel does not tell which call a question belongs to, so all calls are paused.
    const paused = call && during !== undefined ? [call] : this.#connection.calls.values();
    for (const each of paused) each.pause();
    const onCallEnd = () => controller.abort(call?.questionSignal.reason);
    call?.questionSignal.addEventListener("abort", onCallEnd, { once: true });
    const abort = rejectOnAbort(controller.signal);
    try {
      const result = await this.#answer(request as unknown as InputRequest, call, controller.signal, abort.promise);
      if (!this.#cancelled.has(controller)) answer({ jsonrpc: "2.0", id, result });
    } catch (thrown) {
      if (!this.#cancelled.has(controller)) respond(this.#toRpcError(method, thrown, controller.signal));
    } finally {
      call?.questionSignal.removeEventListener("abort", onCallEnd);
      abort.stop();
      this.#open.delete(id);
      this.#openBytes -= bytes;
      for (const each of paused) each.resume();
    }
  }

  /** Answers all questions of a round; undefined if it has none. Rejects if one of them is not answered. */
  async answerRound(
    { requests = {} }: InputRequired,
    call: Call,
    signal: AbortSignal = call.questionSignal,
  ): Promise<InputResponses | undefined> {
    if (call.rounds >= maxRounds) {
      const why = `${call.what}: the server still asks questions after ${maxRounds} rounds`;
      throw new PortolanError("limit-reached", why);
    }
    const entries = Object.entries(requests);
    if (entries.length === 0) {
      await pauseFor(this.#connection.clock, pauseAfter(call.rounds), signal);
      return undefined;
    }
    if (entries.length > maxOpenQuestions) {
      const why = `${call.what}: the server asks ${entries.length} questions at once; at most ${maxOpenQuestions}`;
      throw new PortolanError("limit-reached", why);
    }
    // One listener for the whole round, because each listener costs.
    const abort = rejectOnAbort(signal);
    try {
      const answers = await Promise.all(
        entries.map(async ([key, request]) => [key, await this.#answer(request, call, signal, abort.promise)]),
      );
      return Object.fromEntries(answers) as InputResponses;
    } finally {
      abort.stop();
    }
  }

  /** Ends a question that the server has cancelled. */
  cancel(id: RequestId): void {
    const controller = this.#open.get(id);
    if (controller) this.#cancel(controller, new PortolanError("cancelled", "The server cancelled the question"));
  }

  cancelAll(reason: Error): void {
    for (const controller of this.#open.values()) this.#cancel(controller, reason);
  }

  #cancel(controller: AbortController, reason: Error): void {
    this.#cancelled.add(controller);
    controller.abort(reason);
  }

  async #answer(
    request: InputRequest,
    call: Call | undefined,
    signal: AbortSignal,
    abort: Promise<never>,
  ): Promise<JsonObject> {
    const { revision, options, self, profile } = this.#connection;
    const own = call?.options;
    const answers = own?.answers ? { ...this.#answers, ...own.answers } : this.#answers;
    // A handshake declares the capabilities once for all calls.
    const hasOwnCapabilities =
      revision.era === "stateless" && (own?.capabilities !== undefined || own?.answers !== undefined);
    const capabilities = hasOwnCapabilities
      ? (own?.capabilities ?? capabilitiesFor(answers, options.capabilities))
      : self.capabilities;
    checkQuestion(request, capabilities, revision);
    const during = call && { method: call.method, name: call.name, label: call.options.label };
    const checksForms = options.checkForms !== false;
    const asked = answerQuestion(request, answers, { server: profile, during, signal }, checksForms);
    const answer: InputResponse = await Promise.race([asked, abort]);
    return encodeAnswer(revision, request.method, answer as unknown as JsonObject);
  }

  /** Returns the call of a question: the given one, or the only pending call that may ask. */
  #callOf(during: RequestId | undefined): Call | undefined {
    if (during !== undefined) return this.#connection.calls.get(during);
    const asking = this.#connection.calls
      .values()
      .filter(({ method }) => this.#connection.revision.requests.get(method)?.runsHandler);
    return asking.length === 1 ? asking[0] : undefined;
  }

  /**
   * Turns a failed answer into an error for the server, which learns nothing of our own errors, nor of an answer that did not
   * fit its question.
   */
  #toRpcError(method: string, thrown: unknown, signal: AbortSignal): RpcError {
    if (thrown instanceof RpcError) return thrown;
    if (!signal.aborted) this.#connection.report(toError(thrown));
    const isInvalid = thrown instanceof PortolanError && thrown.code === "answer-invalid";
    return questionRefused(method, isInvalid);
  }
}

/** Rejects when the signal aborts, even if the application ignores it. */
function rejectOnAbort(signal: AbortSignal): { readonly promise: Promise<never>; readonly stop: () => void } {
  let stop = () => {};
  const promise = new Promise<never>((_, reject) => {
    const abort = () => reject(toError(signal.reason));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    stop = () => signal.removeEventListener("abort", abort);
  });
  promise.catch(() => {});
  return { promise, stop };
}

/** Throws an RpcError for an invalid question, and for one whose capability the client did not declare. */
function checkQuestion(request: InputRequest, capabilities: ClientCapabilities, revision: Revision): void {
  if (!questionMethods.includes(request.method)) throw methodNotFound(request.method);
  const problem = problemOf(request);
  if (problem !== undefined) throw invalidParams(problem);
  const lacked = lackedBy(capabilities, revision, request);
  if (!lacked) return;
  const [[name, part] = ["", {}]] = Object.entries(lacked);
  const isDeclared = capabilities[name as keyof ClientCapabilities] !== undefined;
  const missing = [name, ...Object.keys(part)].join(".");
  throw isDeclared
    ? invalidParams(`the client does not support this question (missing capability: ${missing})`)
    : methodNotFound(request.method);
}

/** Calls the application's answer and checks what it returns. */
async function answerQuestion(
  request: InputRequest,
  answers: Answers,
  context: QuestionContext,
  checksForms: boolean,
): Promise<InputResponse> {
  switch (request.method) {
    case "roots/list": {
      const { roots = [] } = answers;
      return { roots: [...(typeof roots === "function" ? await roots(context) : roots)].map(checkRoot) };
    }
    case "sampling/createMessage": {
      if (!answers.sample) throw methodNotFound(request.method);
      return checkSample(await answers.sample(request.params, context));
    }
    case "elicitation/create":
      return answerElicitation(request.params, answers, context, checksForms);
  }
}

async function answerElicitation(
  params: ElicitParams,
  answers: Answers,
  context: QuestionContext,
  checksForms: boolean,
): Promise<ElicitResult> {
  if (params.mode === "url") {
    if (!answers.openUrl) throw invalidParams('params.mode: the client does not support "url"');
    const { action } = checkAction(await answers.openUrl(params, context));
    return { action };
  }
  if (!answers.elicit) throw invalidParams('params.mode: the client does not support "form"');
  const answer = checkAction(await answers.elicit(params, context));
  return checksForms ? checkFormAnswer(params, answer) : answer;
}

function problemOf({ method, params }: InputRequest): string | undefined {
  if (method === "elicitation/create") {
    return ((params as ElicitParams | undefined)?.mode === "url" ? urlParams : form)(params, "params");
  }
  if (method === "sampling/createMessage")
    return samplingParams(params, "params") ?? problemOfToolUses(params as CreateMessageParams);
  return undefined;
}

const form = object({
  mode: optional(oneOf("form")),
  message: string,
  requestedSchema: object({ type: oneOf("object"), properties: record(record()) }),
});
const urlParams = object({ mode: oneOf("url"), message: string, url: webAddress });
const blocks: ShapeCheck = (value, path) => (Array.isArray(value) ? array(block)(value, path) : block(value, path));
const media = object({ data: string, mimeType: string });
const plainBlocks: BlockChecks = { text: object({ text: string }), image: media, audio: media };
const allBlocks: BlockChecks = {
  ...plainBlocks,
  tool_use: object({ id: string, name: string, input: record() }),
  tool_result: object({ toolUseId: string, content: array(resultBlock) }),
};
/** Checks the members of a sampling request that are shown to people, counted, or passed to a model. */
export const samplingParams: ShapeCheck = object({
  messages: array(object({ role: oneOf("user", "assistant"), content: blocks })),
  maxTokens: number,
  systemPrompt: optional(string),
  stopSequences: optional(array(string)),
  tools: optional(array(object({ name: string, description: optional(string), inputSchema: record() }))),
});
/** Checks the members of a sampling result that every server relies on. */
export const samplingResult: ShapeCheck = object({ role: oneOf("user", "assistant"), model: string, content: blocks });
const questionMethods = ["roots/list", "sampling/createMessage", "elicitation/create"];

/** Each tool use must have its result in the next message, which holds nothing else. */
function problemOfToolUses({ messages }: CreateMessageParams): string | undefined {
  let unanswered = new Set<string>();
  for (const [index, { content }] of messages.entries()) {
    const blocks = Array.isArray(content) ? content : [content];
    const results = blocks.filter((block) => block.type === "tool_result");
    if (unanswered.size > 0 || results.length > 0) {
      if (results.length < blocks.length) {
        return `params.messages[${index}].content: expected tool results and nothing else`;
      }
      const ids = new Set(results.map((block) => block.toolUseId));
      const missing = [...unanswered].find((id) => !ids.has(id));
      if (missing !== undefined) return `params.messages[${index}].content: expected a result for tool use ${missing}`;
    }
    unanswered = new Set(blocks.flatMap((block) => (block.type === "tool_use" ? [block.id] : [])));
  }
  return undefined;
}

type BlockChecks = { readonly [type: string]: ShapeCheck };

function block(value: unknown, path: string): string | undefined {
  return object({ type: string })(value, path) ?? checkBlock(value, path, allBlocks);
}

/** Tool results hold plain content only, so that the check needs no recursion. */
function resultBlock(value: unknown, path: string): string | undefined {
  const type = isObject(value) ? value["type"] : undefined;
  if (type === "tool_use" || type === "tool_result") return `${path}.type: expected plain content, got "${type}"`;
  return object({ type: string })(value, path) ?? checkBlock(value, path, plainBlocks);
}

function checkBlock(value: unknown, path: string, known: BlockChecks): string | undefined {
  const type = isObject(value) ? String(value["type"]) : "";
  return Object.hasOwn(known, type) ? known[type]?.(value, path) : undefined;
}

/** A round without questions is repeated at once the first time, then after growing pauses. */
function pauseAfter(rounds: number): number {
  return rounds === 1 ? 0 : Math.min(firstEmptyRoundMs * 2 ** (rounds - 2), maxEmptyRoundMs);
}

/** Other schemes than http and https may start programs. */
function webAddress(value: unknown, path: string): string | undefined {
  const isWeb = typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
  return isWeb ? undefined : `${path}: expected an http or https address, got ${nameOf(value)}`;
}

function checkAction(answer: ElicitResult): ElicitResult {
  const problem = object({ action: oneOf("accept", "decline", "cancel"), content: optional(record()) })(
    answer,
    "answer",
  );
  if (problem !== undefined) throw invalidAnswer("elicit", problem);
  return answer;
}

function checkSample<T>(answer: T): T {
  const problem = samplingResult(answer, "answer");
  if (problem !== undefined) throw invalidAnswer("sample", problem);
  return answer;
}

function checkRoot<T extends { uri: string }>(root: T): T {
  if (typeof root?.uri === "string" && root.uri.startsWith("file://")) return root;
  throw invalidAnswer("roots", `uri: expected a URI that begins with file://, got ${nameOf(root?.uri)}`);
}

function invalidAnswer(what: string, problem: string): PortolanError {
  return new PortolanError("answer-invalid", `answers.${what}: ${problem}`);
}
