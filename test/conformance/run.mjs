// @ts-check
// Runs the official conformance suite against our server and our client, and prints a line for each revision and side.
//   --revision 2026-07-28                only this revision
//   --peer                               also runs a server and a client on the official SDK, if the peers are
//                                        installed; their failures do not change the exit code
// To run another implementation instead, without exceptions:
//   --server http://localhost:4000/mcp   a running server
//   --client "node their-client.mjs"     the command of a client
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs } from "node:util";
import {
  deviationOf,
  exceptions,
  expected,
  judgeAuthority,
  judgeClient,
  judgeExtensions,
  judgeServer,
  listScenarios,
  startServer,
  unversioned,
} from "./suite.mjs";

/** @typedef {import("./suite.d.mts").Side} Side */
/** @typedef {import("./suite.d.mts").Verdict} Verdict */

const text = /** @type {const} */ ({ type: "string" });
const { values } = parseArgs({ options: { revision: text, server: text, client: text, peer: { type: "boolean" } } });
const { revision: only, server: theirServer, client: theirClient, peer: hasPeer } = values;
const revisions = Object.keys(expected).filter((revision) => only === undefined || only === revision);
let deviations = 0;
// The scores that docs/conformance.md shows.
const scores = /** @type {object[]} */ ([]);

if (!isDeepStrictEqual(await listScenarios(), expected))
  reportDeviation("scenarios.json", "the suite has other scenarios");
if (revisions.length === 0)
  reportDeviation("--revision", `expected one of ${Object.keys(expected).join(", ")}, got ${only}`);
if (theirServer !== undefined) await judgeAll("server", (revision) => judgeServer(theirServer, revision));
if (theirClient !== undefined) await judgeAll("client", (revision) => judgeClients(revision, theirClient));
if (theirServer === undefined && theirClient === undefined) {
  const server = await startServer();
  try {
    await judgeAll("server", (revision) => judgeServer(server.url, revision), exceptions.server);
    if (only === undefined) {
      report("extensions", "server", unversioned.servers, await judgeExtensions(server.url), exceptions.server);
    }
  } finally {
    await server.close();
  }
  await judgeAll("client", (revision) => judgeClients(revision), exceptions.client);
  if (only === undefined) await judgeUnversioned();
}
process.exitCode = deviations === 0 ? 0 : 1;
if (hasPeer) {
  const pathOf = (/** @type {string} */ file) =>
    fileURLToPath(new URL(`../peers/conformance/${file}`, import.meta.url));
  const peer = await startServer(pathOf("sdk-v2.mjs"));
  const peerClient = `"${process.execPath}" "${pathOf("sdk-v2-client.mjs")}"`;
  console.log("The official SDK, version 2");
  await judgeAll("server", (revision) => judgeServer(peer.url, revision), {}, "SDK v2").finally(peer.close);
  await judgeAll("client", (revision) => judgeClients(revision, peerClient), {}, "SDK v2");
}
if (only === undefined && theirServer === undefined && theirClient === undefined) {
  const cache = fileURLToPath(new URL("../../node_modules/.cache/portolan/", import.meta.url));
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, "conformance.json"), JSON.stringify(scores, null, 2));
}

/**
 * @param {Side} side
 * @param {(revision: string) => Promise<Map<string, Verdict>>} judge
 * @param {{ [scenario: string]: string }} [known] scenarios that may fail, with the reason
 * @param {string} [implementation] Default: ours.
 */
async function judgeAll(side, judge, known = {}, implementation = undefined) {
  for (const revision of revisions) {
    report(revision, side, expected[revision]?.[side] ?? [], await judge(revision), known, implementation);
  }
}

/**
 * @param {string} revision
 * @param {string} side
 * @param {string[]} scenarios
 * @param {Map<string, Verdict>} verdicts
 * @param {{ [scenario: string]: string }} [known]
 * @param {string} [implementation]
 */
function report(revision, side, scenarios, verdicts, known = {}, implementation = undefined) {
  const passed = scenarios.filter((scenario) => verdicts.get(scenario)?.passed).length;
  const listed = scenarios.filter((scenario) => known[scenario] !== undefined).length;
  const note = listed === 0 ? "" : `, ${listed} in exceptions.json`;
  console.log(`${revision} ${side} ${passed}/${scenarios.length}${note}`);
  scores.push({ implementation, revision, side, passed, applicable: scenarios.length, exceptions: listed });
  for (const scenario of scenarios) reportDeviation(scenario, deviationOf(verdicts.get(scenario), known[scenario]));
}

/** Runs the scenarios that belong to no revision. */
async function judgeUnversioned() {
  const clients = new Map();
  for (const scenario of unversioned.extensions) clients.set(scenario, await judgeClient(scenario, "extensions"));
  report("extensions", "client", unversioned.extensions, clients);
  const authority = await startServer(fileURLToPath(new URL("authority.mjs", import.meta.url)));
  report("any", "authority", unversioned.authority, await judgeAuthority(authority.url).finally(authority.close));
}

/**
 * Runs the client scenarios one at a time, because parallel clients disturb the suite's time measurements.
 * @param {string} revision
 * @param {string} [command] Default: our client.
 */
async function judgeClients(revision, command) {
  const verdicts = new Map();
  for (const scenario of expected[revision]?.client ?? []) {
    verdicts.set(scenario, await judgeClient(scenario, revision, command));
  }
  return verdicts;
}

/** @param {string} subject @param {string | undefined} deviation */
function reportDeviation(subject, deviation) {
  if (deviation === undefined) return;
  deviations += 1;
  console.log(`  ${subject}: ${deviation.replaceAll("\n", "\n    ")}`);
}
