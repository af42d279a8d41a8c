// Parts of the library that `portolan-host` needs and that no public entry offers. Only packages of this repository
// import this entry: its names may change in any version.
export { type MaybePromise, onAbort } from "./async.ts";
export { samplingParams, samplingResult } from "./client/answer.ts";
export { callOptionKinds, rejectInvalid } from "./client/call.ts";
export { pauseFor } from "./client/deadlines.ts";
export { timedOut, toError } from "./client/failures.ts";
export type { CallHandle, SerializedCallOptions } from "./client/options.ts";
export { compileOutputSchema } from "./client/output-schema.ts";
export { readArgumentsText, type VerbatimArguments } from "./client/verbatim.ts";
export { nameOf } from "./errors.ts";
export { EventReader, encodeEvent, type OutgoingEvent } from "./http/sse.ts";
export { rpcCodes } from "./jsonrpc/message.ts";
export { isAddress, isLoopbackAddress } from "./net/address.ts";
export { isLoopbackHost } from "./net/check-address.ts";
export { type CheckOptionsOptions, checkOptions, type OptionKinds, type OptionNames } from "./options.ts";
export { parseUriTemplate, type UriTemplate, type UriValue } from "./protocol/uri-template.ts";
export { array, boolean, isObject, number, object, optional, record, string } from "./schema/shape.ts";
export { partOf } from "./storage/storage.ts";
