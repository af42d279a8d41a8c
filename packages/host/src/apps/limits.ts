// Every limit and timeout of apps (MCP Apps), for the session, the page that shows it and its sandbox.

/** Characters of an app's document; bundled apps have one or two million. */
export const maxAppHtmlChars: number = 16 * 1024 * 1024;
/** Origins of each kind that an app may declare; the rest is dropped. */
export const maxAppSources = 50;
/** Messages that an app may send at once. */
export const maxAppBurst = 500;
/** Messages that an app may send in a second, for as long as it likes. An app beyond it is closed. */
export const maxAppMessagesPerSecond = 100;
/** Characters of one message of an app, with pictures in base64. An app beyond it is closed. */
export const maxAppMessageChars: number = 4 * 1024 * 1024;
/** Characters of all messages that an app may send in a second. An app beyond it is closed. */
export const maxAppCharsPerSecond: number = 8 * 1024 * 1024;
/** Levels of one message. */
export const maxAppMessageDepth = 100;
/** Requests of an app that wait for an answer at the same time; others are refused. */
export const maxAppRequests = 16;
/** Characters of JSON that an app may put beside the conversation. */
export const maxAppContextChars: number = 32 * 1024;
/** Characters of JSON of a message that an app wants the user to send. */
export const maxAppSayChars: number = 16 * 1024;
/** Tools that an app may offer to models; the rest is left out. */
export const maxAppTools = 50;
/** Characters of JSON of all tools of an app; those beyond are left out. */
export const maxAppToolsChars: number = 256 * 1024;
/** A tool of an app with a longer name is left out. */
export const maxAppToolNameChars = 128;
/** Items of an app's list of tools that are looked at, usable or not. */
export const maxAppToolItems = 500;
/** Pages of an app's list of tools. */
export const maxAppToolPages = 10;
/** Names of tools that an app may offer while it is shown; a tool with a further one is left out. */
export const maxAppToolNames = 1_000;
/** An app that does not answer a request of the host within this time has failed it. */
export const appAnswerMs = 30_000;
/** Requests of the host that an app has not answered; more calls of its tools fail at once. */
export const maxAppCalls = 16;
/** Characters of JSON of the result of an app's tool, about 10 MB. A longer one fails its call. */
export const maxAppResultChars: number = 10 * 1024 * 1024;
/** A run waits this long for the tools of an app before a turn of the model. */
export const appToolsWaitMs = 1_000;
/** Share of the room for tools in a model's context that the tools of all apps of a run may take; others are found by search. */
export const appToolsShare = 0.25;
/** Characters of one message that the page takes of an app's frame: the session counts exactly, but may be far away. */
export const maxFrameMessageChars: number = 12 * 1024 * 1024;
/** Files that an app may offer at once. */
export const maxAppFiles = 16;
/** Characters in the name of such a file; the ending stays. */
export const maxAppFileNameChars = 120;
/** Messages for an app that wait until it has started; each kind replaces the one before, so that few suffice. */
export const maxAppWaiting = 100;
/** An app that does not start within this time is closed. Option: `startMs`. */
export const appStartMs = 60_000;
/** An app is removed at the latest this long after it was told of its end. Option: `teardownMs`. */
export const appTeardownMs = 2_000;
/** Height and width that a frame may take at an app's wish, in pixels. */
export const maxAppPixels = 4_000;
/** Frames inside an app whose messages count as its own. */
export const maxAppFrames = 32;
/** Apps that one sandbox serves at the same time; the oldest is forgotten first. Option: `maxApps`. */
export const maxSandboxApps = 1_000;
/** An app's frame that has loaded and does not announce itself within this time is replaced by one without an origin. */
export const frameAnnounceMs = 2_000;
