import { httpCalls } from "../driver/http-calls.mjs";

/** Calls in sessions over HTTP, one session for each of 32 connections. */
export const run = (options) => httpCalls("W3 HTTP, stateful", "stateful", options);
