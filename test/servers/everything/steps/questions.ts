import { expect } from "vitest";
import { read, type Step, textOf, until, valueIn } from "../walk.ts";

const accept = (content: object = {}) => ({ action: "accept", content });

/** Questions to the user, the model and the client. */
export const questions: readonly Step[] = [
  {
    name: "asks for a confirmation",
    since: "2025-06-18",
    async check({ call, script }) {
      expect(valueIn(await call("ask-yes"))).toEqual({ yes: true });
      script.push({ action: "decline" });
      expect(valueIn(await call("ask-yes"))).toEqual({ yes: false });
    },
    async before({ call }) {
      await expect(call("ask-yes")).rejects.toMatchObject({ code: -32602 });
    },
  },
  {
    name: "asks with every type of field",
    since: "2025-06-18",
    async check({ call, asked, script, revision }) {
      const filled = { text: "x", email: "a@b.example", ratio: 0.25, count: 2, sure: false, colour: "red", size: "l" };
      script.push(accept(filled));
      expect(valueIn(await call("ask-form")).content).toMatchObject(filled);
      script.push(accept({ text: "hello" }));
      const { content } = valueIn(await call("ask-form"));
      // Before 2025-11-25 only boolean fields have defaults.
      const defaults = { sure: true, ...(revision >= "2025-11-25" && { ratio: 0.5, count: 3, size: "s" }) };
      expect(content).toMatchObject({ text: "hello", ...defaults });
      const { properties } = asked.at(-1).requestedSchema;
      expect(Object.keys(properties)).toHaveLength(11);
      script.push({ action: "decline" }, { action: "cancel" });
      expect(valueIn(await call("ask-form"))).toEqual({ action: "decline" });
      expect(valueIn(await call("ask-form"))).toEqual({ action: "cancel" });
    },
    async before({ call }) {
      expect(textOf(await call("ask-form"))).toContain("does not support elicitation.form");
    },
  },
  {
    name: "asks with multiple choice",
    since: "2025-11-25",
    async check({ call, script }) {
      script.push(accept({ days: ["mon", "wed"], pets: ["dog"] }));
      expect(valueIn(await call("ask-choices")).content).toEqual({ days: ["mon", "wed"], pets: ["dog"] });
    },
    async before({ call, revision }) {
      if (revision < "2025-06-18") expect(textOf(await call("ask-choices"))).toContain("does not support");
      else await expect(call("ask-choices")).rejects.toMatchObject({ code: -32602 });
    },
  },
  {
    name: "sends the user to a page",
    since: "2025-11-25",
    async check({ call, asked }) {
      expect(valueIn(await call("ask-page"))).toEqual({ action: "accept" });
      expect(asked.at(-1)).toMatchObject({ mode: "url", url: "https://example.com/everything" });
    },
    async before({ call }) {
      expect(textOf(await call("ask-page"))).toContain("does not support elicitation.url");
    },
  },
  {
    name: "asks step by step, together, in a loop, parked and explicitly",
    since: "2025-06-18",
    async check({ call, script, asked }) {
      script.push(accept({ name: "Ada" }), accept());
      expect(valueIn(await call("ask-steps"))).toEqual({ name: "Ada", sure: true });
      expect(asked.slice(-2).map(({ message }) => message)).toEqual([
        "Which name goes on ticket 1?",
        "Is it really Ada?",
      ]);
      script.push(accept(), { action: "decline" });
      expect(valueIn(await call("ask-together"))).toEqual({ yes: 1 });
      script.push(accept({ number: 3 }), accept({ number: 7 }));
      expect(valueIn(await call("ask-until"))).toEqual({ guesses: 2 });
      script.push(...[1, 2, 3, 4, 5].map((number) => accept({ number })));
      expect(textOf(await call("ask-until"))).toContain("Five wrong guesses");
      script.push(accept(), { action: "decline" });
      expect(valueIn(await call("ask-parked"))).toEqual({ pages: "one two" });
      script.push(accept({ name: "Bob" }));
      expect(valueIn(await call("ask-explicit"))).toEqual({ name: "Bob", rounds: 1 });
      script.push({ action: "cancel" });
      expect(textOf(await call("ask-explicit"))).toBe("No name was given.");
    },
    async before({ call }) {
      for (const tool of ["ask-steps", "ask-together", "ask-until", "ask-parked", "ask-explicit"]) {
        expect(textOf(await call(tool)), tool).toContain("does not support");
      }
    },
  },
  {
    name: "asks the model",
    async check({ call, asked }) {
      expect(valueIn(await call("sample", { prompt: "Hello?" }))).toEqual({ text: "hi", model: "tiny" });
      expect(asked.at(-1)).toMatchObject({
        systemPrompt: "Answer in one sentence.",
        maxTokens: 100,
        modelPreferences: { hints: [{ name: "small" }] },
      });
    },
  },
  {
    name: "lets the model use a tool",
    since: "2025-11-25",
    async check({ call, script, asked }) {
      const use = { type: "tool_use", id: "u1", name: "add", input: { a: 2, b: 3 } };
      script.push({ role: "assistant", model: "tiny", content: [use], stopReason: "toolUse" });
      expect(valueIn(await call("sample-tools", { a: 2, b: 3 }))).toEqual({ text: "hi", model: "tiny" });
      const [answer] = [asked.at(-1).messages.at(-1).content].flat();
      expect(answer).toMatchObject({ type: "tool_result", toolUseId: "u1", content: [{ text: "5" }] });
      expect(asked.at(-2).toolChoice).toEqual({ mode: "required" });
    },
    async before({ call }) {
      expect(textOf(await call("sample-tools", { a: 2, b: 3 }))).toContain("does not support sampling.tools");
    },
  },
  {
    name: "knows the roots",
    async check({ call }) {
      expect(valueIn(await call("roots"))).toEqual({ roots: [{ uri: "file:///home/ada", name: "home" }] });
    },
  },
  {
    name: "receives notifications about changed roots",
    async check(walk) {
      const before = JSON.parse(await read(walk, "everything://waits")).rootChanges;
      walk.client.rootsChanged();
      const expected = walk.revision >= "2026-07-28" ? before : before + 1;
      await until(async () => JSON.parse(await read(walk, "everything://waits")).rootChanges === expected);
    },
  },
];
