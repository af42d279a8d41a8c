// The combined results of the interop tests: one row for each pairing with a peer, one column for each group.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the results of each column. */
export const folder = fileURLToPath(new URL("../../node_modules/.cache/portolan/interop/", import.meta.url));

/** The groups and their features; `tools:` stands for every feature with that prefix. */
const groups = {
  lifecycle: [
    "negotiation",
    "ping",
    "custom requests",
    "timeouts",
    "killed server",
    "closing during a call",
    "closing ends the server",
    "only messages on the wire",
    "no errors in received messages",
    "our messages are valid",
    "client info",
    "http:",
  ],
  sessions: ["session:"],
  tools: ["tools:"],
  resources: [
    "resources: list",
    "resources: read",
    "resources: read text",
    "resources: read binary",
    "resources: templates",
    "resources: unknown",
    "resources: cached for their lifetime",
  ],
  prompts: ["prompts: list", "prompts: get", "prompts: refused"],
  completion: ["completion:", "prompts: completion", "resources: completion", "resources: completion in context"],
  questions: ["elicitation:", "sampling", "sampling:", "roots", "roots:", "questions:"],
  progress: ["progress", "progress:"],
  cancellation: ["cancellation"],
  logging: ["log", "log:", "log level"],
  subscriptions: [
    "list changes",
    "resources: watch",
    "resources: publish",
    "resources: no duplicate changes",
    "resources: two watches of one URI",
    "resources: no changes after a watch ended",
  ],
  pagination: ["pages", "pagination"],
  resumption: ["resumption:"],
};

/** Returns the group of a feature; throws if it has none. */
export function groupOf(feature) {
  const prefix = `${feature.split(":")[0]}:`;
  const found =
    Object.keys(groups).find((group) => groups[group].includes(feature)) ??
    Object.keys(groups).find((group) => groups[group].includes(prefix));
  if (found === undefined) throw new Error(`the feature "${feature}" is in no group of scripts/interop/matrix.mjs`);
  return found;
}

/** All results, in the order of the table. */
export function readFindings() {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")))
    .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}

function keyOf({ side, peer, wire, version, habit = "" }) {
  const wires = ["stdio", "Streamable HTTP", "HTTP+SSE"];
  return JSON.stringify([side, peer, wires.indexOf(wire), version, habit]);
}

/** The results as a table with the reasons for gaps, and the problems. */
export function toMatrix(findings) {
  const names = Object.keys(groups);
  const reasons = [];
  const numberOf = (reason) => {
    if (!reasons.includes(reason)) reasons.push(reason);
    return reasons.indexOf(reason) + 1;
  };
  const cellOf = (features) => {
    const marks = new Set(features.map(({ mark }) => mark));
    if (marks.has("failed")) return "FAIL";
    if (marks.has("not run")) return "?";
    const numbers = [...new Set(features.flatMap(({ reason }) => (reason ? [numberOf(reason)] : [])))];
    return [marks.has("ok") ? "ok" : "–", numbers.sort((a, b) => a - b).join(",")].join(" ").trim();
  };
  const rows = findings.map(({ peer, side, wire, version, habit = "", features }) => [
    peer,
    side,
    wire,
    version,
    habit,
    ...names.map((group) =>
      cellOf(Object.keys(features).flatMap((name) => (groupOf(name) === group ? [features[name]] : []))),
    ),
  ]);
  const problems = findings.flatMap(({ peer, side, wire, version, habit = "", features }) =>
    Object.entries(features)
      .filter(([, { mark }]) => mark === "failed" || mark === "not run")
      .map(([name, { mark }]) => `${[peer, side, wire, version, habit].filter(Boolean).join(", ")}: ${name} ${mark}`),
  );
  return { heading: ["peer", "as", "transport", "revision", "way", ...names], rows, reasons, problems };
}
