import { httpCalls } from "../driver/http-calls.mjs";

/** Stateless calls over HTTP, on 32 connections. */
export const run = (options) => httpCalls("W4 HTTP, stateless", "stateless", options);
