import type { Model } from "portolan-host/models";
import { complete } from "portolan-host/models";
import { describe, expect, test } from "vitest";
import { assistant, collect, mergeText, modelRequest, result, use, user, weather } from "./conversation.ts";

const question = modelRequest("weather in Oslo", { tools: [weather] });
const answered = modelRequest([
  user("weather in Oslo"),
  assistant(use("a", "weather", { city: "Oslo" })),
  user(result("a", "Snow ❄ and 北風, 🥶")),
]);

/** The contract of every model. The model must first call `weather` for Oslo, then describe the result. */
export function modelContract(name: string, open: () => Model | Promise<Model>): void {
  describe(name, () => {
    test("has an id and capabilities", async () => {
      const { id, capabilities } = await open();
      expect(id).not.toBe("");
      expect(capabilities).toMatchObject({ tools: true, images: true });
    });

    test("yields one tool call, then one end event with the MCP stop reason", async () => {
      const events = await collect((await open()).stream(question));
      expect(events.filter(({ type }) => type === "end")).toHaveLength(1);
      expect(events.at(-1)).toMatchObject({ type: "end", stopReason: "toolUse", model: expect.any(String) });
      const calls = events.filter(({ type }) => type === "tool");
      expect(calls).toEqual([
        { type: "tool", id: expect.stringMatching(/./), name: "weather", input: { city: "Oslo" } },
      ]);
    });

    test("yields text in deltas that are never empty, and loses no character", async () => {
      const model = await open();
      await collect(model.stream(question));
      const events = await collect(model.stream(answered));
      for (const event of events) if (event.type === "text") expect(event.delta).not.toBe("");
      expect(mergeText(events)).toEqual([
        { type: "text", delta: expect.stringContaining("Snow ❄ and 北風, 🥶") },
        expect.objectContaining({ type: "end", stopReason: "endTurn" }),
      ]);
    });

    test("can be read with complete()", async () => {
      const reply = await complete(await open(), question);
      expect(reply).toMatchObject({
        content: [{ type: "tool_use", name: "weather", input: { city: "Oslo" } }],
        unreadable: [],
        stopReason: "toolUse",
      });
    });

    test("does not change its request", async () => {
      const before = structuredClone(question);
      await collect((await open()).stream(question));
      expect(question).toEqual(before);
    });

    test("rejects with the reason of a signal that is already aborted", async () => {
      const reason = new Error("changed my mind");
      const signal = AbortSignal.abort(reason);
      await expect(collect((await open()).stream({ ...question, signal }))).rejects.toBe(reason);
    });

    test("rejects with the reason of a signal that aborts during the stream", async () => {
      const controller = new AbortController();
      const reason = new Error("enough");
      const stream = (await open()).stream({ ...question, signal: controller.signal });
      const listen = async () => {
        for await (const _ of stream) controller.abort(reason);
      };
      await expect(listen()).rejects.toBe(reason);
    });

    test("allows its reader to stop early", async () => {
      const seen: string[] = [];
      for await (const event of (await open()).stream(question)) {
        seen.push(event.type);
        break;
      }
      expect(seen).toHaveLength(1);
    });
  });
}
