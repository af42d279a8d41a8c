import type { Model } from "portolan-host/models";
import { complete } from "portolan-host/models";
import { describe, expect, test } from "vitest";
import { asking, assistant, gather, joined, result, use, user, weather } from "./conversation.ts";

const question = asking("weather in Oslo", { tools: [weather] });
const answered = asking([
  user("weather in Oslo"),
  assistant(use("a", "weather", { city: "Oslo" })),
  user(result("a", "Snow ❄ and 北風, 🥶")),
]);

/** What every model does. It is asked for a call of `weather` in Oslo first, and then to tell what came of it. */
export function modelContract(name: string, open: () => Model | Promise<Model>): void {
  describe(name, () => {
    test("says who it is and what it can do", async () => {
      const { id, capabilities } = await open();
      expect(id).not.toBe("");
      expect(capabilities).toMatchObject({ tools: true, images: true });
    });

    test("ends a call with one end, last, in the words of MCP", async () => {
      const events = await gather((await open()).stream(question));
      expect(events.filter(({ type }) => type === "end")).toHaveLength(1);
      expect(events.at(-1)).toMatchObject({ type: "end", stopReason: "toolUse", model: expect.any(String) });
      const calls = events.filter(({ type }) => type === "tool");
      expect(calls).toEqual([
        { type: "tool", id: expect.stringMatching(/./), name: "weather", input: { city: "Oslo" } },
      ]);
    });

    test("speaks in deltas that are never empty, and loses no character", async () => {
      const model = await open();
      await gather(model.stream(question));
      const events = await gather(model.stream(answered));
      for (const event of events) if (event.type === "text") expect(event.delta).not.toBe("");
      expect(joined(events)).toEqual([
        { type: "text", delta: expect.stringContaining("Snow ❄ and 北風, 🥶") },
        expect.objectContaining({ type: "end", stopReason: "endTurn" }),
      ]);
    });

    test("can be gathered whole", async () => {
      const reply = await complete(await open(), question);
      expect(reply).toMatchObject({
        content: [{ type: "tool_use", name: "weather", input: { city: "Oslo" } }],
        unreadable: [],
        stopReason: "toolUse",
      });
    });

    test("leaves its request as it was", async () => {
      const before = structuredClone(question);
      await gather((await open()).stream(question));
      expect(question).toEqual(before);
    });

    test("begins nothing under a signal that is aborted, and rejects with its reason", async () => {
      const reason = new Error("changed my mind");
      const signal = AbortSignal.abort(reason);
      await expect(gather((await open()).stream({ ...question, signal }))).rejects.toBe(reason);
    });

    test("rejects with the reason of a signal that aborts in the middle", async () => {
      const controller = new AbortController();
      const reason = new Error("enough");
      const stream = (await open()).stream({ ...question, signal: controller.signal });
      const listen = async () => {
        for await (const _ of stream) controller.abort(reason);
      };
      await expect(listen()).rejects.toBe(reason);
    });

    test("can be left in the middle", async () => {
      const seen: string[] = [];
      for await (const event of (await open()).stream(question)) {
        seen.push(event.type);
        break;
      }
      expect(seen).toHaveLength(1);
    });
  });
}
