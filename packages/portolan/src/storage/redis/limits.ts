// Defaults and bounds of `portolan/storage/redis`. No other file of the folder keeps one.
// A name that begins with `default` is the default of the option with the rest of that name.

/** Below a second, so that a request that needs Redis fails before its client loses patience. */
export const defaultCommandMs = 900;
/** A Redis on the same network answers this many within some 200 ms. */
export const defaultMaxCommands = 10_000;
/** Share of the commands and of their text that entries of logs and sweeps leave to everything else. */
export const reservedShare = 0.25;
/** Text of all commands under way, two bytes a character: without this bound, large values would fill the memory. */
export const maxCommandBytes: number = 64 * 1024 * 1024;
/** A connection that is silent for so many times `commandMs` while it owes an answer is closed and made again. */
export const silentDeadlines = 3;
/** Time for a connection with its handshake and, for Sentinel and Cluster, the search for the nodes. */
export const dialMs = 5_000;
/** The first pause before a connection is made again. */
export const minDialPauseMs = 50;
export const maxDialPauseMs = 2_000;
/** Closing waits this long for the end of a connection whose server hangs. */
export const closeMs = 200;
/** A node of a cluster that is away for this long may have been replaced: the nodes are then looked up anew. */
export const nodeAwayMs = 5_000;
/** Parts of the slots of a cluster. In each, commands fail at once while an earlier one is overdue. */
export const slotParts = 64;

/** Shares an ACL pattern with all keys, so it stays short. */
export const maxPrefixChars = 64;
/** A hundred years: Redis refuses times whose end it cannot count. */
export const maxTtlMs: number = 100 * 365 * 24 * 60 * 60_000;

/** Values that `list` asks for at once. */
export const valuesPerRead = 100;
/** The index is swept with every so many writes of a process. */
export const writesPerSweep = 16;
/** Entries that a sweep looks at. Several per write, so that those without a value become fewer. */
export const sweptEntries = 64;
/** An entry is removed this long after its value was found missing: much longer than a write takes. */
export const indexGraceMs = 60_000;

/** At most this many entries of a log are read at once. The first read asks for one, and later ones for more. */
export const entriesPerRead = 32;
/** Characters that a read asks for at most, as far as the entries before tell. */
export const charactersPerRead: number = 256 * 1024;
/** Reads of logs under way. Further ones wait: other commands are answered after all that these fetch. */
export const maxLogReads = 8;
/** The last id of a log is kept this long after the log: a server whose clock is behind by less continues after it. */
export const idRetentionMs: number = 60 * 60_000;
/** Followed logs are read this often even if no message came. */
export const followCheckMs = 5_000;
/** Followed logs that are read at the same time. */
export const maxFollowReads = 32;
/** A process checks this often that messages still reach it, while it subscribes to any. */
export const echoMs = 5_000;
/** Messages that wait until a loss before them was told, and their characters. */
export const maxHeldMessages = 10_000;
export const maxHeldCharacters: number = 4 * 1024 * 1024;
