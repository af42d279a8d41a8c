import { findBreach } from "../conforms.ts";
import { at, isSame, listAt, show } from "../json.ts";
import { check, NotApplicable } from "../outcome.ts";
import type { Reply } from "../reply.ts";
import type { Scenario, Stage } from "../scenario.ts";

async function callStructured(stage: Stage): Promise<{ schema: unknown; reply: Reply; value: unknown }> {
  const use = stage.tool("structured");
  const schema = at(
    stage.surface.tools.find((tool) => at(tool, "name") === use.name),
    "outputSchema",
  );
  if (schema === undefined) throw new NotApplicable(`the tool ${use.name} has no outputSchema`);
  const reply = await (await stage.shared()).call(use);
  return { schema, reply, value: reply.result()["structuredContent"] };
}

export const structured: readonly Scenario[] = [
  {
    id: "structured/conforms",
    title: "a structured result is what the output schema of its tool says",
    requirements: ["G4", "G5"],
    strength: "must",
    since: "2025-06-18",
    needs: ["tools"],
    async run(stage) {
      const { schema, reply, value } = await callStructured(stage);
      const breach = value === undefined ? "it is missing" : findBreach(schema, value);
      check(breach === undefined, () => reply.evidence(`structuredContent by ${show(schema)}, but ${breach}`));
      return reply.proof;
    },
  },
  {
    id: "structured/mirrored",
    title: "a structured result is there as text as well",
    requirements: ["G5"],
    strength: "should",
    since: "2025-06-18",
    needs: ["tools"],
    async run(stage) {
      const { reply, value } = await callStructured(stage);
      const texts = listAt(reply.result(), "content").map((block) => at(block, "text"));
      check(
        texts.some((text) => isSame(parse(text), value)),
        () => reply.evidence("structuredContent as text too"),
      );
      return reply.proof;
    },
  },
];

function parse(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}
