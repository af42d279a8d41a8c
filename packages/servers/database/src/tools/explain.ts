import type { ToolDefinition } from "portolan/server";
import { annotations, object, string, textResult } from "portolan-server-kit";
import { type Kit, type StatementArguments, toBounds, toStatement } from "../kit.ts";
import { parameters, sql } from "../schema.ts";

/** Shows the plan of a statement. */
export function explainTool({
  database,
  limits,
}: Kit): ToolDefinition<StatementArguments, { plan: string }, undefined> {
  return {
    title: "Explain",
    description: `How ${database.about} would run a statement: scans, indexes, order. Nothing is run`,
    input: object({ sql: sql("One statement, without EXPLAIN before it", limits), parameters }, ["parameters"]),
    output: object({ plan: string("The plan, a step in each line") }),
    annotations: annotations.reads,
    async run(statement, ctx) {
      const plan = await database.explain(toStatement(statement), toBounds(limits, limits.maxRows), ctx.signal);
      return textResult(plan, { plan });
    },
  };
}
