import type { Prompt, Resource, ResourceTemplate, Tool } from "portolan";
import type { Client, Clock } from "portolan/client";
import { toError } from "portolan/internal";
import { listPauseMs, maxListChars, maxListItems } from "../limits.ts";

/** The features that one server lists. */
export interface ListedFeatures {
  readonly tools: readonly Tool[];
  readonly prompts: readonly Prompt[];
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplate[];
  readonly instructions?: string;
}

/** A list that changes as a whole. */
export type FeatureKind = "tools" | "prompts" | "resources";

/** Limits for each list of a server. */
export interface FeatureLimits {
  /** Items of one list. Default: 2,000. */
  readonly maxItems?: number;
  /** Characters of JSON of one list. Default: 4 Mi. */
  readonly maxChars?: number;
}

const noResources = { resources: [], templates: [] };

/** The features before the first listing. */
export const noFeatures: ListedFeatures = { tools: [], prompts: [], ...noResources };

/** Reads the lists of one kind. `warn` is called with everything that was left out. */
export async function readFeatures(
  client: Client,
  kind: FeatureKind,
  limits: FeatureLimits,
  warn: (what: string) => void,
): Promise<Partial<ListedFeatures>> {
  if (client.server.capabilities[kind] === undefined) return kind === "resources" ? noResources : { [kind]: [] };
  const read = <T>(what: string, items: AsyncIterable<T>, keyOf: (item: T) => string) =>
    readList(items, keyOf, limits, (why) => warn(`${what}: ${why}`));
  // A cached list would hide the change that caused this call.
  const options = { fresh: true };
  if (kind === "tools") return { tools: await read("tools", client.tools(options), ({ name }) => name) };
  if (kind === "prompts") return { prompts: await read("prompts", client.prompts(options), ({ name }) => name) };
  const [resources, templates] = await Promise.all([
    read("resources", client.resources(options), ({ uri }) => uri),
    read("resource templates", client.templates(options), ({ uriTemplate }) => uriTemplate),
  ]);
  return { resources, templates };
}

async function readList<T>(
  items: AsyncIterable<T>,
  keyOf: (item: T) => string,
  { maxItems = maxListItems, maxChars = maxListChars }: FeatureLimits,
  warn: (why: string) => void,
): Promise<T[]> {
  const list = new Map<string, T>();
  let chars = 0;
  try {
    for await (const item of items) {
      const key = keyOf(item);
      if (list.has(key)) {
        warn(`${JSON.stringify(key.slice(0, 100))} is listed twice; the first one is used`);
        continue;
      }
      chars += JSON.stringify(item).length;
      if (list.size >= maxItems || chars > maxChars) {
        const limit = list.size >= maxItems ? `${maxItems} items` : `${maxChars} characters`;
        warn(`more than ${limit}; the rest is left out`);
        break;
      }
      list.set(key, item);
    }
  } catch (thrown) {
    // A list that ends with an error is used as far as it came; one that fails at once is an error.
    if (list.size === 0) throw thrown;
    warn(`the list failed after ${list.size} items: ${toError(thrown).message}`);
  }
  return [...list.values()];
}

/** Runs work at each request, one at a time and with a pause in between; requests meanwhile are merged. */
export class Throttle {
  readonly #clock: Clock;
  readonly #work: () => Promise<void>;
  #isBusy = false;
  #isRequested = false;
  #notBefore = 0;
  #stopTimer: (() => void) | undefined;

  /** `work` must not reject. */
  constructor(clock: Clock, work: () => Promise<void>) {
    this.#clock = clock;
    this.#work = work;
  }

  request(): void {
    this.#isRequested = true;
    if (this.#isBusy || this.#stopTimer) return;
    const wait = this.#notBefore - this.#clock.now();
    if (wait <= 0) this.#run();
    else {
      this.#stopTimer = this.#clock.after(wait, () => {
        this.#stopTimer = undefined;
        this.#run();
      });
    }
  }

  stop(): void {
    this.#isRequested = false;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    this.#isRequested = false;
    const startedAt = this.#clock.now();
    await this.#work();
    const now = this.#clock.now();
    // A slow server is asked less often.
    this.#notBefore = now + Math.max(listPauseMs, 4 * (now - startedAt));
    this.#isBusy = false;
    if (this.#isRequested) this.request();
  }
}
