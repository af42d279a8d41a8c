import type { SamplingMessage, Tool, ToolResultContent, ToolUseContent } from "portolan";
import { type Server, ToolError } from "portolan/server";
import { annotations, integer, object } from "portolan-server-kit";
import { need } from "./questions.ts";
import { reachesOut, text } from "./schemas.ts";

const add: Tool = {
  name: "add",
  description: "Adds two numbers",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
};
const modelAnswer = object({ text: text("Answer of the model"), model: text("Name of the model") });

/** Adds tools that ask the client's model, or the client itself. */
export function withModels(server: Server): Server {
  return server
    .tool("sample", {
      title: "Ask the model",
      description: "Asks the client's model a question",
      input: object({ prompt: text("The question") }),
      output: modelAnswer,
      annotations: reachesOut,
      async run({ prompt }: { prompt: string }, ctx) {
        need(ctx, "sampling");
        const { content, model } = await ctx.sample("answer", {
          messages: [{ role: "user", content: { type: "text", text: prompt } }],
          systemPrompt: "Answer in one sentence.",
          // Required: the client must not exceed it.
          maxTokens: 100,
          temperature: 0,
          stopSequences: ["\n\n"],
          // Preferences only; the client and its user choose the model.
          modelPreferences: {
            hints: [{ name: "small" }],
            costPriority: 0.8,
            speedPriority: 0.8,
            intelligencePriority: 0.2,
          },
          metadata: { from: "everything" },
        });
        return { text: textIn(content), model };
      },
    })
    .tool("sample-tools", {
      title: "Let the model use tools",
      description:
        "Lets the client's model add numbers with a tool of this server; needs a client of 2025-11-25 or newer",
      input: object({ a: integer("A number"), b: integer("Another") }),
      output: modelAnswer,
      annotations: reachesOut,
      async run({ a, b }: { a: number; b: number }, ctx) {
        need(ctx, "sampling.tools");
        const messages: SamplingMessage[] = [
          { role: "user", content: { type: "text", text: `What is ${a} + ${b}? Use the tool.` } },
        ];
        for (let turn = 1; turn <= 4; turn += 1) {
          const { content, model } = await ctx.sample(`turn-${turn}`, {
            messages,
            maxTokens: 100,
            tools: [add],
            // The model must call a tool in the first turn, and may do so later.
            toolChoice: { mode: turn === 1 ? "required" : "auto" },
          });
          const uses = [content].flat().filter((block): block is ToolUseContent => block.type === "tool_use");
          if (uses.length === 0) return { text: textIn(content), model };
          // The next message contains a result for each tool use, and nothing else.
          messages.push({ role: "assistant", content }, { role: "user", content: uses.map(answerUse) });
        }
        throw new ToolError("The model still called the tool after four turns; try again");
      },
    })
    .tool("roots", {
      title: "Roots",
      description: "Returns the folders that the client works on",
      input: object({}),
      output: object({ roots: { type: "array", items: { type: "object" }, description: "Each with uri and name" } }),
      annotations: annotations.reads,
      async run(_, ctx) {
        need(ctx, "roots");
        // Roots are advice, not a permission.
        return { roots: await ctx.roots() };
      },
    });
}

function answerUse({ id, input }: ToolUseContent): ToolResultContent {
  const { a, b } = input;
  const isRight = typeof a === "number" && typeof b === "number";
  const text = isRight ? String(a + b) : "a and b: expected numbers";
  return { type: "tool_result", toolUseId: id, content: [{ type: "text", text }], ...(!isRight && { isError: true }) };
}

/** Returns the text of an answer, whose content is one block or an array. */
function textIn(content: SamplingMessage["content"]): string {
  return [content].flat().reduce((all, block) => (block.type === "text" ? `${all}${block.text}` : all), "");
}
