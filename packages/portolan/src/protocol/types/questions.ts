import type { JsonObject } from "../../jsonrpc/message.ts";
import type { Meta, RequestParams, Role } from "./base.ts";
import type { SamplingContent } from "./content.ts";
import type { ElicitParams, ElicitResult } from "./elicitation.ts";
import type { TaskAugmentedParams } from "./tasks.ts";
import type { Tool } from "./tools.ts";

/** A question for the user. */
export interface ElicitRequest {
  method: "elicitation/create";
  params: ElicitParams;
}

/** A question for the client's model. */
export interface CreateMessageRequest {
  method: "sampling/createMessage";
  params: CreateMessageParams;
}

/** A question for the client's roots. */
export interface ListRootsRequest {
  method: "roots/list";
  params?: RequestParams;
}

/** A question of a server to its client. */
export type InputRequest = ElicitRequest | CreateMessageRequest | ListRootsRequest;

/** Questions by a key of the server's choice. */
export interface InputRequests {
  [key: string]: InputRequest;
}

/** The answer to a question; which kind it is follows from the question of the same key. */
export type InputResponse = ElicitResult | CreateMessageResult | ListRootsResult;

/** Answers by the keys of their questions. */
export interface InputResponses {
  [key: string]: InputResponse;
}

/** An interim result: answer the questions and send the request again. Stateless revisions only. */
export interface InputRequiredResult {
  resultType: "input_required";
  /** At least one of this and `requestState` is there. */
  inputRequests?: InputRequests;
  /** To be given back exactly, with the retry only. */
  requestState?: string;
  _meta?: Meta;
}

/** What a request carries when it is sent again after questions; stateless revisions only. */
export interface RetryParams extends RequestParams {
  inputResponses?: InputResponses;
  requestState?: string;
}

/** One message of a conversation with a model. */
export interface SamplingMessage {
  role: Role;
  /** A list only since 2025-11-25. */
  content: SamplingContent | SamplingContent[];
  _meta?: Meta;
}

/** Part of the name of a model that would suit. */
export interface ModelHint {
  name?: string;
}

/** Which model a server would like; the client decides. */
export interface ModelPreferences {
  /** The first that the client can satisfy counts. */
  hints?: ModelHint[];
  /** From 0 (does not matter) to 1, like the two below. */
  costPriority?: number;
  speedPriority?: number;
  intelligencePriority?: number;
}

/** Whether the model may or must call tools. */
export interface ToolChoice {
  /** Taken as `auto`. */
  mode?: "auto" | "required" | "none";
}

/** The params of `sampling/createMessage`. */
export interface CreateMessageParams extends TaskAugmentedParams {
  messages: SamplingMessage[];
  maxTokens: number;
  modelPreferences?: ModelPreferences;
  systemPrompt?: string;
  /** Anything but `none` is deprecated, and needs the client's `sampling.context` since 2025-11-25. */
  includeContext?: "none" | "thisServer" | "allServers";
  temperature?: number;
  stopSequences?: string[];
  /** Passed on to the model's provider. */
  metadata?: JsonObject;
  /** Needs the client's `sampling.tools`; since 2025-11-25. */
  tools?: Tool[];
  /** Needs the client's `sampling.tools`; since 2025-11-25. */
  toolChoice?: ToolChoice;
}

/** What the model said. */
export interface CreateMessageResult {
  role: Role;
  /** A list only since 2025-11-25. */
  content: SamplingContent | SamplingContent[];
  model: string;
  /** `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or a word of the provider. */
  stopReason?: string;
  _meta?: Meta;
}

/** A place that a client suggests a server works in. */
export interface Root {
  /** A `file:` address. */
  uri: string;
  name?: string;
  _meta?: Meta;
}

/** The answer to `roots/list`. */
export interface ListRootsResult {
  roots: Root[];
  _meta?: Meta;
}
