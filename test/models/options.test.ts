import {
  answerSampling,
  anthropic,
  echoModel,
  openaiCompatible,
  replayModel,
  scriptedModel,
} from "portolan-host/models";
import { startFakeProvider } from "portolan-host/models/fake";
import { expect, test } from "vitest";

const params = { messages: [], maxTokens: 10 };

/** Hides the names from the compiler, which refuses them too. */
const misspelt = (options: object): object => options;

test.each([
  [
    "openaiCompatible",
    async () => openaiCompatible({ baseUrl: "https://x", model: "m", ...misspelt({ retris: 1 }) }),
    "retries",
  ],
  ["anthropic", async () => anthropic({ model: "m", ...misspelt({ apikey: "k" }) }), "apiKey"],
  ["limits", async () => anthropic({ model: "m", limits: { ...misspelt({ toolCall: 1 }) } }), "toolCalls"],
  ["scriptedModel", async () => scriptedModel([], { ...misspelt({ capability: {} }) }), "capabilities"],
  ["replay", async () => replayModel([], { ...misspelt({ capabilites: {} }) }), "capabilities"],
  ["answerSampling", () => answerSampling(echoModel(), params, { ...misspelt({ onusage: 1 }) }), "onUsage"],
  ["startFakeProvider", () => startFakeProvider({ dialect: "openai", ...misspelt({ fault: [] }) }), "faults"],
  ["faults", () => startFakeProvider({ dialect: "openai", faults: [{ ...misspelt({ noUsge: true }) }] }), "noUsage"],
])("%s refuses an unknown option and suggests the nearest one", async (name, call, meant) => {
  await expect(call()).rejects.toMatchObject({
    code: "invalid-argument",
    message: expect.stringMatching(new RegExp(`^${name}: unknown option .*did you mean \`${meant}\``)),
  });
});
