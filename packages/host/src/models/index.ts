export { type AnthropicOptions, anthropic } from "./anthropic.ts";
export { chooseModel, type ModelRequirements, requirementsOf } from "./choose.ts";
export { complete } from "./complete.ts";
export { demoModel } from "./demo.ts";
export { ModelFailure, type ModelFailureOptions } from "./http/failures.ts";
export type { ModelLimits, ProviderOptions, Retry, RetryClock } from "./http/provider.ts";
export type {
  EndEvent,
  Model,
  ModelCapabilities,
  ModelEvent,
  ModelReply,
  ModelRequest,
  ModelTool,
  ModelTraits,
  TextEvent,
  ThinkingEvent,
  TokenUsage,
  ToolEvent,
  UnreadableToolEvent,
} from "./model.ts";
export { echoModel } from "./offline.ts";
export type { OpenAiQuirks } from "./openai.ts";
export { type OpenAiOptions, openaiCompatible } from "./openai.ts";
export { parseRecordings, type Recording, type ReplayOptions, recordModel, replayModel } from "./recording.ts";
export { type AnswerSamplingOptions, answerSampling, toModelRequest } from "./sampling.ts";
export {
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedOptions,
  type ScriptedTurn,
  scriptedModel,
  type TurnMatch,
} from "./scripted.ts";
export { type CountTokens, type Estimable, estimateTokens } from "./tokens.ts";
