import type { HttpHeaders } from "./adapter.ts";

const retryMs = 1_000;

/** What events that are sent as one piece say about themselves. */
export const wholeStreamHeaders: HttpHeaders = { "content-type": "text/event-stream", "x-accel-buffering": "no" };

/** What every event stream says about itself: nobody on the way may keep, change or hold back its events. */
export const streamHeaders: HttpHeaders = { ...wholeStreamHeaders, "cache-control": "no-cache, no-transform" };

/** One message as an event; JSON text has no raw line ends, so that one line of data is enough. */
export function eventOf(text: string, id?: string): string {
  return id === undefined ? `event: message\ndata: ${text}\n\n` : `id: ${id}\nevent: message\ndata: ${text}\n\n`;
}

/** The event before all others: its id is the start of the stream, and a client that loses it comes back after a while. */
export function opening(stream: string): string {
  return `id: ${stream}_\nretry: ${retryMs}\ndata: \n\n`;
}
