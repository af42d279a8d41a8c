// @ts-check
// Models that need no network: for tests, for demonstrations, for what was recorded before.
import { appendFile, readFile } from "node:fs/promises";
import { parseRecordings, recordModel, replay, scriptedModel } from "portolan-host/models";

// region scripted
/** Asks for the weather, then tells what came of it; anything else fails and says why. */
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
export const replayed = async (file) => replay(parseRecordings(await readFile(file, "utf8")));
// endregion
