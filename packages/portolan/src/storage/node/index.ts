export { holdFileLock, type LockLimits } from "./file-lock.ts";
export { folderKeyValue } from "./folder.ts";
