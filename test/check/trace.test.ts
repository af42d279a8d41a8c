import { expect, test } from "vitest";
import { grade, type TraceContext } from "../../packages/check/src/index.ts";
import { type Passed, problemsOf } from "../kit/conversation.ts";
import { schemasMissing } from "../kit/official-schema.ts";
import { keep, pathOf, scripted } from "./kit.ts";
import { accept, startWithFault } from "./relay.ts";

const pings = { revisions: ["2025-11-25"], timeoutMs: 5_000, startMs: 30_000 } as const;

test("a trace has all messages in order, with their direction and context", async () => {
  const heard: [string, unknown, TraceContext][] = [];
  await grade(scripted("../kit/serve.mjs", pathOf("../kit/full-server.mjs")), {
    ...pings,
    filter: ({ id }) => ["base/ping", "stdio/split-bytes", "stdio/parse-error-survived"].includes(id),
    onMessage: (...all) => heard.push(all),
  });
  const first = { revision: "2025-11-25", transport: "stdio", connection: 1, scenario: undefined };
  expect(heard.slice(0, 2)).toMatchObject([
    ["sent", { method: "initialize" }, first],
    ["received", { result: { protocolVersion: "2025-11-25" } }, first],
  ]);
  const during = (scenario: string) => heard.filter(([, , context]) => context.scenario === scenario);
  expect(during("base/ping").map(([direction]) => direction)).toEqual(expect.arrayContaining(["sent", "received"]));
  expect(during("stdio/split-bytes")[0]?.[1]).toMatchObject({ id: "pieces 🌊 é 漢" });
  expect(during("stdio/parse-error-survived").map(([, message]) => typeof message)).toContain("string");
});

test.skipIf(schemasMissing)("a message that was changed on its way is found in the trace", async () => {
  const problemsThrough = async (tampers: boolean) => {
    const passed: Passed[] = [];
    const url = await startWithFault((_, body) => {
      return tampers && body.includes('"tools/list"') ? accept(body) : undefined;
    });
    await grade({ url }, { ...pings, filter: ({ id }) => id === "base/ping", onMessage: keep(passed) });
    return problemsOf(passed, "server");
  };
  expect(await problemsThrough(false)).toEqual([]);
  const problems = await problemsThrough(true);
  expect(problems[0]).toContain("ListToolsResult: must have required property 'tools'");
});
