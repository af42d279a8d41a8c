/** Bytes of a recording that is read into memory at once. Node.js has no longer strings. */
export const maxRecordingBytes: number = 256 * 1024 * 1024;
/** Rows of a recording that is read by pages. Later ones are left out. */
export const maxRecordingRows = 5_000_000;
/** Bytes of one line of a recording. A longer one is shown as cut. */
export const maxLineBytes: number = 64 * 1024 * 1024;
/** Rows of a page. */
export const maxPageRows = 500;
/** Bytes of a page. It has fewer rows if they are long, but at least one. */
export const maxPageBytes: number = 16 * 1024 * 1024;
/** Work that would take longer lets other work of the process pass after this time. */
export const sliceMs = 8;
/** Bytes of `.portolan/calls.json`. */
export const maxCallsFileBytes: number = 4 * 1024 * 1024;
/** Saved calls in a file. */
export const maxSavedCalls = 1_000;
/** Expectations of one saved call. */
export const maxExpectations = 100;
/** Problems of one saved call that are told. */
export const maxProblems = 20;
