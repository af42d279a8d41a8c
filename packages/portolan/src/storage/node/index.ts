export { holdFileLock, type LockLimits, type LockOptions } from "./file-lock.ts";
export { createFileStorage, type FileStorage, type FileStorageOptions } from "./file-storage.ts";
export { type FolderKeyValueOptions, folderKeyValue } from "./folder.ts";
