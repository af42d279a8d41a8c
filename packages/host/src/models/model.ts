import type { JsonObject, SamplingContent, SamplingMessage, ToolChoice } from "portolan";

/** What a model can do. */
export interface ModelCapabilities {
  readonly tools: boolean;
  readonly images: boolean;
  readonly audio?: boolean;
  /** How much a conversation may hold. */
  readonly contextTokens?: number;
}

/** How a model does on what servers set priorities by, from 0 to 1 each; a cost of 1 is cheap. */
export interface ModelTraits {
  readonly cost?: number;
  readonly speed?: number;
  readonly intelligence?: number;
}

/** A language model, or what stands in for one; it keeps nothing between two requests. */
export interface Model {
  readonly id: string;
  readonly capabilities: ModelCapabilities;
  readonly traits?: ModelTraits;
  /** Shown beside its name wherever it speaks: "demo, not a language model". */
  readonly notice?: string;
  /** One turn of the model. Ends with one `end` event, or throws: `signal.reason`, or a PortolanError. */
  stream(request: ModelRequest): AsyncIterable<ModelEvent>;
}

/** What a model is asked: the params of MCP sampling, without what only a client can decide. */
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

/** A tool as a model sees it. */
export interface ModelTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: JsonObject;
}

/** A piece of what the model says. */
export interface TextEvent {
  readonly type: "text";
  readonly delta: string;
}

/** A piece of what it thinks before it speaks; to be shown, and no part of the conversation. */
export interface ThinkingEvent {
  readonly type: "thinking";
  readonly delta: string;
}

/** A call that the model wishes for. */
export interface ToolEvent {
  readonly type: "tool";
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  readonly unreadable?: undefined;
}

/** A call whose arguments are no JSON object, as they came. */
export interface UnreadableToolEvent {
  readonly type: "tool";
  readonly id: string;
  readonly name: string;
  readonly input?: undefined;
  readonly unreadable: string;
}

/** The turn is over. */
export interface EndEvent {
  readonly type: "end";
  /** `endTurn`, `toolUse`, `maxTokens`, `stopSequence`, or a word of the provider such as `refusal`. */
  readonly stopReason: string;
  readonly usage?: TokenUsage;
  /** Which model it was, in the words of its provider. */
  readonly model: string;
}

/** What a model streams. */
export type ModelEvent = TextEvent | ThinkingEvent | ToolEvent | UnreadableToolEvent | EndEvent;

/** What a turn has cost. */
export interface TokenUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

/** A whole turn. */
export interface ModelReply {
  /** Text and calls in their order; what it thought is left out. */
  readonly content: SamplingContent[];
  /** Calls that cannot be made, because their arguments are no JSON object. */
  readonly unreadable: readonly UnreadableToolEvent[];
  readonly stopReason: string;
  readonly usage?: TokenUsage;
  readonly model: string;
}
