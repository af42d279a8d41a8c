import type { HttpHeaders } from "./door.ts";

/** What every event stream says about itself: nobody on the way may keep, change or hold back its events. */
export const streamHeaders: HttpHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};
