import type { JsonObject } from "../../jsonrpc/message.ts";
import type { Meta, Role } from "./base.ts";
import type { SamplingContent } from "./content.ts";
import type { TaskAugmentedParams } from "./tasks.ts";
import type { Tool } from "./tools.ts";

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
