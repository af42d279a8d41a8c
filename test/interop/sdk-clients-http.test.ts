import { connect as connectV1 } from "../peers/clients/sdk-v1.mjs";
import { connect as connectV2 } from "../peers/clients/sdk-v2.mjs";
import { createHttpColumn } from "./http-columns.ts";
import { runColumns } from "./run-columns.ts";

const stateful = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const stateless = "2026-07-28";
const oldest = "2024-11-05";

runColumns("Official clients over HTTP", [
  ...stateful.map((version) => createHttpColumn(`SDK v1 ${version}`, connectV1, { version })),
  createHttpColumn("SDK v1 HTTP+SSE", connectV1, { version: oldest, httpSse: true }),
  ...stateful.map((version) => createHttpColumn(`SDK v2 ${version}`, connectV2, { version, mode: "legacy" })),
  createHttpColumn("SDK v2 HTTP+SSE", connectV2, { version: oldest, mode: "legacy", httpSse: true }),
  createHttpColumn(`SDK v2 ${stateless}`, connectV2, { version: stateless, mode: "pin" }),
  createHttpColumn("SDK v2 auto", connectV2, { version: stateless, mode: "auto" }),
]);
