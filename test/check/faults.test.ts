import { expect, test } from "vitest";
import { grade, type RevisionDate, type Verdict } from "../../packages/check/src/index.ts";
import { scriptOf } from "../servers/kit/programs.ts";
import { besides, scripted } from "./kit.ts";

const contrary = (fault: string) => scripted("./fixtures/contrary.mjs", fault);

test.each(["2024-11-05", "2025-11-25", "2026-07-28"] as const)(
  "a server without a fault passes in %s",
  async (date) => {
    const report = await grade(contrary("none"), { revisions: [date], timeoutMs: 5_000 });
    expect(besides(report, "pass", "not applicable")).toEqual([]);
    expect(report.totals[0]?.pass).toBeGreaterThan(30);
  },
);

test("notifications that a server happens to send are not taken for answers to invalid data", async () => {
  const filter = ({ id }: { id: string }) => /^(base|batch|stdio|hostile|cancel)\//.test(id);
  for (const date of ["2025-03-26", "2025-11-25"] as const) {
    const [plain, announcing] = await Promise.all(
      ["none", "announces often"].map((fault) =>
        grade(contrary(fault), { revisions: [date], timeoutMs: 5_000, filter }),
      ),
    );
    expect(besides(announcing!, "pass", "not applicable")).toEqual(besides(plain!, "pass", "not applicable"));
    expect(JSON.stringify(announcing!.verdicts)).not.toContain('got {\\"jsonrpc\\":\\"2.0\\",\\"method');
  }
});

test("the exit of a server is described once", async () => {
  const filter = ({ id }: { id: string }) => id === "closing/exits";
  const { verdicts } = await grade(contrary("none"), { revisions: ["2025-11-25"], timeoutMs: 5_000, filter });
  expect(verdicts.map(({ evidence }) => evidence)).toEqual(["closed the input; the server exited with code 0"]);
  const late = await grade(contrary("stays"), { revisions: ["2025-11-25"], timeoutMs: 500, filter });
  expect(late.verdicts.map(({ evidence }) => evidence)).toEqual([
    "waited 500 ms for the server to exit after the end of its input, in vain",
  ]);
});

test("a revision without labels of tools is named as the reason why no tool may be called", async () => {
  const filter = ({ id }: { id: string }) => id === "base/invalid-params";
  const target = { command: process.execPath, args: [scriptOf("time")] };
  const evidenceOf = async (date: RevisionDate) => {
    const { verdicts } = await grade(target, { revisions: [date], timeoutMs: 5_000, filter });
    return verdicts.map(({ grade: given, evidence }) => `${given}: ${evidence}`);
  };
  expect(await evidenceOf("2024-11-05")).toEqual([
    "not applicable: no tool may be called: none is a known test tool or named, and 2024-11-05 has no read-only labels",
  ]);
  expect(await evidenceOf("2025-03-26")).toEqual([expect.stringMatching(/^pass: /)]);
});

const stateful = "2025-11-25";
const stateless = "2026-07-28";

/** Each fault with the scenario that finds it. */
const faults: readonly [fault: string, scenario: string, revision: RevisionDate][] = [
  ["nameless", "handshake/result", stateful],
  ["unknown version refused", "handshake/unknown-version", stateful],
  ["asks too early", "handshake/order", stateful],
  ["bare discovery", "discover/result", stateless],
  ["any version", "discover/unknown-version", stateless],
  ["metadata optional", "discover/missing-metadata", stateless],
  ["nothing removed", "discover/removed-methods", stateless],
  ["wrong code", "base/unknown-method", stateful],
  ["any params", "base/invalid-params", stateful],
  ["text ids", "base/ids", stateful],
  ["answers twice", "base/exactly-once", stateful],
  ["same answer to all", "base/exactly-once", stateless],
  ["notifications answered", "base/notifications", stateful],
  ["oddities dropped", "base/invalid-request", stateless],
  ["ping with more", "base/ping", stateful],
  ["oddities dropped", "batch/undefined", "2024-11-05"],
  ["oddities dropped", "batch/refused", stateful],
  ["batch answered", "batch/refused", stateless],
  ["batch answered", "batch/answered", "2025-03-26"],
  ["cancel answered", "cancel/silent", stateful],
  ["cancel answered twice", "cancel/running", stateful],
  ["cancel answered twice", "cancel/race", stateless],
  ["dies on a cancel", "cancel/unknown", stateful],
  ["pages overlap", "pages/complete", stateful],
  ["pages change", "pages/complete", stateless],
  ["endless pages", "pages/complete", stateful],
  ["cursor is a number", "pages/complete", stateful],
  ["any cursor", "pages/bad-cursor", stateful],
  ["wrong output", "structured/conforms", stateful],
  ["not mirrored", "structured/mirrored", stateless],
  ["progress shrinks", "progress/order", stateful],
  ["progress afterwards", "progress/order", stateless],
  ["progress unasked", "progress/unasked", stateful],
  ["logs all", "logging/level", stateful],
  ["any level", "logging/bad-level", stateful],
  ["logs all", "logging/opt-in", stateless],
  ["nested form", "ask/form", stateful],
  ["does not ask", "ask/form", stateless],
  ["page without a url", "ask/url", stateful],
  ["question without messages", "ask/sample", stateless],
  ["no tools offered", "ask/sample-with-tools", stateful],
  ["does not ask", "ask/roots", stateful],
  ["asks the undeclared", "ask/undeclared", stateful],
  ["asks the undeclared", "ask/undeclared", stateless],
  ["asks the undeclared", "ask/kind-undeclared", stateful],
  ["newer member", "eras/newer-members", "2024-11-05"],
  ["newer result", "eras/newer-results", stateful],
  ["newer content", "eras/newer-content", "2024-11-05"],
  ["update missing", "updates/subscribe", stateful],
  ["unsubscribe ignored", "updates/subscribe", stateful],
  ["update missing", "updates/listen", stateless],
  ["not acknowledged", "updates/listen", stateless],
  ["untagged", "updates/listen", stateless],
  ["tag of another type", "updates/listen", stateless],
  ["stream goes on", "updates/unasked", stateless],
  ["update unasked", "updates/unasked", stateless],
  ["change missing", "changes/list", stateful],
  ["filter ignored", "changes/listen", stateless],
  ["wrong not found", "resources/not-found", stateful],
  ["wrong not found", "resources/not-found-params", stateless],
  ["dies on an error", "stdio/parse-error-survived", stateful],
  ["oddities dropped", "stdio/parse-error-answered", stateful],
  ["bytes cut", "stdio/split-bytes", stateful],
  ["empty lines", "stdio/crlf", stateful],
  ["other jsonrpc", "closing/well-formed", stateful],
  ["noise", "closing/purity", stateful],
  ["sends requests", "closing/no-requests", stateless],
  ["stays", "closing/exits", stateful],
  ["anonymous", "discover/identity", stateless],
  ["answers twice", "base/duplicate-ids", stateful],
  ["dies on a response", "base/stray-responses", stateful],
  ["cursor only once", "pages/cursor-again", stateless],
  ["any level", "logging/bad-request-level", stateless],
  ["dies when declined", "ask/declined", stateful],
  ["any state", "ask/tampered-state", stateless],
  ["one line at a time", "stdio/coalesced", stateful],
  ["dies of depth", "hostile/depth", stateful],
  ["dies of bad bytes", "hostile/invalid-utf8", stateless],
  ["dies of a prototype", "hostile/prototype", stateful],
  ["drops what is large", "hostile/large-message", stateful],
];

test.each(faults)("the fault “%s” is found by %s", async (fault, scenario, revision) => {
  const verdicts: Verdict[] = [];
  // The closing scenarios look at messages of earlier ones, which must run, too.
  const isPart = ({ id }: { id: string }) =>
    id === scenario || (scenario === "closing/no-requests" && id === "ask/form");
  await grade(contrary(fault), {
    revisions: [revision],
    timeoutMs: 700,
    startMs: 30_000,
    filter: isPart,
    onVerdict: (verdict) => verdicts.push(verdict),
  });
  const verdict = verdicts.find((one) => one.scenario === scenario);
  expect(verdict?.grade, verdict?.evidence).toBe(verdict?.strength === "must" ? "fail" : "warn");
  expect(verdict?.evidence).not.toContain("the grader failed");
});
