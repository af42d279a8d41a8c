import { type ModelPreferences, PortolanError, type SamplingMessage } from "portolan";
import { blocksOf } from "./messages.ts";
import type { Model } from "./model.ts";

/** What counts for a trait that a model does not state. */
const unstated = 0.5;

/**
 * The model that suits a server best among those that can do what is needed: the first hint that is part of a name,
 * then the priorities, then the order of the list. Undefined when none can.
 */
export function chooseModel(
  models: readonly Model[],
  preferences: ModelPreferences = {},
  needs: ModelNeeds = {},
): Model | undefined {
  const able = models.filter((model) => lacksOf(model, needs).length === 0);
  for (const { name } of preferences.hints ?? []) {
    const hint = name?.trim().toLowerCase();
    if (!hint) continue;
    const hinted = able.filter(({ id }) => id.toLowerCase().includes(hint));
    if (hinted.length > 0) return best(hinted, preferences);
  }
  return best(able, preferences);
}

function best(models: readonly Model[], preferences: ModelPreferences): Model | undefined {
  let found: Model | undefined;
  let highest = Number.NEGATIVE_INFINITY;
  for (const model of models) {
    const score = scoreOf(model, preferences);
    // Only what is better replaces: equals stay in the order of the list.
    if (score > highest + 1e-9) {
      found = model;
      highest = score;
    }
  }
  return found;
}

function scoreOf({ traits = {} }: Model, preferences: ModelPreferences): number {
  return (
    weight(preferences.costPriority) * (traits.cost ?? unstated) +
    weight(preferences.speedPriority) * (traits.speed ?? unstated) +
    weight(preferences.intelligencePriority) * (traits.intelligence ?? unstated)
  );
}

/** A server's number, kept to what it may be. */
function weight(priority: number | undefined): number {
  return priority !== undefined && priority > 0 ? Math.min(priority, 1) : 0;
}

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
