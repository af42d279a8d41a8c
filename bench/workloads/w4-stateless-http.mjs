import { httpCalls } from "../driver/http-calls.mjs";

/** Calls over HTTP that describe themselves, on 32 connections. */
export const run = (options) => httpCalls("W4 HTTP, stateless", "stateless", options);
