import type { Completer, Context, ReadReturn, ResourceWatcher, TemplateValues } from "portolan/server";
import { toolErrorsAsInvalidParams } from "../kit.ts";
import type { ServiceAccess } from "./access.ts";
import { ServiceError } from "./client.ts";
import type { CallerContext } from "./tokens.ts";
import { watchVersion } from "./watch.ts";

const maxSuggestions = 100;

/** Reads something for a resource or a prompt: the user signs in first if that is needed, and failures say why. */
export function readFor<T>(access: ServiceAccess, ctx: Context, read: () => Promise<T>): Promise<T> {
  return toolErrorsAsInvalidParams(access.signIn(ctx).then(read));
}

/** Returns the reader of a template: nothing is there if the service has nothing there. */
export function reader(
  access: ServiceAccess,
  read: (values: TemplateValues, ctx: Context, uri: string) => Promise<ReadReturn>,
) {
  return (values: TemplateValues, ctx: Context, uri: string): Promise<ReadReturn> =>
    readFor(access, ctx, () => read(values, ctx, uri).catch(undefinedIfNotFound));
}

function undefinedIfNotFound(reason: unknown): undefined {
  if (reason instanceof ServiceError && reason.failure.kind === "not-found") return undefined;
  throw reason;
}

/** Returns what identifies the present version of a resource; `known` is what the last look returned. */
export type VersionOf = (
  values: TemplateValues,
  ctx: CallerContext,
  known: string | undefined,
) => Promise<string | undefined>;

/**
 * Returns the watch of a template, which looks now and then whether a resource has changed. A watch is shared by all who
 * follow a resource, so there is none where callers have accounts of their own.
 */
export function followed(access: ServiceAccess, versionOf: VersionOf): { readonly watch?: ResourceWatcher } {
  if (!access.isShared) return {};
  const watch: ResourceWatcher = (_uri, changed, values, { principal }) =>
    toolErrorsAsInvalidParams(
      watchVersion({
        principal,
        everyMs: access.limits.pollMs,
        versionOf: (ctx, known) => versionOf(values, ctx, known),
        changed: () => changed(),
      }),
    );
  return { watch };
}

/** The values that were chosen before. */
export type Known = { readonly [name: string]: string };

/** Finds suggestions: a value, or a value with other words by which people look for it. */
export type FindSuggestions = (
  value: string,
  known: Known,
  ctx: CallerContext,
) => Promise<readonly (string | readonly [value: string, ...words: string[]])[]>;

/** Returns a completer. A failure gives no suggestions, because the person is still typing. */
export function completer(find: FindSuggestions): Completer<undefined> {
  return async (value, known, ctx) => {
    const found = await find(value, known, ctx).catch(() => []);
    const typed = value.toLowerCase();
    const fitting = found
      .map((one) => (typeof one === "string" ? ([one] as const) : one))
      .filter((words) => words.some((word) => word.toLowerCase().startsWith(typed)));
    return [...new Set(fitting.map(([first]) => first))].slice(0, maxSuggestions);
  };
}
