// The types that TypeScript infers for a user's exports are named through this entry, so a program must have it.
export type {} from "../index.ts";

export { holdFileLock, type LockLimits, type LockOptions } from "./file-lock.ts";
export { createFileStorage, type FileStorage, type FileStorageOptions } from "./file-storage.ts";
export { type FolderKeyValueOptions, folderKeyValue } from "./folder.ts";
