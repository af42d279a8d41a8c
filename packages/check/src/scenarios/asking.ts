import { answerWillingly } from "../answers.ts";
import type { Role } from "../hints.ts";
import { at, isObject, type JsonObject, listAt, show } from "../json.ts";
import type { Peer, Question, ToolUse } from "../peer.ts";
import type { Reply } from "../reply.ts";
import { check, NotApplicable } from "../reply.ts";
import { firstStateless, httpOf, type Scenario, type Stage } from "../scenario.ts";

/** A connection on which a server can ask; over HTTP with a handshake that takes a session. */
async function sharedWithSession(stage: Stage): Promise<Peer> {
  const peer = await stage.shared();
  const isAlone = stage.transport === "http" && httpOf(peer).standing["mcp-session-id"] === undefined;
  if (isAlone && !stage.revision.isStateless) throw new NotApplicable("a server without sessions cannot ask");
  return peer;
}

/** Calls a tool that asks; the questions of one kind, and how it ended. */
async function ask(stage: Stage, role: Role, method: string): Promise<{ asked: Question[]; reply: Reply }> {
  const tool = stage.tool(role);
  const peer = await sharedWithSession(stage);
  const from = peer.questions.length;
  const reply = await peer.call(tool);
  return { asked: peer.questions.slice(from).filter((question) => question.method === method), reply };
}

/** Expects that a tool asked, and that it went well. */
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

/** Uses a client that declares only this. */
async function declaring<T>(stage: Stage, capabilities: JsonObject, use: (peer: Peer) => Promise<T>): Promise<T> {
  if (!stage.revision.isStateless) return use(await stage.open({ capabilities }));
  const peer = await stage.shared();
  const all = peer.capabilities;
  try {
    peer.capabilities = capabilities;
    return await use(peer);
  } finally {
    peer.capabilities = all;
  }
}

/** Expects that a client that declares no more than this is not asked for more. */
async function expectUnasked(
  stage: Stage,
  capabilities: JsonObject,
  tools: readonly ToolUse[],
  isTooMuch: (question: Question) => boolean,
): Promise<string> {
  if (tools.length === 0) throw new NotApplicable("no tool of the server is known to ask");
  await sharedWithSession(stage);
  const called = `called ${tools.map(({ name }) => name).join(", ")} with ${show(capabilities)}`;
  return declaring(stage, capabilities, async (peer) => {
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

/** The tools that are known for some roles. */
function toolsFor(stage: Stage, ...roles: readonly Role[]): ToolUse[] {
  return roles.flatMap((role) => stage.findTool(role) ?? []);
}

async function runUndeclared(stage: Stage): Promise<string> {
  return expectUnasked(stage, {}, toolsFor(stage, "elicit", "sample", "roots"), ({ method }) => method !== "ping");
}

export const asking: readonly Scenario[] = [
  {
    id: "ask/form",
    title: "a form is flat, and its answer comes back to the tool",
    requirements: ["K10", "K12"],
    strength: "must",
    since: "2025-06-18",
    needs: ["tools"],
    async run(stage) {
      const exchange = await ask(stage, "elicit", "elicitation/create");
      const { params } = expectAsked(exchange, "elicitation/create");
      const isForm = [undefined, "form"].includes(at(params, "mode") as string | undefined);
      const isFine = isForm && typeof at(params, "message") === "string" && isFlatForm(at(params, "requestedSchema"));
      check(isFine, () => `called a tool that asks; got ${show(params)}; expected a message and a flat form`);
      return `was asked ${show(params, 120)}; ${exchange.reply.proof}`;
    },
  },
  {
    id: "ask/declined",
    title: "a user who declines or cancels ends the question, not the connection",
    requirements: ["K12"],
    strength: "must",
    since: "2025-06-18",
    needs: ["tools"],
    async run(stage) {
      const peer = await sharedWithSession(stage);
      const tool = stage.tool("elicit");
      try {
        for (const action of ["decline", "cancel"]) {
          peer.answer = (question) =>
            question.method === "elicitation/create" ? { action } : answerWillingly(question);
          const reply = await peer.call(tool);
          check(reply.message !== undefined, () => reply.evidence("an answer to the call"));
        }
      } finally {
        peer.answer = answerWillingly;
      }
      await peer.fence();
      return "declined a form and cancelled it; got an answer to both calls";
    },
  },
  {
    id: "ask/url",
    title: "a question that opens a page names the page",
    requirements: ["K11"],
    strength: "must",
    since: "2025-11-25",
    needs: ["tools"],
    async run(stage) {
      const exchange = await ask(stage, "visit", "elicitation/create");
      // spec 2025-11-25: elicitation#url-elicitation-required-error
      const required =
        exchange.reply.code === -32042 ? listAt(exchange.reply.message, "error", "data", "elicitations") : [];
      const params = required[0] ?? expectAsked(exchange, "elicitation/create").params;
      const isNamed = stage.revision.isStateless || typeof at(params, "elicitationId") === "string";
      const isFine =
        at(params, "mode") === "url" &&
        URL.canParse(String(at(params, "url"))) &&
        typeof at(params, "message") === "string";
      check(
        isFine && isNamed,
        () => `called a tool that opens a page; got ${show(params)}; expected mode, message and url`,
      );
      return `was asked ${show(params)}; ${exchange.reply.proof}`;
    },
  },
  {
    id: "ask/kind-undeclared",
    title: "who declares forms and plain sampling only is sent to no page and offered no tools",
    requirements: ["K7", "K13", "M3"],
    strength: "must",
    since: "2025-11-25",
    needs: ["tools"],
    async run(stage) {
      const tools = toolsFor(stage, "visit", "sampleWithTools");
      const isTooMuch = ({ params }: Question) => at(params, "mode") === "url" || at(params, "tools") !== undefined;
      return expectUnasked(stage, { elicitation: { form: {} }, sampling: {} }, tools, isTooMuch);
    },
  },
  {
    id: "ask/sample",
    title: "a question to the model has messages and a limit, and its answer comes back to the tool",
    requirements: ["K3"],
    strength: "must",
    needs: ["tools"],
    async run(stage) {
      const exchange = await ask(stage, "sample", "sampling/createMessage");
      const { params } = expectAsked(exchange, "sampling/createMessage");
      const isFine = listAt(params, "messages").length > 0 && Number.isInteger(at(params, "maxTokens"));
      check(isFine, () => `called a tool that samples; got ${show(params)}; expected messages and maxTokens`);
      return `was asked ${show(params, 120)}; ${exchange.reply.proof}`;
    },
  },
  {
    id: "ask/sample-with-tools",
    title: "a question to the model may offer tools, and every use of one is answered next",
    requirements: ["K7"],
    strength: "must",
    since: "2025-11-25",
    needs: ["tools"],
    async run(stage) {
      const exchange = await ask(stage, "sampleWithTools", "sampling/createMessage");
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
      return `was asked ${exchange.asked.length} times; ${exchange.reply.proof}`;
    },
  },
  {
    id: "ask/roots",
    title: "the roots of the client come to the tool that asks for them",
    requirements: ["K1"],
    strength: "must",
    needs: ["tools"],
    async run(stage) {
      const { reply, asked } = await ask(stage, "roots", "roots/list");
      // A server may know the roots from an earlier answer.
      if (!show(reply.result(), 5_000).includes("file:///portolan/one")) expectAsked({ asked, reply }, "roots/list");
      check(reply.result()["isError"] !== true, () => reply.evidence("a result"));
      return `was asked ${asked.length} times; ${reply.proof}`;
    },
  },
  {
    id: "ask/undeclared",
    title: "a client is not asked for what it did not declare",
    requirements: ["B6", "K1", "M3"],
    strength: "must",
    since: "2025-06-18",
    needs: ["tools"],
    run: runUndeclared,
  },
  {
    id: "ask/undeclared-early",
    title: "a client is not asked for what it did not declare",
    requirements: ["B6", "K1"],
    strength: "should",
    until: "2025-03-26",
    needs: ["tools"],
    run: runUndeclared,
  },
  {
    id: "ask/tampered-state",
    title: "a state that is not the server's own is refused with -32602",
    requirements: ["M7"],
    strength: "should",
    since: firstStateless,
    needs: ["tools"],
    async run(stage) {
      const peer = await stage.shared();
      const { name, arguments: given = {} } = stage.tool("elicit");
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
      return reply.proof;
    },
  },
];

/** A message with a tool use that the next message does not answer, or not alone. */
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
