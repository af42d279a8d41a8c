import type { Meta, RequestParams } from "./base.ts";
import type { ElicitParams, ElicitResult } from "./elicitation.ts";
import type { ListRootsResult } from "./roots.ts";
import type { CreateMessageParams, CreateMessageResult } from "./sampling.ts";

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
