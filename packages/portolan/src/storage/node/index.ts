export { holdFileLock, type LockLimits } from "./file-lock.ts";
