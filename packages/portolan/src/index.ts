export type { Client } from "./client/api.ts";
export { type ConnectTarget, connect } from "./client/connect.ts";
export { PortolanError, type PortolanErrorCode } from "./errors.ts";
export type {
  Channel,
  ChannelEvents,
  PreparedMessage,
  PreparedResponse,
  Sendable,
  WireTap,
} from "./jsonrpc/channel.ts";
export { LineReader, type LineReaderOptions } from "./jsonrpc/framing.ts";
export { createMemoryPair, type MemoryPairOptions } from "./jsonrpc/memory.ts";
export type {
  ErrorObject,
  JsonObject,
  Message,
  RequestId,
  RpcFailure,
  RpcNotification,
  RpcRequest,
  RpcResponse,
  RpcResult,
} from "./jsonrpc/message.ts";
export {
  type ErrorStage,
  isReservedByJsonRpc,
  RpcError,
  type RpcErrorOptions,
  rpcCodes,
  serialize,
} from "./jsonrpc/message.ts";
export { type CheckOptionsOptions, checkOptions, type OptionNames } from "./options.ts";
export { protocolCodes } from "./protocol/errors.ts";
export type * from "./protocol/types/index.ts";
export { logLevels } from "./protocol/types/notifications.ts";
