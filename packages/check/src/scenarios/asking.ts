import { acceptEverything } from "../answers.ts";
import type { Role } from "../hints.ts";
import { at, isObject, type JsonObject, listAt, show } from "../json.ts";
import type { Peer, Question, ToolUse } from "../peer.ts";
import { check, NotApplicable, type Reply } from "../reply.ts";
import { firstStateless, httpOf, type Scenario, type ScenarioContext } from "../scenario.ts";

/** Opens a connection on which a server can ask; over HTTP it needs a session. */
async function sharedWithSession(context: ScenarioContext): Promise<Peer> {
  const peer = await context.shared();
  const isAlone = context.transport === "http" && httpOf(peer).sessionHeaders["mcp-session-id"] === undefined;
  if (isAlone && !context.revision.isStateless) throw new NotApplicable("a server without sessions cannot ask");
  return peer;
}

/** Calls a tool that asks. Returns the questions of one kind and the reply. */
async function ask(context: ScenarioContext, role: Role, method: string): Promise<{ asked: Question[]; reply: Reply }> {
  const tool = context.tool(role);
  const peer = await sharedWithSession(context);
  const from = peer.questions.length;
  const reply = await peer.call(tool);
  return { asked: peer.questions.slice(from).filter((question) => question.method === method), reply };
}

/** Checks that a tool asked, and that its call succeeded. */
function expectAsked({ asked, reply }: { asked: Question[]; reply: Reply }, method: string): Question {
  const [question] = asked;
  check(question !== undefined, () => reply.evidence(`a question ${method}`));
  check(reply.result()["isError"] !== true, () => reply.evidence(`a result after the answer to ${method}`));
  return question;
}

const fieldTypes = ["string", "number", "integer", "boolean", "array"];

function isFlatForm(schema: unknown): boolean {
  const fields = at(schema, "properties");
  if (at(schema, "type") !== "object" || !isObject(fields)) return false;
  return Object.values(fields).every((field) => fieldTypes.includes(String(at(field, "type"))));
}

/** Runs with a client that declares only these capabilities. */
async function declaring<T>(
  context: ScenarioContext,
  capabilities: JsonObject,
  use: (peer: Peer) => Promise<T>,
): Promise<T> {
  if (!context.revision.isStateless) return use(await context.open({ capabilities }));
  const peer = await context.shared();
  const all = peer.capabilities;
  try {
    peer.capabilities = capabilities;
    return await use(peer);
  } finally {
    peer.capabilities = all;
  }
}

/** Checks that a client is asked only for what it declares. */
async function expectUnasked(
  context: ScenarioContext,
  capabilities: JsonObject,
  tools: readonly ToolUse[],
  isTooMuch: (question: Question) => boolean,
): Promise<string> {
  if (tools.length === 0) throw new NotApplicable("no tool of the server is known to ask");
  await sharedWithSession(context);
  const called = `called ${tools.map(({ name }) => name).join(", ")} with ${show(capabilities)}`;
  return declaring(context, capabilities, async (peer) => {
    const from = peer.questions.length;
    for (const tool of tools) {
      const reply = await peer.call(tool);
      check(reply.message !== undefined, () => reply.evidence("an answer"));
    }
    const question = peer.questions.slice(from).find(isTooMuch);
    check(!question, () => `${called}; got ${show(question)}; expected no such question`);
    return `${called}; got no question that was not declared`;
  });
}

/** Returns the known tools for some roles. */
function toolsFor(context: ScenarioContext, ...roles: readonly Role[]): ToolUse[] {
  return roles.flatMap((role) => context.findTool(role) ?? []);
}

async function runUndeclared(context: ScenarioContext): Promise<string> {
  return expectUnasked(context, {}, toolsFor(context, "elicit", "sample", "roots"), ({ method }) => method !== "ping");
}

export const asking: readonly Scenario[] = [
  {
    id: "ask/form",
    title: "a form is flat, and its answer reaches the tool",
    requirements: ["K10", "K12"],
    strength: "must",
    since: "2025-06-18",
    needs: ["tools"],
    async run(context) {
      const exchange = await ask(context, "elicit", "elicitation/create");
      const { params } = expectAsked(exchange, "elicitation/create");
      const isForm = [undefined, "form"].includes(at(params, "mode") as string | undefined);
      const isFine = isForm && typeof at(params, "message") === "string" && isFlatForm(at(params, "requestedSchema"));
      check(isFine, () => `called a tool that asks; got ${show(params)}; expected a message and a flat form`);
      return `was asked ${show(params, 120)}; ${exchange.reply.summary}`;
    },
  },
  {
    id: "ask/declined",
    title: "declining or cancelling ends the question, not the connection",
    requirements: ["K12"],
    strength: "must",
    since: "2025-06-18",
    needs: ["tools"],
    async run(context) {
      const peer = await sharedWithSession(context);
      const tool = context.tool("elicit");
      try {
        for (const action of ["decline", "cancel"]) {
          peer.answer = (question) =>
            question.method === "elicitation/create" ? { action } : acceptEverything(question);
          const reply = await peer.call(tool);
          check(reply.message !== undefined, () => reply.evidence("an answer to the call"));
        }
      } finally {
        peer.answer = acceptEverything;
      }
      await peer.roundTrip();
      return "declined a form and cancelled it; got an answer to both calls";
    },
  },
  {
    id: "ask/url",
    title: "a URL elicitation names its URL",
    requirements: ["K11"],
    strength: "must",
    since: "2025-11-25",
    needs: ["tools"],
    async run(context) {
      const exchange = await ask(context, "visit", "elicitation/create");
      // spec 2025-11-25: elicitation#url-elicitation-required-error
      const required =
        exchange.reply.code === -32042 ? listAt(exchange.reply.message, "error", "data", "elicitations") : [];
      const params = required[0] ?? expectAsked(exchange, "elicitation/create").params;
      const isNamed = context.revision.isStateless || typeof at(params, "elicitationId") === "string";
      const isFine =
        at(params, "mode") === "url" &&
        URL.canParse(String(at(params, "url"))) &&
        typeof at(params, "message") === "string";
      check(
        isFine && isNamed,
        () => `called a tool that opens a page; got ${show(params)}; expected mode, message and url`,
      );
      return `was asked ${show(params)}; ${exchange.reply.summary}`;
    },
  },
  {
    id: "ask/kind-undeclared",
    title: "a client with forms and plain sampling only is asked for no URL and no tools",
    requirements: ["K7", "K13", "M3"],
    strength: "must",
    since: "2025-11-25",
    needs: ["tools"],
    async run(context) {
      const tools = toolsFor(context, "visit", "sampleWithTools");
      const isTooMuch = ({ params }: Question) => at(params, "mode") === "url" || at(params, "tools") !== undefined;
      return expectUnasked(context, { elicitation: { form: {} }, sampling: {} }, tools, isTooMuch);
    },
  },
  {
    id: "ask/sample",
    title: "a sampling request has messages and a limit, and its answer reaches the tool",
    requirements: ["K3"],
    strength: "must",
    needs: ["tools"],
    async run(context) {
      const exchange = await ask(context, "sample", "sampling/createMessage");
      const { params } = expectAsked(exchange, "sampling/createMessage");
      const isFine = listAt(params, "messages").length > 0 && Number.isInteger(at(params, "maxTokens"));
      check(isFine, () => `called a tool that samples; got ${show(params)}; expected messages and maxTokens`);
      return `was asked ${show(params, 120)}; ${exchange.reply.summary}`;
    },
  },
  {
    id: "ask/sample-with-tools",
    title: "a sampling request may offer tools, and every tool use gets its result in the next message",
    requirements: ["K7"],
    strength: "must",
    since: "2025-11-25",
    needs: ["tools"],
    async run(context) {
      const exchange = await ask(context, "sampleWithTools", "sampling/createMessage");
      const { params } = expectAsked(exchange, "sampling/createMessage");
      const tools = listAt(params, "tools");
      const isFine =
        tools.length > 0 &&
        tools.every((tool) => isObject(at(tool, "inputSchema")) && typeof at(tool, "name") === "string");
      check(isFine, () => `called a tool that samples with tools; got ${show(params)}; expected tools`);
      const later = exchange.asked[1];
      const breach = later && findUnanswered(listAt(later.params, "messages"));
      check(
        !breach,
        () => `answered with a tool use; got ${show(later?.params, 400)}; expected its result next, alone`,
      );
      return `was asked ${exchange.asked.length} times; ${exchange.reply.summary}`;
    },
  },
  {
    id: "ask/roots",
    title: "the roots of the client reach the tool that asks for them",
    requirements: ["K1"],
    strength: "must",
    needs: ["tools"],
    async run(context) {
      const { reply, asked } = await ask(context, "roots", "roots/list");
      // A server may have the roots from an earlier answer.
      if (!show(reply.result(), 5_000).includes("file:///portolan/one")) expectAsked({ asked, reply }, "roots/list");
      check(reply.result()["isError"] !== true, () => reply.evidence("a result"));
      return `was asked ${asked.length} times; ${reply.summary}`;
    },
  },
  {
    id: "ask/undeclared",
    title: "a client is not asked for capabilities that it did not declare",
    requirements: ["B6", "K1", "M3"],
    strength: "must",
    since: "2025-06-18",
    needs: ["tools"],
    run: runUndeclared,
  },
  {
    id: "ask/undeclared-early",
    title: "a client is not asked for capabilities that it did not declare",
    requirements: ["B6", "K1"],
    strength: "should",
    until: "2025-03-26",
    needs: ["tools"],
    run: runUndeclared,
  },
  {
    id: "ask/tampered-state",
    title: "a request state of another origin is refused with -32602",
    requirements: ["M7"],
    strength: "should",
    since: firstStateless,
    needs: ["tools"],
    async run(context) {
      const peer = await context.shared();
      const { name, arguments: given = {} } = context.tool("elicit");
      const first = await peer.request("tools/call", { name, arguments: given });
      const state = at(first.message, "result", "requestState");
      if (typeof state !== "string") throw new NotApplicable(`${name} keeps no state in its questions`);
      const retry = peer.answerRound(first);
      const reply = await peer.request("tools/call", {
        name,
        arguments: given,
        ...retry,
        requestState: `${state.slice(0, -4)}AAAA`,
      });
      reply.error(-32602);
      return reply.summary;
    },
  },
];

/** Finds a message with a tool use that the next message does not answer, or not alone. */
function findUnanswered(messages: readonly unknown[]): unknown {
  const blocksOf = (message: unknown) => [at(message, "content")].flat();
  return messages.find((message, index) => {
    const uses = blocksOf(message).filter((block) => at(block, "type") === "tool_use");
    if (uses.length === 0) return false;
    const next = blocksOf(messages[index + 1]);
    const answered = next.map((block) => at(block, "toolUseId"));
    const isAlone = next.every((block) => at(block, "type") === "tool_result");
    return !isAlone || uses.some((use) => !answered.includes(at(use, "id")));
  });
}
