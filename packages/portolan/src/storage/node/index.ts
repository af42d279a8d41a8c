export { holdFileLock, type LockLimits } from "./file-lock.ts";
export { type FolderKeyValueOptions, folderKeyValue } from "./folder.ts";
