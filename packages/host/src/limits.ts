// Every default limit, timeout and bound of the host, in the order of the folders. An option of the same meaning
// overrides a default where its comment names one.

// Servers

/** `host.ready()` and the start of a run wait this long for servers. Option: `withinMs`. */
export const readyWaitMs = 10_000;
/** A server whose start failed faster than this is awaited again by the next run: the wait would be short. */
export const quickFailureMs = 1_000;
/** Starting more processes at once makes each of them slower. Option: `startsAtOnce`. */
export const maxStartsAtOnce = 8;
/** Connections that a user opens beside those of the host. Each may be a process of its own. */
export const maxOpenedConnections = 64;
/** The same as the client's own default. Option of each server: `connectMs`. */
export const connectTimeoutMs = 60_000;
/** A server that is slow to confirm its change notifications must not delay the first call. */
export const watchWaitMs = 1_000;
/** A server that is slow to list its changed features must not hold up the model's next turn for longer. */
export const listSettleMs = 5_000;
/** A server that was not heard from for this long is asked whether it still answers. Option: `pingMs`. */
export const pingIntervalMs = 30_000;
/** A server that does not answer within this time is shown as unresponsive. */
export const pingAnswerMs = 10_000;
/** Timers of the platform cannot wait longer. */
export const longestTimerMs: number = 2 ** 31 - 1;
/** The first restart after a crash comes soon; the pause grows with each failure. */
export const firstRestartPauseMs = 1_000;
/** A server that comes back is used again within a minute. */
export const longestRestartPauseMs = 60_000;
/** Each pause is this many times the one before. */
export const restartPauseGrowth = 1.6;
/** A server that has run this long does not crash at every start, so its failures are counted anew. */
export const stableAfterMs = 10_000;
/** After this many failures in a row a server is restarted only when a call needs it. */
export const maxRestartFailures = 8;
/** Log messages wait in memory for each reader of events. */
export const maxLogMessageChars: number = 64 * 1024;
/** A server that changes all its definitions again and again must not fill the log. */
export const maxReportedChanges = 20;
/** An error about an unknown server lists at most this many names. */
export const maxServersInErrors = 20;
/** Roots are checked by polling, because file watchers miss network drives. */
export const rootCheckMs = 1_000;

// Calls, questions, events

/** A call that takes longer is logged twice: when it begins and when it ends. */
export const quickCallMs = 100;
/** One server cannot take all places of the questions that wait for the user. */
export const maxOpenQuestionsPerServer = 20;
/** More questions than any user answers. */
export const maxOpenQuestions = 200;
/** Characters of JSON of the questions about one server; a form of that length is not for people. */
export const maxOpenQuestionCharsPerServer: number = 4 * 1024 * 1024;
/** Characters of JSON of the questions about all servers. */
export const maxOpenQuestionChars: number = 32 * 1024 * 1024;
/** Addresses that a user has open at the same time; the oldest are forgotten, and no event tells of their end. */
export const maxOpenVisits = 200;
/** Uses of a grant are stored at most this often: they are for people, and a grant may decide many calls a second. */
export const grantUseSaveMs = 60_000;
/** Attempts to store the uses of a grant that other processes change at the same time. */
export const maxGrantWrites = 5;
/** Revoked grants that can be restored; older ones cannot. */
export const maxRestorableGrants = 100;
/** Questions of one call about a definition that changes again while the user decides. */
export const maxDefinitionReviews = 5;
/** Ended questions whose end a later answer is told; older ones are unknown. */
export const maxSettledQuestions = 1_000;
/** A reader of events that is slower than the host loses the oldest ones. */
export const maxUnreadEvents = 1_000;
/** The same bound in characters, because a log message or a definition may be long. */
export const maxUnreadEventChars: number = 16 * 1024 * 1024;
/** Forms, addresses and roots that one server may ask for. Option: `questionsPerMinute`. */
export const maxQuestionsPerMinute = 60;
/** Rates are counted per minute. */
export const minuteMs = 60_000;
/** Longer than the text of any form. */
export const maxFormTextChars: number = 64 * 1024;

// Tasks

/** Open tasks of one server that the host follows; `host.tasks.start` refuses more. */
export const maxTasksPerServer = 100;
/** Records that are read from the storage. */
export const maxStoredTasks = 1_000;
/** Records read from the storage at a time. */
export const tasksPerPage = 100;
/** A record is deleted after this time, also that of a task without a lifetime. */
export const taskRecordMs: number = 30 * 24 * 60 * 60 * 1_000;
/** Ended tasks whose result nobody has taken; the oldest are dropped first. */
export const maxEndedTasks = 200;
/** Characters of JSON of their results. */
export const maxEndedTaskChars: number = 16 * 1024 * 1024;
/** A longer description of a state is cut. */
export const maxTaskMessageChars = 500;
/** A task without a lifetime counts as lost when its server was away for this long. */
export const taskSilenceMs: number = 60 * 60 * 1_000;
/** Characters of a task's id, which people type. */
export const taskIdChars = 10;

// Sampling, for each server (options: `sampling`)

/** Tokens of one answer. */
export const maxSamplingAnswerTokens = 4_096;
/** Tokens of all requests and answers together. */
export const maxSamplingTokens = 100_000;
/** Requests in all. */
export const maxSamplingRequests = 1_000;
/** More than a person can review. */
export const maxSamplingRequestsPerMinute = 10;

// The catalog

/** Items of one list. Option: `limits.maxItems`. */
export const maxListItems = 2_000;
/** Characters of JSON of one list. Option: `limits.maxChars`. */
export const maxListChars: number = 4 * 1024 * 1024;
/** Problems of one list that are reported one by one. */
export const maxListProblems = 20;
/** A list is read again at most four times a second, however often its server reports a change. */
export const listPauseMs = 250;
/** Larger lists are read anew at each start. */
export const maxCachedFeatureChars: number = 4 * 1024 * 1024;
/** Providers accept names of at most this length. */
export const maxModelNameChars = 64;
/** Results of one search for tools. Option: `limit`. */
export const maxSearchResults = 10;
/** Words of one tool that are searched. */
export const maxSearchWords = 400;
/** Characters of one text that are searched. */
export const maxSearchTextChars = 20_000;

// Policy, grants, pins

/** Option: `maxGrants`. */
export const maxStoredGrants = 10_000;
/** An answer "always" is asked again after 90 days. Option of each grant: `ttlMs`. */
export const grantTtlMs: number = 90 * 24 * 60 * 60 * 1_000;
/** Grants read from the storage at a time. */
export const grantsPerPage = 500;
/** Pinned tools of one server, removed ones included. Option: `maxTools`. */
export const maxPinnedTools = 10_000;
/** A longer definition is pinned by its digest alone. Option: `maxKeptChars`. */
export const maxPinnedDefinitionChars: number = 64 * 1024;
/** Definitions of one server together; the rest is pinned by digests alone. */
export const maxPinnedServerChars: number = 4 * 1024 * 1024;
/** Processes that write the same pins give up after this many collisions. */
export const maxPinWrites = 20;
/** A definition that is nested more deeply is compared as a whole from there on. */
export const maxDiffDepth = 64;
/** More differences than any user reads. */
export const maxDiffChanges = 1_000;
/** Items of one argument that a rule looks at. */
export const maxComparedItems = 1_000;

// Runs (options: `host.run`)

/** Turns of the model. */
export const maxRunTurns = 20;
/** Tool calls of a whole run. */
export const maxRunCalls = 100;
/** Tool calls of one turn; the model is not read beyond them. */
export const maxTurnCalls = 1_000;
/** Tokens of one turn. */
export const maxTurnTokens = 4_096;
/** Assumed where the model does not state its context. */
export const defaultContextTokens = 32_000;
/** The tools may take this share of the context; beyond it the model gets a search. */
export const toolContextShare = 0.25;
/** Read-only calls that run at the same time. */
export const maxParallelCalls = 8;
/** A longer result is stored for `read_more`. */
export const maxRunResultChars = 20_000;
/** Stored long results of one run; the oldest are dropped first. */
export const maxLongResultsChars: number = 32 * 1024 * 1024;
/** Characters that one `read_more` returns. */
export const readMoreChars = 10_000;
/** Tools that one `find_tools` returns. */
export const maxFoundTools = 8;
/** Resources that one `find_resources` returns. */
export const maxFoundResources = 20;
/** Resources with longer addresses are not listed. */
export const maxResourceUriChars = 2_048;
/** Description of one found resource. */
export const maxResourceDescriptionChars = 200;
/** Description of one tool. */
export const maxToolDescriptionChars = 4_000;
/** Description of one argument. */
export const maxArgumentDescriptionChars = 1_000;
/** Deeper parts of a schema are replaced by `{}`. */
export const maxSchemaDepth = 50;
/** Instructions of one server in the system prompt. */
export const maxInstructionsChars = 4_000;
/** Each block of a result counts at least this much, so that many empty ones are too long as well. */
export const blockOverheadChars = 20;
/** An image or a recording counts as this much text. */
export const mediaChars = 500;
/** The newest messages keep their results when the context is full: the model works with them. */
export const keptMessages = 4;
/** Shorter results are not worth replacing. */
export const replacedResultTokens = 200;
/** Events of a run that are kept for the readers of `events()`. The oldest are dropped. */
export const maxKeptRunEvents = 10_000;
/** The same bound in characters. */
export const maxKeptRunEventChars: number = 16 * 1024 * 1024;
/** Events of a run that wait for the reader of its iteration before the run waits, too. */
export const maxUnreadRunEvents = 1_000;
/** The same bound in characters, because a result may be long. */
export const maxUnreadRunEventChars: number = 16 * 1024 * 1024;

// The activity log

/** Entries that are not urgent are written together. Option: `flushMs`. */
export const activityFlushMs = 250;
/** Entries that wait while the sink is slow or fails. Option: `maxWaiting`. */
export const maxWaitingEntries = 50_000;
/** The same bound in bytes. */
export const maxWaitingBytes: number = 16 * 1024 * 1024;
/** Bytes that one seal covers. */
export const maxBlockBytes: number = 4 * 1024 * 1024;
/** A sink that failed is tried again soon, then less and less often. */
export const firstSinkRetryMs = 500;
/** A sink that works again is noticed within half a minute. */
export const longestSinkRetryMs = 30_000;
/** Entries are kept as bytes in pages of this size. */
export const activityPageChars: number = 32 * 1024;
/** Names, texts and arguments up to these lengths take the fast way of writing a call. */
export const maxQuickNameChars = 1_024;
export const maxQuickTextChars = 1_024;
export const maxQuickArgumentChars: number = 16 * 1024;
/** Tools whose beginnings of entries are kept ready. */
export const maxEntryHeads = 1_000;
/** JSON of one entry. */
export const maxEntryChars: number = 64 * 1024;
/** A longer text becomes its digest, its length and its beginning. */
export const maxEntryTextChars = 2_048;
/** The beginning that is kept of a long text. */
export const textHeadChars = 256;
/** Secrets are removed from this much of a long text before its beginning is cut. */
export const cleanedTextChars = 8_192;
/** Deeper values are replaced by `{ tooDeep: true }`. */
export const maxEntryDepth = 32;
/** Members and items of one shortened entry. */
export const maxEntryItems = 500;
/** Longer member names are cut. */
export const maxMemberNameChars = 256;
/** JSON of a shortened entry, before secrets are replaced by a mark that may be longer. */
export const shortenedEntryChars = 40_000;
/** Deeper than any real value, and far from the end of the stack. */
export const maxRedactionDepth = 100;
/** A shorter text would be found in ordinary words. */
export const minSecretChars = 4;
/** The oldest blocks of a log in memory make room for the newest. Option: `maxChars`. */
export const maxMemoryLogChars: number = 16 * 1024 * 1024;
/** A larger file is rotated. Option: `maxBytes`. */
export const maxLogFileBytes: number = 64 * 1024 * 1024;
/** Longer than any line that a log writes, so reading stops there. */
export const maxLogLineBytes: number = 1024 * 1024;
/** Longer than any block that a log seals, so verification stops there. */
export const maxVerifiedBlockChars: number = 64 * 1024 * 1024;
/** Log files are read in chunks of this size. */
export const readChunkBytes: number = 64 * 1024;

// Skills

/** Skills that one server may list. A longer list is a problem of that server. */
export const maxListedSkills = 10_000;
/** A server that is silent for longer while it lists its skills does not hold up a run. */
export const skillListMs = 10_000;
/** Skills that a model is told of. It loads others by their URI. */
export const maxShownSkills = 100;
/** Longer descriptions of skills are cut for a model. */
export const maxSkillDescriptionChars = 500;
/** Files of a loaded skill that a model is told of. */
export const maxShownSkillFiles = 100;

// Display

/** A text is searched for suspicious wording up to here; no honest description is longer. */
export const maxInspectedChars: number = 256 * 1024;
/** A longer run of blanks is shortened before patterns are tried, which keeps them linear. */
export const maxBlankRun = 32;
/** Deeper levels are replaced by a note. Option: `maxDepth`. */
export const maxDisplayDepth = 64;
/** Longer addresses are refused. */
export const maxUrlChars: number = 64 * 1024;
