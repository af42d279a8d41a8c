// Answers of a stateless client to questions that nobody has asked: they carry no state.
import type { JsonObject } from "portolan";
import { createServer, type Form, form, inputRequired } from "portolan/server";
import { describe, expect, test } from "vitest";
import { connect, info, stateless } from "./peers.ts";

const capabilities = { elicitation: { form: {}, url: {} } };
const yes = { action: "accept" };
const fields = (properties: object, required?: string[]) =>
  form({ type: "object", properties, ...(required && { required }) } as never);
const text = { type: "string" };
const flag = { type: "boolean" };

/** A tool that removes something once its question `q` is accepted, and counts how often its handler was called. */
function guarded(ask: string | Form<JsonObject>) {
  const calls = { begun: 0, removed: 0 };
  const server = createServer(info).tool("remove", {
    ...(ask === "park" && { asks: "park" as const }),
    async run(_, ctx) {
      calls.begun += 1;
      let isAccepted: boolean;
      if (ask === "openUrl") {
        const url = "https://example.com/consent";
        isAccepted = (await ctx.openUrl("q", { message: "Remove it?", url })).action === "accept";
      } else if (typeof ask === "object") {
        isAccepted = (await ctx.elicit("q", { message: "Remove it?", form: ask })).action === "accept";
      } else isAccepted = await ctx.confirm("q", "Remove it?");
      if (isAccepted) calls.removed += 1;
      return String(isAccepted);
    },
  });
  return { server, calls };
}

describe("a yes that comes without a question", () => {
  test.each<[name: string, ask: string | Form<JsonObject>, answer: JsonObject]>([
    ["confirm", "confirm", yes],
    ["openUrl", "openUrl", yes],
    ["a form without fields", fields({}), yes],
    ["a form whose fields are optional", fields({ why: text }), { ...yes, content: { why: "" } }],
    ["a form with a check box", fields({ sure: flag }, ["sure"]), { ...yes, content: { sure: true } }],
  ])("does not answer %s; the answer to the question does", async (_, ask, answer) => {
    const { server, calls } = guarded(ask);
    const peer = await connect(server, { ...stateless, capabilities });
    const { result } = await peer.callTool("remove", {}, { inputResponses: { q: answer } });
    expect(result).toMatchObject({ resultType: "input_required", inputRequests: { q: {} } });
    expect(calls.removed).toBe(0);
    const { requestState } = result;
    const done = await peer.callTool("remove", {}, { inputResponses: { q: answer }, requestState });
    expect(done.result.content[0].text).toBe("true");
    expect(calls.removed).toBe(1);
  });

  test("does not make a parked handler run again for the answer", async () => {
    const { server, calls } = guarded("park");
    const peer = await connect(server, { ...stateless, capabilities });
    const { result } = await peer.callTool("remove", {}, { inputResponses: { q: yes } });
    expect(result.resultType).toBe("input_required");
    const { requestState } = result;
    const done = await peer.callTool("remove", {}, { inputResponses: { q: yes }, requestState });
    expect(done.result.content[0].text).toBe("true");
    expect(calls).toEqual({ begun: 1, removed: 1 });
  });

  test("is not returned by ctx.answer", async () => {
    const question = { message: "Remove it?", requestedSchema: { type: "object" as const, properties: {} } };
    const server = createServer(info).tool("remove", {
      run: (_, ctx) =>
        ctx.answer("q")?.["action"] === "accept"
          ? `removed ${ctx.answer("other")?.["action"]}`
          : inputRequired({ requests: { q: { method: "elicitation/create", params: question } } }),
    });
    const peer = await connect(server, { ...stateless, capabilities });
    const inputResponses = { q: yes, other: yes };
    const { result } = await peer.callTool("remove", {}, { inputResponses });
    expect(result).toMatchObject({ resultType: "input_required", inputRequests: { q: {} } });
    const done = await peer.callTool("remove", {}, { inputResponses, requestState: result.requestState });
    expect(done.result.content[0].text).toBe("removed undefined");
  });
});

test("information that comes without a question is taken", async () => {
  const name = fields({ name: text }, ["name"]);
  const server = createServer(info).tool("greet", {
    async run(_, ctx) {
      const answer = await ctx.elicit("name", { message: "Who are you?", form: name });
      return answer.action === "accept" ? `Hello, ${answer.content["name"]}` : "";
    },
  });
  const peer = await connect(server, { ...stateless, capabilities });
  const { result } = await peer.callTool(
    "greet",
    {},
    { inputResponses: { name: { ...yes, content: { name: "Ada" } } } },
  );
  expect(result.content[0].text).toBe("Hello, Ada");
});
