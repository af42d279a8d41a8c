import { nameOf, PortolanError } from "../errors.ts";
import { type JsonObject, type RequestId, RpcError, type RpcRequest, type RpcResponse } from "../jsonrpc/message.ts";
import { encodeAnswer } from "../protocol/client-codec.ts";
import { invalidParams, methodNotFound } from "../protocol/errors.ts";
import { lackedBy } from "../protocol/questions.ts";
import type { Revision } from "../protocol/revision.ts";
import type {
  ClientCapabilities,
  CreateMessageParams,
  ElicitParams,
  ElicitResult,
  InputRequest,
  InputRequests,
  InputResponse,
  InputResponses,
} from "../protocol/types/index.ts";
import { array, isObject, number, object, oneOf, optional, record, type ShapeCheck, string } from "../schema/shape.ts";
import type { Call } from "./call.ts";
import { declaredBy } from "./client.ts";
import type { ClientConnection } from "./connection.ts";
import { toError } from "./failures.ts";
import { checkFormAnswer } from "./form-answer.ts";
import type { Answers, QuestionContext } from "./options.ts";

/** A server that asks more at once is refused. */
const maxOpenQuestions = 100;

/** Answers the server's questions, whether they come as requests or inside results. */
export class QuestionAnswerer {
  readonly #wire: ClientConnection;
  readonly #answers: Answers;
  readonly #open = new Map<RequestId, AbortController>();
  /** Questions that the server no longer wants answered. */
  readonly #unwanted = new WeakSet<AbortController>();

  constructor(wire: ClientConnection, answers: Answers) {
    this.#wire = wire;
    this.#answers = answers;
  }

  /** Answers a request of a stateful server. */
  async answerRequest(
    request: RpcRequest,
    answer: (response: RpcResponse) => void,
    during: RequestId | undefined,
  ): Promise<void> {
    const { id, method } = request;
    const respond = (error: RpcError) => answer({ jsonrpc: "2.0", id, error: error.toErrorObject() });
    if (this.#open.size >= maxOpenQuestions) {
      respond(new RpcError(-32603, `Too many questions are open: at most ${maxOpenQuestions}`));
      return;
    }
    const controller = new AbortController();
    this.#open.set(id, controller);
    const call = this.#callOf(during);
    // On a channel nobody knows which call a question belongs to, so all of them wait.
    const waiting = call && during !== undefined ? [call] : this.#wire.calls.values();
    for (const each of waiting) each.pause();
    const callOver = () => controller.abort(call?.questionSignal.reason);
    call?.questionSignal.addEventListener("abort", callOver, { once: true });
    const over = aborting(controller.signal);
    try {
      const result = await this.#answer(request as unknown as InputRequest, call, controller.signal, over.promise);
      if (!this.#unwanted.has(controller)) answer({ jsonrpc: "2.0", id, result });
    } catch (thrown) {
      if (!this.#unwanted.has(controller)) respond(this.#refusal(method, thrown, controller.signal));
    } finally {
      call?.questionSignal.removeEventListener("abort", callOver);
      over.stop();
      this.#open.delete(id);
      for (const each of waiting) each.resume();
    }
  }

  /** Answers all questions of a round; rejects when one of them is not answered. */
  async answerRound(requests: InputRequests, call: Call): Promise<InputResponses> {
    const entries = Object.entries(requests);
    if (entries.length > maxOpenQuestions) {
      throw new PortolanError("limit-reached", `${call.what}: the server asks ${entries.length} questions at once`);
    }
    // One for all of them: questions may be many, and each listener costs.
    const over = aborting(call.questionSignal);
    try {
      const answers = await Promise.all(
        entries.map(async ([key, request]) => [
          key,
          await this.#answer(request, call, call.questionSignal, over.promise),
        ]),
      );
      return Object.fromEntries(answers) as InputResponses;
    } finally {
      over.stop();
    }
  }

  /** The server takes a question back. */
  takeBack(id: RequestId): void {
    const controller = this.#open.get(id);
    if (controller) this.#drop(controller, new PortolanError("cancelled", "The server took the question back"));
  }

  stopAll(reason: Error): void {
    for (const controller of this.#open.values()) this.#drop(controller, reason);
  }

  #drop(controller: AbortController, reason: Error): void {
    this.#unwanted.add(controller);
    controller.abort(reason);
  }

  async #answer(
    request: InputRequest,
    call: Call | undefined,
    signal: AbortSignal,
    over: Promise<never>,
  ): Promise<JsonObject> {
    const { revision, options, self, profile } = this.#wire;
    const own = call?.options;
    const answers = own?.answers ? { ...this.#answers, ...own.answers } : this.#answers;
    // What a stateful server may ask was declared in the handshake, once for all calls.
    const isOwn = profile?.era === "stateless" && (own?.capabilities !== undefined || own?.answers !== undefined);
    const capabilities = isOwn ? (own?.capabilities ?? declaredBy(answers, options.capabilities)) : self.capabilities;
    checkQuestion(request, capabilities, revision);
    const during = call && { method: call.method, name: call.name };
    const asked = askUser(request, answers, { server: profile, during, signal });
    const answer: InputResponse = await Promise.race([asked, over]);
    return encodeAnswer(revision, request.method, answer as unknown as JsonObject);
  }

  /** The call a question came with, or the only one that can have led to it. */
  #callOf(during: RequestId | undefined): Call | undefined {
    if (during !== undefined) return this.#wire.calls.get(during);
    const asking = this.#wire.calls.values().filter(({ method }) => this.#wire.revision.requests.get(method)?.mayAsk);
    return asking.length === 1 ? asking[0] : undefined;
  }

  /** What a server hears when it gets no answer: of our own errors no more than that. */
  #refusal(method: string, thrown: unknown, signal: AbortSignal): RpcError {
    if (thrown instanceof RpcError) return thrown;
    if (!signal.aborted) this.#wire.report(toError(thrown));
    return new RpcError(-1, `The client did not answer ${method}`);
  }
}

/** Rejects when questions need not be answered any more, whether or not their answerers notice. */
function aborting(signal: AbortSignal): { readonly promise: Promise<never>; readonly stop: () => void } {
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

const form = object({
  mode: optional(oneOf("form")),
  message: string,
  requestedSchema: object({ type: oneOf("object"), properties: record(record()) }),
});
const urlParams = object({ mode: oneOf("url"), message: string, url: webAddress });
const blocks: ShapeCheck = (value, path) => (Array.isArray(value) ? array(block)(value, path) : block(value, path));
const media = object({ data: string, mimeType: string });
/** What is shown to people and counted must be what it says it is. */
const plainBlocks: Kinds = { text: object({ text: string }), image: media, audio: media };
const kinds: Kinds = {
  ...plainBlocks,
  tool_use: object({ id: string, name: string, input: record() }),
  tool_result: object({ toolUseId: string, content: array(resultBlock) }),
};
/** Accepts what a server may ask of a model, as far as it is looked at. */
export const samplingParams: ShapeCheck = object({
  messages: array(object({ role: oneOf("user", "assistant"), content: blocks })),
  maxTokens: number,
  systemPrompt: optional(string),
  stopSequences: optional(array(string)),
  tools: optional(array(object({ name: string, description: optional(string), inputSchema: record() }))),
});
/** Accepts what a model may say to a server, as far as it is looked at. */
export const samplingResult: ShapeCheck = object({ role: oneOf("user", "assistant"), model: string, content: blocks });
const methods = ["roots/list", "sampling/createMessage", "elicitation/create"];

/** Refuses a question that is malformed or that the client never said it answers. */
export function checkQuestion(request: InputRequest, capabilities: ClientCapabilities, revision: Revision): void {
  if (!methods.includes(request.method)) throw methodNotFound(request.method);
  const problem = problemOf(request);
  if (problem !== undefined) throw invalidParams(problem);
  const lacked = lackedBy(capabilities, revision, request);
  if (!lacked) return;
  const [name = ""] = Object.keys(lacked);
  const isDeclared = capabilities[name as keyof ClientCapabilities] !== undefined;
  throw isDeclared
    ? invalidParams(`the client did not declare ${JSON.stringify(lacked)}`)
    : methodNotFound(request.method);
}

/** Has the application answer; what it answers is checked before it travels. */
export async function askUser(
  request: InputRequest,
  answers: Answers,
  context: QuestionContext,
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
      return askPerson(request.params, answers, context);
  }
}

async function askPerson(params: ElicitParams, answers: Answers, context: QuestionContext): Promise<ElicitResult> {
  if (params.mode === "url") {
    if (!answers.openUrl) throw invalidParams('params.mode: the client does not take "url"');
    const { action } = checkAction(await answers.openUrl(params, context));
    return { action };
  }
  if (!answers.elicit) throw invalidParams('params.mode: the client does not take "form"');
  return checkFormAnswer(params, checkAction(await answers.elicit(params, context)));
}

function problemOf({ method, params }: InputRequest): string | undefined {
  if (method === "elicitation/create") {
    return ((params as ElicitParams | undefined)?.mode === "url" ? urlParams : form)(params, "params");
  }
  if (method === "sampling/createMessage")
    return samplingParams(params, "params") ?? danglingTool(params as CreateMessageParams);
  return undefined;
}

/** Every use of a tool is answered by the next message, which holds nothing else. */
function danglingTool({ messages }: CreateMessageParams): string | undefined {
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

type Kinds = { readonly [type: string]: ShapeCheck };

function block(value: unknown, path: string): string | undefined {
  return object({ type: string })(value, path) ?? checkKind(value, path, kinds);
}

/** Results hold no uses and results of tools, so that nothing has to be followed into the depth. */
function resultBlock(value: unknown, path: string): string | undefined {
  const type = isObject(value) ? value["type"] : undefined;
  if (type === "tool_use" || type === "tool_result") return `${path}.type: expected plain content, got "${type}"`;
  return object({ type: string })(value, path) ?? checkKind(value, path, plainBlocks);
}

function checkKind(value: unknown, path: string, known: Kinds): string | undefined {
  const type = isObject(value) ? String(value["type"]) : "";
  return Object.hasOwn(known, type) ? known[type]?.(value, path) : undefined;
}

/** Only what a browser may safely open. */
function webAddress(value: unknown, path: string): string | undefined {
  const isWeb = typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
  return isWeb ? undefined : `${path}: expected an http or https address, got ${nameOf(value)}`;
}

function checkAction(answer: ElicitResult): ElicitResult {
  const problem = object({ action: oneOf("accept", "decline", "cancel"), content: optional(record()) })(
    answer,
    "answer",
  );
  if (problem !== undefined) throw unusable("elicit", problem);
  return answer;
}

function checkSample<T>(answer: T): T {
  const problem = samplingResult(answer, "answer");
  if (problem !== undefined) throw unusable("sample", problem);
  return answer;
}

function checkRoot<T extends { uri: string }>(root: T): T {
  if (typeof root?.uri === "string" && root.uri.startsWith("file://")) return root;
  throw unusable("roots", `uri: expected an address that begins with file://, got ${nameOf(root?.uri)}`);
}

function unusable(what: string, problem: string): PortolanError {
  return new PortolanError("answer-invalid", `answers.${what}: ${problem}`);
}
