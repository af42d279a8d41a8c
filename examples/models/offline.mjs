// @ts-check
// Models that need no network: scripted ones, and ones that replay a recording.
import { appendFile, readFile } from "node:fs/promises";
import { parseRecordings, recordModel, replayModel, scriptedModel } from "portolan-host/models";

// region scripted
/** Creates a model that calls `forecast`, then gives advice; any other request fails with the reason. */
export const weatherScript = () =>
  scriptedModel([
    { when: { user: /weather/i }, call: { name: "forecast", input: { city: "Oslo" } } },
    { when: { tool: "forecast", result: "rain" }, say: "Take an umbrella." },
  ]);
// endregion

// region record
/** @param {import("portolan-host/models").Model} model @param {string} file */
export const recorded = (model, file) => recordModel(model, (turn) => appendFile(file, `${JSON.stringify(turn)}\n`));

/** @param {string} file */
export const replayed = async (file) => replayModel(parseRecordings(await readFile(file, "utf8")));
// endregion
