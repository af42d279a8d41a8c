import type { Prompt, Resource, ResourceTemplate, Tool } from "portolan";
import type { Client, Clock } from "portolan/client";
import { toError } from "portolan/internal";
import { listPauseMs, maxListChars, maxListItems } from "../limits.ts";

/** What one server offers, as it says. */
export interface ListedFeatures {
  readonly tools: readonly Tool[];
  readonly prompts: readonly Prompt[];
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplate[];
  readonly instructions?: string;
}

/** The lists that change together. */
export type FeatureKind = "tools" | "prompts" | "resources";

/** How much of what a server offers is looked at. */
export interface FeatureLimits {
  /** Of each list; 2,000 unless said. */
  readonly maxItems?: number;
  /** Characters of JSON of each list; 4 Mi unless said. */
  readonly maxChars?: number;
}

const noResources = { resources: [], templates: [] };

/** What is known of a server before anything is. */
export const noFeatures: ListedFeatures = { tools: [], prompts: [], ...noResources };

/** Reads the lists of one kind. `warn` hears what was left out, and why. */
export async function readFeatures(
  client: Client,
  kind: FeatureKind,
  limits: FeatureLimits,
  warn: (what: string) => void,
): Promise<Partial<ListedFeatures>> {
  if (client.server.capabilities[kind] === undefined) return kind === "resources" ? noResources : { [kind]: [] };
  const read = <T>(what: string, items: AsyncIterable<T>, keyOf: (item: T) => string) =>
    readList(items, keyOf, limits, (why) => warn(`${what}: ${why}`));
  // A kept list would hide the very change that led here.
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
        warn(`${JSON.stringify(key.slice(0, 100))} is there twice; the first one counts`);
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
    // A list that breaks off is worth what came before; one without a beginning is none.
    if (list.size === 0) throw thrown;
    warn(`the list breaks off after ${list.size}: ${toError(thrown).message}`);
  }
  return [...list.values()];
}

/** Does some work again whenever it is wanted, one at a time and with pauses between: however often it is wanted. */
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
    // Whoever takes long is asked less often.
    this.#notBefore = now + Math.max(listPauseMs, 4 * (now - startedAt));
    this.#isBusy = false;
    if (this.#isRequested) this.request();
  }
}
