import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { http } from "portolan/client/http";
import { serveHttp } from "portolan/server/http";
import {
  type ApprovalQuestion,
  type FormQuestion,
  type HostAnswers,
  openActivityFile,
  type RunEvent,
  type SamplingQuestion,
} from "portolan-host";
import { createTime } from "portolan-time";
import { expect, onTestFinished, test } from "vitest";
import { scriptOf, serveHttp as serveProgram } from "../servers/kit/programs.ts";
import { createModel, makeFolder, makeHost } from "./kit.ts";

const departure = new Date(Date.now() + 40 * 24 * 60 * 60_000).toISOString().slice(0, 10);

test("a model plans a vacation with three servers, and the log records each step", async () => {
  const folder = await makeFolder();
  const file = join(folder, "activity.ndjson");
  const activity = await openActivityFile(file);

  // Three servers with three revisions on three transports.
  const memoryUrl = await serveProgram(scriptOf("memory"), ["--file", join(folder, "memory.jsonl")]);
  const clocks = serveHttp(createTime(), { httpSse: true });
  onTestFinished(() => clocks.close());
  const { url: timeUrl } = await clocks.listen();

  const approvals: ApprovalQuestion[] = [];
  const forms: FormQuestion[] = [];
  const samples: SamplingQuestion[] = [];
  const answers: HostAnswers = {
    approve(question) {
      approvals.push(question);
      return { allow: true, for: "session" };
    },
    elicit(question) {
      forms.push(question);
      const content = { name: "Ada Lovelace", email: "ada@example.com", born: "1990-12-10", seat: "window" };
      return { action: "accept", content };
    },
    sample(question) {
      samples.push(question);
      if (question.stage === "request") {
        const [first] = question.params.messages;
        return { allow: true, params: { ...question.params, messages: [first!], systemPrompt: "Answer with one id." } };
      }
      // The user replaces the model's choice.
      return { allow: true, result: { ...question.result, content: { type: "text", text: chosen } } };
    },
  };

  let chosen = "";
  const planner = createModel(
    {
      say: "Looking for flights.",
      call: [["travel__search-flights", { from: "Oslo", to: "Lisbon", date: departure }]],
    },
    (request) => {
      // The last flight in the server's result is the one that the user will choose.
      const ids = JSON.stringify(request.messages.at(-1)).match(/PT\d+/g) ?? [];
      chosen = ids.at(-1) ?? "";
      return {
        call: [["travel__choose-flight", { from: "Oslo", to: "Lisbon", date: departure, wish: "few stops" }]],
      };
    },
    () => ({ call: [["travel__book", { flight: chosen, date: departure }]] }),
    {
      call: [
        ["memory__create_entities", { entities: [{ name: "Lisbon", entityType: "trip", observations: ["booked"] }] }],
        ["time__now", { zones: ["Europe/Lisbon"] }],
      ],
    },
    { say: "All set for Lisbon." },
  );
  const thinker = { ...createModel({ say: "PT000, I think" }), id: "thinker" };

  const host = await makeHost({
    activity,
    model: thinker,
    answers,
    policy: [
      { server: "travel", readOnly: true, then: "allow", evenAfterUntrusted: true, evenWithResources: true },
      { then: "ask" },
    ],
    sampling: { requestsPerMinute: 5 },
    servers: {
      travel: { command: process.execPath, args: [scriptOf("travel"), "--step-ms", "5"], era: "2025-11-25" },
      memory: { url: memoryUrl, era: "2026-07-28" },
      time: { open: () => http(timeUrl.replace(/\/mcp$/, "/sse"), { legacySse: true }), era: "2024-11-05" },
    },
  });
  const statuses = await host.ready();
  expect(statuses.map(({ name, profile }) => `${name} ${profile?.version}`).sort()).toEqual([
    "memory 2026-07-28",
    "time 2024-11-05",
    "travel 2025-11-25",
  ]);

  // Completes an argument of a prompt, then runs the prompt with an attached resource.
  const ref = { type: "ref/prompt", name: "plan-vacation" } as const;
  expect((await host.complete("travel", ref, { name: "destination", value: "Li" })).values).toEqual(["Lisbon"]);
  const run = host.run(
    {
      server: "travel",
      prompt: "plan-vacation",
      args: { destination: "Lisbon", origin: "Oslo", departure_date: departure, duration: "4", budget: "900" },
    },
    { model: planner, attach: [{ server: "travel", uri: "travel://calendar" }] },
  );
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);

  const done = events.at(-1);
  expect(done).toMatchObject({ type: "done", reason: "done", text: "All set for Lisbon." });
  expect(approvals.map(({ server, action }) => `${server}.${action.kind === "tool" ? action.tool : ""}`)).toEqual([
    "travel.book",
    "memory.create_entities",
    "time.now",
  ]);
  // The approval warns that data of travel goes to the memory server.
  expect(approvals[1]?.cautions).toContainEqual({ kind: "data-flow", from: ["travel"] });
  expect(forms.map(({ server }) => server)).toEqual(["travel"]);
  expect(samples.map(({ stage }) => stage)).toEqual(["request", "response"]);
  const results = JSON.stringify(events.filter((event) => event.type === "tool" && event.stage === "result"));
  expect(results).toContain(chosen);
  expect(results).toContain("Ada Lovelace");
  expect(events.some((event) => event.type === "tool" && event.stage === "progress")).toBe(true);

  // The log has an entry for each step.
  const steps: string[] = [];
  for await (const { kind, server, name, step } of host.activity.query()) {
    if (kind !== "server") steps.push([kind, server, name ?? step].filter(Boolean).join(" "));
  }
  for (const step of [
    "prompt travel plan-vacation",
    "resource travel travel://calendar",
    "call travel search-flights",
    "sampling travel asked",
    "sampling travel answered",
    "call travel choose-flight",
    "decision travel book",
    "question travel",
    "answer travel",
    "call travel book",
    "decision memory create_entities",
    "call memory create_entities",
    "call time now",
  ]) {
    expect(steps).toContain(step);
  }
  expect(await host.activity.verify()).toMatchObject({ ok: true });
  await host.close();
  await activity.close();

  // The log contains no answers to forms, and verification detects one changed byte.
  const bytes = await readFile(file);
  expect(bytes.includes("1990-12-10")).toBe(false);
  const at = bytes.indexOf("search-flights");
  bytes[at] = bytes[at]! ^ 1;
  await writeFile(file, bytes);
  const reopened = await openActivityFile(file);
  onTestFinished(() => reopened.close());
  expect(await reopened.verify()).toMatchObject({ ok: false });
});
