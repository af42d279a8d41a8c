import type { CallToolResult } from "portolan";
import { expect, test } from "vitest";
import type { Expectation } from "./expectations.ts";
import { runCall } from "./run-call.ts";
import type { SavedCall } from "./saved-calls.ts";

const reference = (name: string) => ["$", `{env:${name}}`].join("");
const answer: CallToolResult = {
  content: [{ type: "text", text: "Oslo: 4 degrees" }],
  structuredContent: { city: "Oslo", days: [{ high: 4 }], "a.b": { c: null } },
};

function saved(expect: readonly Expectation[], argumentsText = "{}"): SavedCall {
  return { name: "weather", server: "sky", tool: "forecast", argumentsText, expect };
}

async function problemsOf(
  expectations: readonly Expectation[],
  result: CallToolResult = answer,
  schemaProblems: readonly string[] = [],
) {
  let time = 0;
  const now = () => (time += 40);
  const { problems, isPassed, ms } = await runCall(saved(expectations), {
    send: async () => ({ result, schemaProblems }),
    env: {},
    now,
  });
  expect([isPassed, ms]).toEqual([problems.length === 0, 40]);
  return problems;
}

test.each<[Expectation]>([
  [{ path: "structuredContent.city", is: "Oslo" }],
  [{ path: "structuredContent.days[0].high", is: 4 }],
  [{ path: "structuredContent.days", is: [{ high: 4 }] }],
  [{ path: 'structuredContent["a.b"].c', is: null }],
  [{ path: "content[0].text", matches: "^Oslo: \\d+" }],
  [{ path: "structuredContent.days", matches: '"high":4' }],
  [{ path: "", matches: "Oslo" }],
  [{ schema: true }],
  [{ isError: false }],
  [{ underMs: 41 }],
])("%j is met", async (expectation) => {
  expect(await problemsOf([expectation])).toEqual([]);
});

test.each<[Expectation, string]>([
  [{ path: "structuredContent.city", is: "Rome" }, 'structuredContent.city is "Oslo"; expected "Rome"'],
  [{ path: "structuredContent.days[1]", is: 4 }, "there is no structuredContent.days[1]"],
  [{ path: "structuredContent.constructor", is: 1 }, "there is no structuredContent.constructor"],
  [{ path: "content[0].text", matches: "Rome" }, 'content[0].text is "Oslo: 4 degrees"; expected a match of Rome'],
  [{ isError: true }, "the tool succeeded; expected an error"],
  [{ underMs: 40 }, "it took 40 ms; expected less than 40 ms"],
])("%j is not met", async (expectation, problem) => {
  expect(await problemsOf([expectation])).toEqual([problem]);
});

test("a result that breaks the output schema is a problem only if the schema is expected", async () => {
  expect(await problemsOf([], answer, ["/city: expected a number"])).toEqual([]);
  expect(await problemsOf([{ schema: true }], answer, ["/city: expected a number"])).toEqual([
    "the result breaks the output schema: /city: expected a number",
  ]);
});

test("a tool that reports an error has failed, unless an error is expected", async () => {
  const failed: CallToolResult = { content: [{ type: "text", text: "no such\ncity" }], isError: true };
  expect(await problemsOf([], failed)).toEqual(["the tool failed: no such city"]);
  expect(await problemsOf([{ isError: true }, { path: "content[0].text", matches: "city" }], failed)).toEqual([]);
  expect(await problemsOf([{ isError: false }], failed)).toEqual(["the tool failed: no such city"]);
});

test("a call that cannot be sent has failed with its reason", async () => {
  const send = async () => Promise.reject(new Error("sky is down"));
  expect(await runCall(saved([{ schema: true }]), { send, env: {} })).toMatchObject({
    isPassed: false,
    problems: ["sky is down"],
  });
});

test("sends the arguments with their digits, and the variables as JSON", async () => {
  const sent: string[] = [];
  const send = async ({ argumentsText }: { argumentsText: string }) => {
    sent.push(argumentsText);
    return { result: answer, schemaProblems: [] };
  };
  const call = saved([], `{ "n": 12345678901234567890, "key": "Bearer ${reference("KEY")}" }`);
  expect((await runCall(call, { send, env: { KEY: 'a"b\\' } })).isPassed).toBe(true);
  expect(sent).toEqual(['{ "n": 12345678901234567890, "key": "Bearer a\\"b\\\\" }']);
  const missing = await runCall(call, { send, env: {} });
  expect([missing.isPassed, missing.problems, sent.length]).toEqual([false, ["the variable KEY is not set"], 1]);
});
