import { expect, test } from "vitest";
import { complete } from "./complete.ts";
import { parseRecordings, type Recording, recordModel, replayModel } from "./recording.ts";
import { scriptedModel } from "./scripted.ts";

const asking = (text: string, more: object = {}) => ({
  messages: [{ role: "user" as const, content: { type: "text" as const, text } }],
  maxTokens: 100,
  ...more,
});

async function recorded(...texts: string[]): Promise<Recording[]> {
  const kept: Recording[] = [];
  const model = recordModel(
    scriptedModel(texts.map((text, index) => ({ say: `${text} ${index}` }))),
    (one) => void kept.push(one),
  );
  for (const text of texts) await complete(model, asking(text, { signal: new AbortController().signal }));
  return kept;
}

test("replays a recording that was written as JSON lines, for any order of members", async () => {
  const kept = await recorded("a", "b");
  const lines = kept.map((one) => `${JSON.stringify(one)}\n`).join("\n");
  expect(lines).not.toContain("signal");
  const model = replayModel(parseRecordings(lines));
  const { messages, maxTokens } = asking("b");
  const reply = await complete(model, { maxTokens, system: undefined, messages });
  expect(reply).toMatchObject({ content: [{ text: "b 1" }], stopReason: "endTurn", model: "scripted" });
  expect(model).toMatchObject({ id: "scripted", notice: "recorded" });
});

test("replays the turns of equal requests in order, then repeats the last one", async () => {
  const model = replayModel(await recorded("a", "a"));
  const said = [];
  for (let turn = 0; turn < 3; turn += 1) said.push((await complete(model, asking("a"))).content[0]);
  expect(said).toMatchObject([{ text: "a 0" }, { text: "a 1" }, { text: "a 1" }]);
});

test("rejects an unrecorded request with the differences to the closest one", async () => {
  const model = replayModel(await recorded("b", "Tell me a story", "c"));
  await expect(complete(model, asking("Tell me a joke", { temperature: 1 }))).rejects.toMatchObject({
    code: "model-failed",
    message: expect.stringMatching(
      /None of 3 recordings has this request: the closest one differs in messages\[0\]\.content\.text: recorded "Tell me a story", got "Tell me a joke"; temperature: recorded nothing, got 1\./,
    ),
  });
  await expect(complete(replayModel([]), asking("a"))).rejects.toThrow(
    "None of 0 recordings has this request: there are no recordings",
  );
});

test("records the request as it was sent, after the turn has ended", async () => {
  const kept: Recording[] = [];
  const model = recordModel(scriptedModel([{ say: "one two" }, { say: "one two" }]), (one) => void kept.push(one));
  const request = asking("a");
  for await (const event of model.stream(request)) {
    request.messages.push(...asking("later").messages);
    if (event.type === "text") expect(kept).toEqual([]);
  }
  expect(kept[0]?.request["messages"]).toHaveLength(1);
  for await (const _ of model.stream(asking("b"))) break;
  expect(kept).toHaveLength(1);
});

test("reports the line that is not a recording", async () => {
  const [line] = (await recorded("a")).map((one) => JSON.stringify(one));
  for (const bad of ["{", "null", "{}", line!.replace('"end"', '"text"')]) {
    expect(() => parseRecordings(`${line}\n${bad}`)).toThrow(/Line 2 of the recordings: expected a JSON object/);
  }
});
