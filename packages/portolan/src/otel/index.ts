// The types that TypeScript infers for a user's exports are named through these entries, so a program must have them.
export type {} from "../client/index.ts";
export type {} from "../server/http/index.ts";
export type {} from "../server/index.ts";

export { countRefusals, measureHttp, measureStorage } from "./measure.ts";
export type { MeasureOptions, TraceOptions } from "./operation.ts";
export { traceClient } from "./trace-client.ts";
export { traceServer } from "./trace-server.ts";
