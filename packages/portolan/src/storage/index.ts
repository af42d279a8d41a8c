export {
  canonicalJson,
  createSealer,
  type OpenedText,
  type OpenOptions,
  randomSecret,
  type Sealer,
  type SealerOptions,
  type SealOptions,
  sha256,
} from "./crypto.ts";
export { createMemoryStorage, type MemoryStorageOptions } from "./memory.ts";
export type {
  AppendOptions,
  Bus,
  FollowOptions,
  KeyListOptions,
  KeyValue,
  KeyValueEntry,
  Log,
  LogEntry,
  SetOptions,
  Storage,
  Unsubscribe,
} from "./storage.ts";
export { type KeyRotation, type RotateKeysOptions, rotateKeys } from "./stored-keys.ts";
