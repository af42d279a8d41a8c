// Every bound of the console's server, in the order of its folders.

// HTTP

/** A request that carries no arguments, answers or recordings is small. */
export const maxBodyBytes: number = 1024 * 1024;
/** Arguments, answers and recordings may be long. */
export const maxLongBodyBytes: number = 8 * 1024 * 1024;
/** The body of a message of an app: it may have the result of one of its tools. */
export const maxAppMessageBytes: number = 12 * 1024 * 1024;
/** A recording that is imported. */
export const maxImportBytes: number = 64 * 1024 * 1024;
/** A page sends few requests at the same time. */
export const maxRequestsAtOnce = 32;
/** More than any person causes. */
export const maxRequestsPerSecond = 200;
/** One browser has one stream; each of them fills memory when it is slow. */
export const maxStreams = 8;
/** Connections of pages at the same time. */
export const maxSockets = 256;
/** The headers of a request that a browser sends. */
export const maxHeaderBytes: number = 16 * 1024;
/** A request whose headers and body do not come within this time is closed. */
export const requestMs = 30_000;

// Sessions

/** A launch token that nobody used for so long opens nothing. */
export const launchTokenMs: number = 24 * 60 * 60 * 1000;
/** Used launch tokens that are remembered; when so many were used, no more are accepted. */
export const maxUsedTokens = 10_000;
/** Tabs that were opened from a terminal. The session that was unused for the longest time ends first. */
export const maxSessions = 256;
/** The same request within this time gets the same reply. */
export const replyMs: number = 10 * 60 * 1000;
/** Replies that are kept for repeated requests. */
export const maxReplies = 10_000;
/** Characters of the replies that are kept. */
export const maxReplyChars: number = 32 * 1024 * 1024;

// Events

/** Events that a reader can resume from. */
export const maxKeptEvents = 20_000;
/** Characters of these events. */
export const maxKeptEventChars: number = 16 * 1024 * 1024;
/** A reader that is so many characters behind loses rows. */
export const maxUnreadChars: number = 4 * 1024 * 1024;
/** Bytes that one stream has in the buffers of its socket. */
export const maxBufferedBytes: number = 512 * 1024;
/** Events are sent together. */
export const batchMs = 30;
/** A comment tells both sides that the connection is alive. */
export const commentMs = 15_000;

// Calls and results

/** The arguments of a call in its record. The rest of longer ones is in the message. */
export const maxShownArgumentsChars: number = 64 * 1024;
/** The progress of one call is shown at most once in this time. */
export const progressMs = 100;
/** Ended calls in the state. */
export const maxListedCalls = 50;
/** Ended calls whose results can be read. */
export const maxKeptCalls = 500;
/** Characters of the results that can be read. */
export const maxKeptResultChars: number = 64 * 1024 * 1024;
/** Results up to this size come whole with their call. */
export const wholeResultChars: number = 64 * 1024;
/** Characters of one part of a larger result that come with its call. */
export const headPartChars: number = 4 * 1024;
/** Parts of a larger result that come with its call. */
export const headParts = 50;
/** A piece of a result. */
export const maxPieceChars: number = 1024 * 1024;
/** Calls by hand at the same time. */
export const maxRunningCalls = 64;

// Questions

/** Answered questions that are remembered, so that a late answer hears how the question ended. */
export const maxAnsweredQuestions = 1_000;

// Rows

/** Rows of a page by default. */
export const pageRows = 200;
/** Rows of a page at most. */
export const maxPageRows = 500;
/** Characters of the title of a row. */
export const maxTitleChars = 200;
/** Work that would take longer lets other requests pass after this time. */
export const sliceMs = 8;

// Settings, reports, log

/** The number of the last entry of the log is sent at most once in this time. */
export const activityMs = 250;
/** Carried-out calls that are shown at first. */
export const doneRows = 100;
/** Carried-out calls that are shown at most; the log has them all. */
export const maxDoneRows = 1_000;
/** Entries of the log that are read for them. */
export const maxDoneEntries = 20_000;
/** Characters of the arguments of a call in words. */
export const maxWordsChars = 240;
/** Runs whose conversation is remembered. */
export const maxKnownRuns = 10_000;
/** The list of grants is sent at most once in this time. */
export const grantsMs = 250;
/** Models, also those whose key was typed. */
export const maxModels = 50;
/** Reports and sign-ins at the same time. */
export const maxRunningReports = 8;
/** Reports and sign-ins that are kept after their end. */
export const maxKeptReports = 50;
/** Findings of one report, and steps of one sign-in. */
export const maxFindings = 500;
/** A log or a recording that a page can save. */
export const maxExportChars: number = 64 * 1024 * 1024;

// Conversations

/** Conversations in the folder. */
export const maxConversations = 1_000;
/** Conversations whose content is in memory. */
export const maxOpenConversations = 16;
/** Characters of the blocks of one conversation. A longer one takes no further message. */
export const maxConversationChars: number = 16 * 1024 * 1024;
/** Blocks of one conversation. */
export const maxBlocks = 20_000;
/** A journal that is longer is replaced by a shorter one that says the same. */
export const maxJournalBytes: number = 8 * 1024 * 1024;
/** A crash loses at most the text of a model of this time. */
export const textSaveMs = 1_000;

// Connections and recordings

/** A segment of the messages of one connection on the disk. */
export const spoolSegmentBytes: number = 16 * 1024 * 1024;
/** Messages of one connection on the disk. The oldest segment goes. */
export const maxSpoolBytes: number = 256 * 1024 * 1024;
/** Messages of all connections on the disk. The oldest segment of the largest one goes. */
export const maxAllSpoolBytes: number = 1024 * 1024 * 1024;
/** Messages that wait to be written together. */
export const spoolBufferBytes: number = 64 * 1024;
/** One message on the disk. The rest of a longer one is dropped. */
export const maxSpooledTextBytes: number = 16 * 1024 * 1024;
/** One message that is shown. The rest of a longer one is left out. */
export const maxDetailChars: number = 4 * 1024 * 1024;
/** Of a longer message only the start and the end are read for its row. */
export const maxParsedChars: number = 256 * 1024;
/** Requests of one connection that wait for a response, and calls whose questions are grouped. */
export const maxPendingRequests = 5_000;
/** HTTP exchanges of one connection whose response can be found from the request. */
export const maxKeptExchanges = 5_000;
/** Connections whose messages are kept after their end. */
export const maxClosedConnections = 16;
/** Lines of the log and of standard error of one server. */
export const maxServerLines = 4_000;
/** One line of these. The rest of a longer one is dropped. */
export const maxLineChars: number = 4 * 1024;
/** Recordings in the folder. */
export const maxRecordings = 500;
/** One side of a difference between two catalogs. The rest of a longer one is left out. */
export const maxDifferenceChars: number = 4 * 1024;

// Apps

/** Apps that are shown at the same time, and those that are listed after their end. */
export const maxApps = 16;
/** The height in pixels that a frame takes at the wish of its app. */
export const maxAppHeight = 4_000;
