import type { ToolDefinition } from "portolan/server";
import { type Kit, type StatementArguments, toBounds, toStatement } from "../kit.ts";
import { annotations, object, parameters, sql, text } from "../schema.ts";

/** Shows the plan of a statement. */
export function explainTool({
  database,
  limits,
}: Kit): ToolDefinition<StatementArguments, { plan: string }, undefined> {
  return {
    title: "Explain",
    description: `How ${database.about} would run a statement: scans, indexes, order. Nothing is run`,
    input: object({ sql: sql("One statement, without EXPLAIN before it", limits), parameters }, ["parameters"]),
    output: object({ plan: text("The plan, a step in each line") }),
    annotations: annotations.reads,
    async run(statement, ctx) {
      const plan = await database.explain(toStatement(statement), toBounds(limits, limits.maxRows), ctx.signal);
      return { content: [{ type: "text", text: plan }], structuredContent: { plan } };
    },
  };
}
