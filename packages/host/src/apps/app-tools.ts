import type { CallToolResult, JsonObject, Tool } from "portolan";
import { PortolanError } from "portolan";
import { CallFailure, type Clock } from "portolan/client";
import { array, boolean, compileOutputSchema, object, optional, record, string, toError } from "portolan/internal";
import { canonicalJson, sha256 } from "portolan/storage";
import type { HostCallOptions } from "../api.ts";
import { appModelNameOf } from "../catalog/catalog.ts";
import { Throttle } from "../catalog/load-lists.ts";
import { denied } from "../consent.ts";
import type { AppAccess, OfferedTool } from "./access.ts";
import type { HostRequests } from "./host-requests.ts";
import {
  appToolsWaitMs,
  maxAppResultChars,
  maxAppToolItems,
  maxAppToolNameChars,
  maxAppToolNames,
  maxAppToolPages,
  maxAppTools,
  maxAppToolsChars,
} from "./limits.ts";

/** A tool that an app offers to models while it is shown. */
export interface AppTool {
  readonly name: string;
  /** The tool's name for models, which means this app, while it is shown, and exactly this definition. */
  readonly modelName: string;
  readonly definition: Tool;
  /** Digest of the app's session and the definition. */
  readonly digest: string;
}

/** Options of `AppTools`. */
export interface AppToolsOptions {
  readonly server: string;
  /** The URI of the app. */
  readonly app: string;
  /** The id of the session. It is random, so that nothing about these tools holds for another one. */
  readonly session: string;
  readonly requests: HostRequests;
  readonly callTool: AppAccess["callTool"];
  readonly clock: Clock;
  /** Aborts when the app is removed. */
  readonly over: AbortSignal;
  /** Logs what the host does. */
  readonly log: (entry: object) => void;
  /** Is told of each new list. */
  readonly onTools: ((tools: readonly AppTool[]) => void) | undefined;
}

/** The tools that an app offers: read when it is ready and when it says that they have changed, and never stored. */
export class AppTools {
  readonly #options: AppToolsOptions;
  readonly #throttle: Throttle;
  #tools: ReadonlyMap<string, AppTool> = new Map();
  /** The digest of each tool's definition when it was first offered. */
  readonly #first = new Map<string, string>();
  readonly #outputs = new WeakMap<AppTool, ReturnType<typeof compileOutputSchema>>();
  /** A turn of a model has waited for this app in vain. The next ones do not wait. */
  #isSlow = false;

  constructor(options: AppToolsOptions) {
    this.#options = options;
    this.#throttle = new Throttle(options.clock, () => this.#read());
  }

  get all(): readonly AppTool[] {
    return [...this.#tools.values()];
  }

  /** Reads the list: at once, or after a pause if it was read a moment ago. */
  request(): void {
    if (!this.#options.over.aborted) this.#throttle.request();
  }

  /** Resolves when the list is as the app last told of it, or after a second. */
  async settled(): Promise<void> {
    if (this.#isSlow) return;
    let stopTimer = () => {};
    const late = new Promise<void>((resolve) => {
      stopTimer = this.#options.clock.after(appToolsWaitMs, () => {
        this.#isSlow = true;
        resolve();
      });
    });
    await Promise.race([this.#throttle.flush(), late]);
    stopTimer();
  }

  /** Calls a tool: with the consent of the user, in the activity log, and only if the app still offers exactly this one. */
  call(tool: AppTool, args: JsonObject, options: HostCallOptions): Promise<CallToolResult> {
    const { server, over, callTool } = this.#options;
    // A question about the tools of an app that is gone is withdrawn.
    const signal = options.signal ? AbortSignal.any([options.signal, over]) : over;
    return callTool(server, this.#offered(tool), args, over.aborted ? options : { ...options, signal });
  }

  /** Forgets the tools, because the app is removed. */
  end(): void {
    this.#throttle.stop();
    this.#show(new Map());
  }

  #offered(given: AppTool): OfferedTool {
    const { app, server, over } = this.#options;
    const known = this.#tools.get(given.name);
    // The user is shown the definition that the app offers, whatever the caller has made of it.
    const tool = known?.digest === given.digest ? known : given;
    const { name, definition, digest } = tool;
    return {
      ...{ app, name, definition, digest, until: over },
      isChanged: this.#first.get(name) !== digest,
      check: () => {
        if (over.aborted) throw appClosed();
        if (this.#tools.get(name)?.digest === digest) return;
        const what = `${server}.${app}#${name}`;
        throw denied(what, "is not offered any more: the app has removed or changed it", "definition-changed");
      },
      call: (args, signal) => this.#send(tool, args, signal),
    };
  }

  async #send(tool: AppTool, args: JsonObject, signal: AbortSignal): Promise<CallToolResult> {
    const { requests } = this.#options;
    const problemsOf = await this.#outputOf(tool);
    const params = { name: tool.name, arguments: args };
    const result = await requests.send("tools/call", params, { signal, maxChars: maxAppResultChars });
    const problem = toolResult(result, "result") ?? problemsOf?.(result)[0];
    if (problem !== undefined) throw new PortolanError("answer-invalid", problem);
    return result as JsonObject & CallToolResult;
  }

  /** Returns the check of a tool's results. Rejects if its output schema is invalid: nothing of it is ever fetched. */
  #outputOf(tool: AppTool): ReturnType<typeof compileOutputSchema> | undefined {
    const { name, outputSchema } = tool.definition;
    if (outputSchema === undefined) return undefined;
    const check = this.#outputs.get(tool) ?? compileOutputSchema(name, outputSchema);
    this.#outputs.set(tool, check);
    return check;
  }

  /** Reads the list. An app whose list cannot be read offers nothing. */
  async #read(): Promise<void> {
    const { log, over } = this.#options;
    try {
      const { tools, leftOut } = await this.#list();
      if (over.aborted) return;
      log({ method: "tools/list", tools: [...tools.keys()], ...(leftOut.length > 0 && { leftOut }) });
      this.#show(tools);
    } catch (thrown) {
      if (over.aborted) return;
      log({ method: "tools/list", failed: toError(thrown).message });
      this.#show(new Map());
    }
  }

  async #list(): Promise<{ readonly tools: ReadonlyMap<string, AppTool>; readonly leftOut: readonly string[] }> {
    const tools = new Map<string, AppTool>();
    const leftOut = new Set<string>();
    let chars = 0;
    let count = 0;
    let cursor: string | undefined;
    for (let page = 0; page < maxAppToolPages; page += 1) {
      const { tools: items, nextCursor } = await this.#options.requests.send(
        "tools/list",
        cursor === undefined ? {} : { cursor },
      );
      if (!Array.isArray(items)) throw new PortolanError("answer-invalid", "tools/list: expected a list of tools");
      for (const item of items as readonly unknown[]) {
        count += 1;
        if (count > maxAppToolItems) return { tools, leftOut: [...leftOut.add(`more than ${maxAppToolItems} items`)] };
        const text = textOf(item);
        const problem = this.#problemOf(item, text, tools) ?? (chars + text.length > maxAppToolsChars && "too long");
        if (problem !== false) {
          leftOut.add(problem);
          // All further tools would be left out, too.
          if (tools.size >= maxAppTools) return { tools, leftOut: [...leftOut] };
          continue;
        }
        chars += text.length;
        // A copy: whoever has sent it may change it.
        const tool = await this.#toTool(JSON.parse(text) as Tool);
        tools.set(tool.name, tool);
      }
      if (typeof nextCursor !== "string") break;
      cursor = nextCursor;
    }
    return { tools, leftOut: [...leftOut] };
  }

  /** Returns why a tool is left out; undefined for a usable one. */
  #problemOf(item: unknown, text: string, tools: ReadonlyMap<string, AppTool>): string | undefined {
    if (tools.size >= maxAppTools) return `more than ${maxAppTools} tools`;
    if (text === "" || toolShape(item, "tool") !== undefined) return "invalid";
    const { name, inputSchema } = item as Tool;
    // A provider refuses a whole request for one tool without it.
    if (inputSchema.type !== "object") return "invalid schema";
    if (name === "" || name.length > maxAppToolNameChars) return "invalid name";
    if (tools.has(name)) return "repeated name";
    const isNew = !this.#first.has(name);
    return isNew && this.#first.size >= maxAppToolNames ? `more than ${maxAppToolNames} names` : undefined;
  }

  async #toTool(definition: Tool): Promise<AppTool> {
    const { server, session } = this.#options;
    const { name } = definition;
    const digest = await sha256(canonicalJson({ session, definition }));
    const known = this.#tools.get(name);
    if (known?.digest === digest) return known;
    if (!this.#first.has(name)) this.#first.set(name, digest);
    return { name, modelName: appModelNameOf(server, name, digest), definition, digest };
  }

  #show(tools: ReadonlyMap<string, AppTool>): void {
    const isSame =
      tools.size === this.#tools.size && [...tools.values()].every((one) => this.#tools.get(one.name) === one);
    this.#tools = tools;
    if (!isSame) this.#options.onTools?.(this.all);
  }
}

const toolShape = object({
  name: string,
  title: optional(string),
  description: optional(string),
  inputSchema: record(),
  outputSchema: optional(record()),
  annotations: optional(record()),
});

const toolResult = object({
  content: array(object({ type: string })),
  structuredContent: optional(record()),
  isError: optional(boolean),
});

/** Returns a value as JSON; an empty text for one that is nested too deeply. */
function textOf(item: unknown): string {
  try {
    return canonicalJson(item);
  } catch {
    return "";
  }
}

/** The error of a call to an app that is gone. */
function appClosed(): CallFailure {
  const message = "The app is closed, and its tools are gone with it";
  return new CallFailure("connection-closed", message, { name: "CallFailure", requestMayHaveRun: false });
}
