// Defaults and bounds of `portolan/storage` and `portolan/storage/node`. No other file of theirs keeps one.
// A name that begins with `default` is the default of the option with the rest of that name.

/** Sessions, states and tokens of a busy server. A storage that is full refuses new keys. */
export const defaultMaxEntries = 100_000;
/** Text of all keys and values together: without this bound, large values would fill the memory. */
export const defaultMaxChars: number = 256 * 1024 * 1024;
/** Messages of all event streams together. */
export const defaultMaxLogEntries = 100_000;
/** Text of all logs together: without this bound, large messages would fill the memory. */
export const defaultMaxLogChars: number = 64 * 1024 * 1024;
/** One page of `KeyValue.list`. */
export const defaultLimit = 100;
/** A search for expired rows looks at all rows, so it runs at most this often. */
export const purgeIntervalMs = 1_000;

/** Files that a write to a folder looks at, to delete those that have expired. More than one, so that they become fewer. */
export const sweptFilesPerWrite = 4;
/** A folder is listed for this at most so often. */
export const folderSweepMs = 60_000;
/** A temporary file of this age was left by a process that died. */
export const staleTemporaryFileMs: number = 10 * 60_000;

/** A process that starts waits this long for the one before it to leave the folder of a file storage. */
export const defaultFilePatienceMs = 5_000;
/** Records that are not on disk yet: without this bound, a slow disk would fill the memory. */
export const maxUnflushedBytes: number = 64 * 1024 * 1024;
/** A journal is copied in pieces of this size. */
export const journalChunkBytes: number = 1024 * 1024;
/** A smaller journal is not replaced. */
export const minJournalBytes: number = 4 * 1024 * 1024;
/** A journal that has grown to so many times its first size is replaced by a snapshot. */
export const journalGrowth = 3;
/** Ids of log entries that a process may give before it writes that it does. No id is given again after a crash. */
export const idsPerReservation = 1_000_000;

/** A sealed text travels in a message. A larger value belongs into a storage. */
export const maxSealedChars = 1_048_576;
/** 256 bits, the strength of the cipher. */
export const minSecretSize = 32;
/** Deeper values are almost certainly cycles. */
export const maxJsonLevels = 1_000;

/** Age at which a process reads the keys in the storage again, so that it seals with the newest one. */
export const storedKeyMaxAgeMs = 60_000;
/** Time for which a key opens after a newer one took its place: longer than any question may stay open. */
export const storedKeyRetirementMs: number = 24 * 60 * 60_000;
/** Keys that are kept at once: one for each rotation of the last day. */
export const maxStoredKeys = 100;

/** The holder of a lock file touches it this often. */
export const defaultHeartbeatMs = 5_000;
/** Six missed heartbeats: the holder is dead. */
export const defaultStaleMs = 30_000;
/** A waiting process fails after this time. */
export const defaultPatienceMs = 60_000;
/** A process that waits this long for the same holder of a lock tells so, if `onWait` is given. */
export const lockNoticeMs = 2_000;
/** The text of a lock file: a process id, the name of a machine and three ids. */
export const maxLockFileBytes = 4_096;
/** The first pause between two attempts to take a lock. */
export const minLockPauseMs = 5;
export const maxLockPauseMs = 250;
/** A process that takes over a lock can die too, and so can the next one. */
export const maxLockClaims = 8;
