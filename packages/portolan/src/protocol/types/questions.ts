import type { JsonObject } from "../../jsonrpc/message.ts";
import type { Meta, RequestParams, Role } from "./base.ts";
import type { SamplingContent } from "./content.ts";
import type { ElicitParams, ElicitResult } from "./elicitation.ts";
import type { TaskAugmentedParams } from "./tasks.ts";
import type { Tool } from "./tools.ts";

/** A question to the user. */
export interface ElicitRequest {
  method: "elicitation/create";
  params: ElicitParams;
}

/** A question to the client's model. */
export interface CreateMessageRequest {
  method: "sampling/createMessage";
  params: CreateMessageParams;
}

/** A question about the client's roots. */
export interface ListRootsRequest {
  method: "roots/list";
  params?: RequestParams;
}

/** A question of a server to its client. */
export type InputRequest = ElicitRequest | CreateMessageRequest | ListRootsRequest;

/** Questions by keys that the server chooses. */
export interface InputRequests {
  [key: string]: InputRequest;
}

/** The answer to a question. Its type follows from the question with the same key. */
export type InputResponse = ElicitResult | CreateMessageResult | ListRootsResult;

/** Answers by the keys of their questions. */
export interface InputResponses {
  [key: string]: InputResponse;
}

/** An interim result: the client answers the questions and sends the request again. Stateless revisions only. */
export interface InputRequiredResult {
  resultType: "input_required";
  /** Required if `requestState` is absent. */
  inputRequests?: InputRequests;
  /** Opaque state, which the client sends back unchanged with the retry. */
  requestState?: string;
  _meta?: Meta;
}

/** The params that a retry adds after questions. Stateless revisions only. */
export interface RetryParams extends RequestParams {
  inputResponses?: InputResponses;
  requestState?: string;
}

/** One message of a conversation with a model. */
export interface SamplingMessage {
  role: Role;
  /** An array only since 2025-11-25. */
  content: SamplingContent | SamplingContent[];
  _meta?: Meta;
}

/** A part of the name of a suitable model. */
export interface ModelHint {
  name?: string;
}

/** The preferences of a server for a model. The client decides. */
export interface ModelPreferences {
  /** In order of preference: the client uses the first that it can satisfy. */
  hints?: ModelHint[];
  /** From 0 (unimportant) to 1, like the next two. */
  costPriority?: number;
  speedPriority?: number;
  intelligencePriority?: number;
}

/** The model's freedom to call tools. */
export interface ToolChoice {
  /** Default: "auto". */
  mode?: "auto" | "required" | "none";
}

/** The params of `sampling/createMessage`. */
export interface CreateMessageParams extends TaskAugmentedParams {
  messages: SamplingMessage[];
  maxTokens: number;
  modelPreferences?: ModelPreferences;
  systemPrompt?: string;
  /** Values other than `none` are deprecated, and need the capability `sampling.context` since 2025-11-25. */
  includeContext?: "none" | "thisServer" | "allServers";
  temperature?: number;
  stopSequences?: string[];
  /** Data for the model's provider. */
  metadata?: JsonObject;
  /** Needs the capability `sampling.tools`. Since 2025-11-25. */
  tools?: Tool[];
  /** Needs the capability `sampling.tools`. Since 2025-11-25. */
  toolChoice?: ToolChoice;
}

/** The result of `sampling/createMessage`: the model's answer. */
export interface CreateMessageResult {
  role: Role;
  /** An array only since 2025-11-25. */
  content: SamplingContent | SamplingContent[];
  model: string;
  /** `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or a value of the provider. */
  stopReason?: string;
  _meta?: Meta;
}

/** A folder that the client suggests for the server's work. */
export interface Root {
  /** A `file:` URI. */
  uri: string;
  name?: string;
  _meta?: Meta;
}

/** The result of `roots/list`. */
export interface ListRootsResult {
  roots: Root[];
  _meta?: Meta;
}
