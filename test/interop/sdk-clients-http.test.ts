import { connect as connectV1 } from "../peers/clients/sdk-v1.mjs";
import { connect as connectV2 } from "../peers/clients/sdk-v2.mjs";
import { createHttpColumn } from "./http-columns.ts";
import { runColumns } from "./run-columns.ts";

const stateful = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const stateless = "2026-07-28";
const oldest = "2024-11-05";

runColumns("Official clients over HTTP", [
  ...stateful.map((version) => createHttpColumn("SDK v1", connectV1, { version })),
  createHttpColumn("SDK v1", connectV1, { version: oldest, httpSse: true }),
  ...stateful.map((version) => createHttpColumn("SDK v2", connectV2, { version, mode: "legacy" })),
  createHttpColumn("SDK v2", connectV2, { version: oldest, mode: "legacy", httpSse: true }),
  createHttpColumn("SDK v2", connectV2, { version: stateless, mode: "pin" }),
  createHttpColumn("SDK v2", connectV2, { version: stateless, mode: "auto" }),
]);
