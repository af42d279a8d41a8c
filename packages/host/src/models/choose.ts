import { type ModelPreferences, PortolanError, type SamplingMessage } from "portolan";
import { blocksOf } from "./messages.ts";
import type { Model } from "./model.ts";

/** The value of a trait that a model does not state. */
const defaultTrait = 0.5;

/**
 * Returns the model that fits the preferences of a server best, among those with the required capabilities. The first
 * hint that is part of a model's id decides, then the priorities, then the order of the list. Undefined if none fits.
 */
export function chooseModel(
  models: readonly Model[],
  preferences: ModelPreferences = {},
  requirements: ModelRequirements = {},
): Model | undefined {
  const capable = models.filter((model) => missingCapabilities(model, requirements).length === 0);
  for (const { name } of preferences.hints ?? []) {
    const hint = name?.trim().toLowerCase();
    if (!hint) continue;
    const hinted = capable.filter(({ id }) => id.toLowerCase().includes(hint));
    if (hinted.length > 0) return best(hinted, preferences);
  }
  return best(capable, preferences);
}

function best(models: readonly Model[], preferences: ModelPreferences): Model | undefined {
  let found: Model | undefined;
  let highest = Number.NEGATIVE_INFINITY;
  for (const model of models) {
    const score = scoreOf(model, preferences);
    // Only a better score replaces, so that equal models keep their order.
    if (score > highest + 1e-9) {
      found = model;
      highest = score;
    }
  }
  return found;
}

function scoreOf({ traits = {} }: Model, preferences: ModelPreferences): number {
  return (
    clampPriority(preferences.costPriority) * (traits.cost ?? defaultTrait) +
    clampPriority(preferences.speedPriority) * (traits.speed ?? defaultTrait) +
    clampPriority(preferences.intelligencePriority) * (traits.intelligence ?? defaultTrait)
  );
}

/** Limits a priority to 0–1. */
function clampPriority(priority: number | undefined): number {
  return priority !== undefined && priority > 0 ? Math.min(priority, 1) : 0;
}

/** The capabilities that a request needs. */
export interface ModelRequirements {
  readonly tools?: boolean;
  readonly images?: boolean;
  readonly audio?: boolean;
}

/**
 * Returns the capabilities that a request needs. Media in tool results do not count, because they can be described in
 * text.
 */
export function requirementsOf(request: {
  readonly messages: readonly SamplingMessage[];
  readonly tools?: readonly unknown[] | undefined;
}): ModelRequirements {
  const kinds = new Set(request.messages.flatMap((message) => blocksOf(message).map(({ type }) => type)));
  const tools = (request.tools?.length ?? 0) > 0 || kinds.has("tool_use") || kinds.has("tool_result");
  return { tools, images: kinds.has("image"), audio: kinds.has("audio") };
}

/** Returns the needed capabilities that a model missing. */
export function missingCapabilities(
  { capabilities }: Pick<Model, "capabilities">,
  requirements: ModelRequirements,
): string[] {
  const names = ["tools", "images", "audio"] as const;
  return names.filter((name) => requirements[name] === true && capabilities[name] !== true);
}

/** Throws if a model missing a capability that a request needs. */
export function checkCapabilities(model: Pick<Model, "id" | "capabilities">, requirements: ModelRequirements): void {
  const missing = missingCapabilities(model, requirements);
  if (missing.length === 0) return;
  throw new PortolanError(
    "capability-missing",
    `${model.id}: this model does not support ${missing.join(" and ")}, which the request needs; use another model, or set \`capabilities\` if it does`,
  );
}
