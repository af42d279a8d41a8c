import type { JsonObject, SamplingContent, SamplingMessage, ToolChoice } from "portolan";

/** The abilities of a model. */
export interface ModelCapabilities {
  readonly tools: boolean;
  readonly images: boolean;
  readonly audio?: boolean;
  /** The size of its context window in tokens. */
  readonly contextTokens?: number;
}

/** Ratings of a model from 0 to 1, which the priorities of servers refer to. A cost of 1 is cheap. */
export interface ModelTraits {
  readonly cost?: number;
  readonly speed?: number;
  readonly intelligence?: number;
}

/** A language model or a replacement for one. It has no state between requests. */
export interface Model {
  readonly id: string;
  readonly capabilities: ModelCapabilities;
  readonly traits?: ModelTraits;
  /** Shown beside its name in user interfaces: "not a language model". */
  readonly notice?: string;
  /** Its text repeats the results of its tool calls, so a user interface need not show them as well. Default: false. */
  readonly repeatsResults?: boolean;
  /** Streams one turn. Ends with one `end` event, or throws `signal.reason` or a PortolanError. */
  stream(request: ModelRequest): AsyncIterable<ModelEvent>;
}

/** One request to a model: the params of MCP sampling without the preferences that the client evaluates. */
export interface ModelRequest {
  readonly system?: string | undefined;
  readonly messages: readonly SamplingMessage[];
  readonly tools?: readonly ModelTool[] | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  readonly maxTokens: number;
  readonly temperature?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A tool as the model sees it. */
export interface ModelTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: JsonObject;
}

/** A piece of the answer. */
export interface TextEvent {
  readonly type: "text";
  readonly delta: string;
}

/** A piece of the reasoning before the answer. It is for display and not part of the conversation. */
export interface ThinkingEvent {
  readonly type: "thinking";
  readonly delta: string;
}

/** A tool call that the model wants. */
export interface ToolEvent {
  readonly type: "tool";
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  readonly unreadable?: undefined;
}

/** A tool call whose arguments are not a JSON object, with their text. */
export interface UnreadableToolEvent {
  readonly type: "tool";
  readonly id: string;
  readonly name: string;
  readonly input?: undefined;
  readonly unreadable: string;
}

/** The end of a turn. */
export interface EndEvent {
  readonly type: "end";
  /** `endTurn`, `toolUse`, `maxTokens`, `stopSequence`, or a value of the provider such as `refusal`. */
  readonly stopReason: string;
  readonly usage?: TokenUsage;
  /** The name of the model that answered, as its provider calls it. */
  readonly model: string;
  /**
   * True if the text explains which tools there are instead of answering, as the demo model does for a task that no tool
   * matches. A user interface can offer the list of tools. Default: false.
   */
  readonly explainsTools?: boolean;
}

/** One event of a turn. */
export type ModelEvent = TextEvent | ThinkingEvent | ToolEvent | UnreadableToolEvent | EndEvent;

/** The tokens of a turn. */
export interface TokenUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

/** One complete turn. */
export interface ModelReply {
  /** Text and tool calls in their order, without thinking. */
  readonly content: SamplingContent[];
  /** Tool calls that cannot run, because their arguments are not a JSON object. */
  readonly unreadable: readonly UnreadableToolEvent[];
  readonly stopReason: string;
  readonly usage?: TokenUsage;
  readonly model: string;
}
