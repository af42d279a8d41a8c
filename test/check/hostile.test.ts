import { expect, test } from "vitest";
import { formatReport, grade } from "../../packages/check/src/index.ts";
import { scripted, spokenIn, startHttp } from "./kit.ts";
import { startWithFault } from "./relay.ts";

const stateful = { revisions: ["2025-11-25"], timeoutMs: 500, startMs: 2_000 } as const;

const neverSpeaks = ["silent", "endless", "dies", "wrong-ids", "garbage"];

test.concurrent.for(neverSpeaks)(
  "a server over stdio with the habit %s fails, and grading ends",
  async (habit, { expect }) => {
    const report = await grade(scripted("./fixtures/bad-stdio.mjs", habit), stateful);
    expect(spokenIn(report)).toEqual([]);
    expect(report.isPassed).toBe(false);
    expect(report.verdicts).toMatchObject([{ scenario: "handshake/answered", grade: "fail" }]);
    expect(formatReport(report)).toContain("supports none of the revisions");
  },
);

const speaksBadly = ["deaf", "stubborn", "flood", "dies-later", "text-ids", "odd-values", "deep-values", "questions"];

test.concurrent.for(speaksBadly)(
  "a server over stdio with the habit %s after the handshake fails, and grading ends",
  async (habit) => {
    const report = await grade(scripted("./fixtures/bad-stdio.mjs", habit), stateful);
    expect(report.isPassed).toBe(false);
    expect(report.totals[0]?.fail).toBeGreaterThan(0);
    expect(formatReport(report)).not.toContain("the grader failed");
  },
);

const badHabits = [
  "silent",
  "hangup",
  "endless-body",
  "endless-events",
  "endless-silence",
  "garbage",
  "elsewhere-endpoint",
];

test.concurrent.for(badHabits)(
  "a server over HTTP with the habit %s fails, and grading ends",
  async (habit, { expect, onTestFinished }) => {
    const url = await startHttp(scripted("./fixtures/bad-http.mjs", habit), onTestFinished);
    const report = await grade({ url }, { timeoutMs: 300 });
    expect(spokenIn(report)).toEqual([]);
    expect(report.isPassed).toBe(false);
    expect(report.totals).toHaveLength(5);
  },
);

test("aborted grading ends at once, and so does the server", async () => {
  const given = new AbortController();
  const reason = new Error("enough");
  const grading = grade(scripted("./fixtures/bad-stdio.mjs", "deaf"), {
    revisions: ["2025-11-25"],
    timeoutMs: 50_000,
    signal: given.signal,
    // The server answers the handshake, and nothing after it.
    onMessage: (direction) => direction === "received" && given.abort(reason),
  });
  await expect(grading).rejects.toBe(reason);
  await expect(grade({ command: "/no/such/command" }, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

test("a command that does not exist fails, and so does a URL where nothing listens", async () => {
  const missing = await grade({ command: "/no/such/command" }, stateful);
  expect([missing.isPassed, missing.totals[0]?.reason]).toEqual([
    false,
    expect.stringContaining("could not be started"),
  ]);
  const nobody = await grade({ url: "http://127.0.0.1:9/mcp" }, { timeoutMs: 300 });
  expect(nobody.isPassed).toBe(false);
});

test("the headers of a target are sent with every request", async () => {
  const seen = new Set<string | undefined>();
  const url = await startWithFault(({ headers }) => {
    seen.add(headers["authorization"]);
    return undefined;
  });
  const report = await grade(
    { url, headers: { authorization: "Bearer portolan" } },
    { timeoutMs: 5_000, filter: ({ id }) => id.startsWith("base/") },
  );
  expect(report.isPassed).toBe(true);
  expect([...seen]).toEqual(["Bearer portolan"]);
});
