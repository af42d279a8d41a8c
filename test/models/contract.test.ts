import { demoModel, type Model, type Recording, recordModel, replayModel, scriptedModel } from "portolan-host/models";
import { modelContract } from "./contract.ts";
import { assistant, collect, modelRequest, result, use, user, weather } from "./conversation.ts";
import { startProvider } from "./providers.ts";

const turns = [
  { when: { user: "Oslo" }, call: { name: "weather", input: { city: "Oslo" } } },
  { when: { tool: "weather" }, say: "It says: Snow ❄ and 北風, 🥶" },
];

async function recorded(): Promise<Model> {
  const recordings: Recording[] = [];
  const model = recordModel(scriptedModel(turns), (one) => void recordings.push(one));
  await collect(model.stream(modelRequest("weather in Oslo", { tools: [weather] })));
  const messages = [
    user("weather in Oslo"),
    assistant(use("a", "weather", { city: "Oslo" })),
    user(result("a", "Snow ❄ and 北風, 🥶")),
  ];
  await collect(model.stream(modelRequest(messages)));
  return replayModel(recordings);
}

modelContract("scripted", () => scriptedModel(turns));
modelContract("demo", () => demoModel());
modelContract("record", () => recordModel(scriptedModel(turns), () => {}));
modelContract("replay", recorded);
modelContract("openaiCompatible", async () => (await startProvider({ dialect: "openai", turns })).model);
modelContract("anthropic", async () => (await startProvider({ dialect: "anthropic", turns })).model);
modelContract("openaiCompatible, byte by byte", async () => {
  const faults = [{ pieceBytes: 1, splitTools: true, times: 9 }];
  return (await startProvider({ dialect: "openai", turns, faults })).model;
});
modelContract("anthropic, byte by byte", async () => {
  const faults = [{ pieceBytes: 1, splitTools: true, times: 9 }];
  return (await startProvider({ dialect: "anthropic", turns, faults })).model;
});
