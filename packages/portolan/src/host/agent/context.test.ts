import { expect, test } from "vitest";
import type { SamplingMessage } from "../../protocol/types/index.ts";
import { fit } from "./context.ts";
import { Aside } from "./prompt.ts";

/** A call's result of about so many tokens. */
function result(id: string, tokens: number): SamplingMessage {
  const text = id.repeat(Math.ceil(tokens * 3.6));
  return { role: "user", content: [{ type: "tool_result", toolUseId: id, content: [{ type: "text", text }] }] };
}

function idsShown(messages: readonly SamplingMessage[] = []): string {
  return messages.map((message) => (JSON.stringify(message).includes("moved aside") ? "-" : "+")).join("");
}

const request = (messages: SamplingMessage[]) => ({ system: "", tools: [], messages });
const six = ["a", "b", "c", "d", "e", "f"].map((id) => result(id, 1_000));

test("what fits stays as it is", () => {
  const aside = new Aside({});
  expect(fit(request(six), 10_000, aside)).toBe(request(six).messages);
  expect(aside.isEmpty).toBe(true);
});

test("the oldest results make room, as many as need be, and can be read again", () => {
  const aside = new Aside({});
  expect(idsShown(fit(request(six), 5_500, aside))).toBe("-+++++");
  expect(idsShown(fit(request(six), 4_500, new Aside({})))).toBe("--++++");
  expect(aside.get("result-1")).toMatch(/^a+$/);
});

test("the newest stay, and when they are too much there is nothing to be done", () => {
  expect(fit(request(six), 3_000, new Aside({}))).toBeUndefined();
});

test("short results and words are not worth moving", () => {
  const said: SamplingMessage = { role: "user", content: [{ type: "text", text: "x".repeat(3_600) }] };
  const messages = [said, result("s", 50), ...six];
  expect(idsShown(fit(request(messages), 6_500, new Aside({})))).toBe("++-+++++");
});
