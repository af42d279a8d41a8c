export { type GradeOptions, grade } from "./grade.ts";
export type { Hints, Role } from "./hints.ts";
export type { Target, UrlTarget } from "./open.ts";
export type { ToolUse } from "./peer.ts";
export { formatReport, type Grade, type Report, type Totals, type Verdict } from "./report.ts";
export type { RevisionDate, Transport } from "./revisions.ts";
export type { Scenario, Stage, Strength } from "./scenario.ts";
export { scenarios } from "./scenarios/index.ts";
export type { CommandTarget } from "./wire/stdio.ts";
