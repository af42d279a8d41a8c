export { countRefusals, measureHttp, measureStorage } from "./measure.ts";
export type { MeasureOptions, TraceOptions } from "./operation.ts";
export { traceClient } from "./trace-client.ts";
export { traceServer } from "./trace-server.ts";
