import type { SamplingMessage } from "portolan";
import { PortolanError } from "portolan";
import { blocksOf } from "./messages.ts";
import type { Model } from "./model.ts";

/** What a request asks of a model. */
export interface ModelNeeds {
  readonly tools?: boolean;
  readonly images?: boolean;
  readonly audio?: boolean;
}

/** What a request needs; what tools answered is no need, since it can be put in words. */
export function needsOf(request: {
  readonly messages: readonly SamplingMessage[];
  readonly tools?: readonly unknown[] | undefined;
}): ModelNeeds {
  const kinds = new Set(request.messages.flatMap((message) => blocksOf(message).map(({ type }) => type)));
  const tools = (request.tools?.length ?? 0) > 0 || kinds.has("tool_use") || kinds.has("tool_result");
  return { tools, images: kinds.has("image"), audio: kinds.has("audio") };
}

/** What is needed and a model lacks. */
export function lacksOf({ capabilities }: Pick<Model, "capabilities">, needs: ModelNeeds): string[] {
  const names = ["tools", "images", "audio"] as const;
  return names.filter((name) => needs[name] === true && capabilities[name] !== true);
}

/** Throws when a model lacks what a request needs. */
export function checkNeeds(model: Pick<Model, "id" | "capabilities">, needs: ModelNeeds): void {
  const lacks = lacksOf(model, needs);
  if (lacks.length === 0) return;
  throw new PortolanError(
    "capability-missing",
    `${model.id}: expected a request without ${lacks.join(" and ")}, which this model does not take; ask another one, or state what it can do in \`capabilities\``,
  );
}
