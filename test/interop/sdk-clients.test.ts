import { connect as connectV1 } from "../peers/clients/sdk-v1.mjs";
import { connect as connectV2 } from "../peers/clients/sdk-v2.mjs";
import { createColumn } from "./feature.ts";
import { runColumns } from "./run-columns.ts";

const stateful = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const stateless = "2026-07-28";

runColumns("Official clients over stdio", [
  ...stateful.map((version) => createColumn("SDK v1", connectV1, { version })),
  ...stateful.map((version) => createColumn("SDK v2", connectV2, { version, mode: "legacy" })),
  createColumn("SDK v2", connectV2, { version: stateless, mode: "pin" }),
  createColumn("SDK v2", connectV2, { version: stateless, mode: "auto" }),
]);
