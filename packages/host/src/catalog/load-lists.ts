import type { Prompt, Resource, ResourceTemplate, Tool } from "portolan";
import { RpcError, rpcCodes } from "portolan";
import type { Client, Clock } from "portolan/client";
import { array, isObject, object, optional, record, string, toError } from "portolan/internal";
import { canonicalJson } from "portolan/storage";
import { listPauseMs, maxListChars, maxListItems, maxListProblems } from "../limits.ts";

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

/** One list of a server. */
export type ListName = "tools" | "prompts" | "resources" | "templates";

/** A list that was not read completely. */
export interface ListProblem {
  readonly list: ListName;
  readonly kind: /** The list could not be read. What was known of it before is kept. */
    | "failed"
    /** The server announces the feature, but does not know the method. The list is empty. */
    | "unsupported"
    /** An invalid item is left out. */
    | "invalid"
    /** Two items have the same name. The first one is used. */
    | "repeated"
    /** The end of the list is missing: it is too long, or its reading failed. */
    | "truncated";
  readonly message: string;
  /** The name or URI of the affected item. */
  readonly item?: string;
  /** The reason of a list that failed. */
  readonly error?: Error;
}

/** Limits for each list of a server. */
export interface FeatureLimits {
  /** Items of one list. Default: 2,000. */
  readonly maxItems?: number;
  /** Characters of JSON of one list. Default: 4 Mi. */
  readonly maxChars?: number;
}

/** The features before the first listing. */
export const noFeatures: ListedFeatures = { tools: [], prompts: [], resources: [], templates: [] };

/** The lists of each kind. */
const listsOf: { readonly [kind in FeatureKind]: readonly ListName[] } = {
  tools: ["tools"],
  prompts: ["prompts"],
  resources: ["resources", "templates"],
};

const described = { title: optional(string), description: optional(string) };
const ofPrompt = optional(array(object({ name: string, ...described })));

/** Each list: its name in messages, its method, and the members of its items that others rely on. */
const lists = {
  tools: {
    title: "tools",
    method: "tools/list",
    key: "name",
    shape: object({ ...described, annotations: optional(record()) }),
  },
  prompts: {
    title: "prompts",
    method: "prompts/list",
    key: "name",
    shape: object({ ...described, arguments: ofPrompt }),
  },
  resources: {
    title: "resources",
    method: "resources/list",
    key: "uri",
    shape: object({ ...described, name: optional(string) }),
  },
  templates: {
    title: "resource templates",
    method: "resources/templates/list",
    key: "uriTemplate",
    shape: object({ ...described, name: optional(string) }),
  },
} as const;

/** Lists as far as they could be read, and what is missing of them. */
export interface ReadLists {
  readonly features: Partial<ListedFeatures>;
  readonly problems: readonly ListProblem[];
}

/** Reads the lists of one kind, each on its own: a list that fails does not affect the others. Never rejects. */
export async function readFeatures(client: Client, kind: FeatureKind, limits: FeatureLimits): Promise<ReadLists> {
  const isOffered = client.server.capabilities[kind] !== undefined;
  const read = await Promise.all(
    listsOf[kind].map((list) =>
      isOffered ? readList(client, list, limits) : { features: { [list]: [] }, problems: [] },
    ),
  );
  return {
    features: Object.assign({}, ...read.map(({ features }) => features)),
    problems: read.flatMap(({ problems }) => problems),
  };
}

async function readList(
  client: Client,
  list: ListName,
  { maxItems = maxListItems, maxChars = maxListChars }: FeatureLimits,
): Promise<ReadLists> {
  const { title, method, key: member, shape } = lists[list];
  const items = new Map<string, object>();
  const problems = new ProblemList(list, title);
  let chars = 0;
  try {
    // A cached list would hide the change that caused this call.
    const options = {
      fresh: true,
      onInvalid(problem: string, item: unknown) {
        const key = isObject(item) ? item[member] : undefined;
        problems.leaveOut(problem, typeof key === "string" ? key : undefined);
      },
    };
    const all: AsyncIterable<object> = client[list](options);
    for await (const item of all) {
      const key = String(item[member as keyof typeof item]);
      const size = sizeOf(item);
      const problem = size === undefined ? `${quote(key)}: nested too deeply` : shape(item, quote(key));
      if (problem !== undefined) {
        problems.leaveOut(problem, key);
        continue;
      }
      if (items.has(key)) {
        problems.add("repeated", `${quote(key)} is listed twice; the first one is used`, key);
        continue;
      }
      chars += size ?? 0;
      if (items.size >= maxItems || chars > maxChars) {
        const limit = items.size >= maxItems ? `${maxItems} items` : `${maxChars} characters`;
        problems.add("truncated", `more than ${limit}; the rest is left out`);
        break;
      }
      items.set(key, item);
    }
  } catch (thrown) {
    const error = toError(thrown);
    if (error instanceof RpcError && error.code === rpcCodes.methodNotFound && items.size === 0) {
      const message = `${title}: the server announces them, but does not support ${method}`;
      return { features: { [list]: [] }, problems: [{ list, kind: "unsupported", message }] };
    }
    // A list that ends with an error is used as far as it came. One that fails at once keeps its previous content.
    if (items.size === 0) {
      const message = `${title}: ${error.message}`;
      return { features: {}, problems: [{ list, kind: "failed", message, error }] };
    }
    problems.add("truncated", `the list failed after ${items.size} items: ${error.message}`);
  }
  return { features: { [list]: [...items.values()] }, problems: problems.all };
}

/** Collects what is missing of one list. */
class ProblemList {
  readonly #list: ListName;
  readonly #title: string;
  readonly #all: ListProblem[] = [];
  #more = 0;

  constructor(list: ListName, title: string) {
    this.#list = list;
    this.#title = title;
  }

  add(kind: ListProblem["kind"], what: string, item?: string): void {
    if (this.#all.length >= maxListProblems) {
      this.#more += 1;
      return;
    }
    const message = `${this.#title}: ${what}`;
    this.#all.push({ list: this.#list, kind, message, ...(item !== undefined && { item }) });
  }

  leaveOut(problem: string, item?: string): void {
    this.add("invalid", `${problem}; it is left out`, item);
  }

  get all(): readonly ListProblem[] {
    const [first] = this.#all;
    if (!first || this.#more === 0) return this.#all;
    return [
      ...this.#all,
      { list: this.#list, kind: first.kind, message: `${this.#title}: ${this.#more} more problems` },
    ];
  }
}

function quote(key: string): string {
  return JSON.stringify(key.slice(0, 100));
}

/** Returns the length of an item as JSON; undefined if it is nested too deeply for its digest. */
function sizeOf(item: unknown): number | undefined {
  try {
    return canonicalJson(item).length;
  } catch {
    return undefined;
  }
}

/** Runs work at each request, one at a time and with a pause in between; requests meanwhile are merged. */
export class Throttle {
  readonly #clock: Clock;
  readonly #work: () => Promise<void>;
  #isBusy = false;
  #isRequested = false;
  #notBefore = 0;
  #stopTimer: (() => void) | undefined;
  #running: Promise<void> = Promise.resolve();

  /** `work` must not reject. */
  constructor(clock: Clock, work: () => Promise<void>) {
    this.#clock = clock;
    this.#work = work;
  }

  request(): void {
    this.#isRequested = true;
    if (this.#isBusy || this.#stopTimer) return;
    const wait = this.#notBefore - this.#clock.now();
    if (wait <= 0) this.#start();
    else {
      this.#stopTimer = this.#clock.after(wait, () => {
        this.#stopTimer = undefined;
        this.#start();
      });
    }
  }

  /** Resolves when the work of all requests so far is done. The work that waits for its pause begins at once. */
  async flush(): Promise<void> {
    if (this.#isBusy) await this.#running;
    if (!this.#isRequested) return;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (!this.#isBusy) this.#start();
    await this.#running;
  }

  stop(): void {
    this.#isRequested = false;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  #start(): void {
    this.#isBusy = true;
    this.#isRequested = false;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    const startedAt = this.#clock.now();
    await this.#work();
    const now = this.#clock.now();
    // A slow server is asked less often.
    this.#notBefore = now + Math.max(listPauseMs, 4 * (now - startedAt));
    this.#isBusy = false;
    if (this.#isRequested) this.request();
  }
}
