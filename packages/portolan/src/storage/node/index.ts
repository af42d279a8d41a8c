export { holdFileLock, type LockLimits, type LockOptions } from "./file-lock.ts";
export { type FolderKeyValueOptions, folderKeyValue } from "./folder.ts";
