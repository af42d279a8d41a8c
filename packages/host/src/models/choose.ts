import type { ModelPreferences } from "portolan";
import type { Model } from "./model.ts";
import { lacksOf, type ModelNeeds } from "./needs.ts";

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
