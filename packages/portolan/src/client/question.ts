import { nameOf, PortolanError } from "../errors.ts";
import { invalidParams, methodNotFound } from "../protocol/errors.ts";
import { lackedBy } from "../protocol/questions.ts";
import type { Revision } from "../protocol/revision.ts";
import type {
  ClientCapabilities,
  CreateMessageParams,
  ElicitParams,
  ElicitResult,
  InputRequest,
  InputResponse,
} from "../protocol/types/index.ts";
import { array, type Check, isObject, number, object, oneOf, optional, record, string } from "../schema/shape.ts";
import type { Answers, QuestionContext } from "./answers.ts";
import { checkFormAnswer } from "./form-answer.ts";

const form = object({
  mode: optional(oneOf("form")),
  message: string,
  requestedSchema: object({ type: oneOf("object"), properties: record(record()) }),
});
const visit = object({ mode: oneOf("url"), message: string, url: webAddress });
const blocks: Check = (value, path) => (Array.isArray(value) ? array(block)(value, path) : block(value, path));
const media = object({ data: string, mimeType: string });
/** What is shown to people and counted must be what it says it is. */
const plainBlocks: Kinds = { text: object({ text: string }), image: media, audio: media };
const kinds: Kinds = {
  ...plainBlocks,
  tool_use: object({ id: string, name: string, input: record() }),
  tool_result: object({ toolUseId: string, content: array(resultBlock) }),
};
/** Accepts what a server may ask of a model, as far as it is looked at. */
export const samplingParams: Check = object({
  messages: array(object({ role: oneOf("user", "assistant"), content: blocks })),
  maxTokens: number,
  systemPrompt: optional(string),
  stopSequences: optional(array(string)),
  tools: optional(array(object({ name: string, description: optional(string), inputSchema: record() }))),
});
/** Accepts what a model may say to a server, as far as it is looked at. */
export const samplingResult: Check = object({ role: oneOf("user", "assistant"), model: string, content: blocks });
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
    if (!answers.visit) throw invalidParams('params.mode: the client does not take "url"');
    const { action } = checkAction(await answers.visit(params, context));
    return { action };
  }
  if (!answers.elicit) throw invalidParams('params.mode: the client does not take "form"');
  return checkFormAnswer(params, checkAction(await answers.elicit(params, context)));
}

function problemOf({ method, params }: InputRequest): string | undefined {
  if (method === "elicitation/create") {
    return ((params as ElicitParams | undefined)?.mode === "url" ? visit : form)(params, "params");
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

type Kinds = { readonly [type: string]: Check };

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
