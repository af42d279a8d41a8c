import { expect, test } from "vitest";
import { grade, type RevisionDate, type Verdict } from "../../packages/check/src/index.ts";
import { accept, type Intercept, startWithFault } from "./relay.ts";

const stateful = "2025-11-25";
const stateless = "2026-07-28";

/** Accepts what should be refused. */
function takes(isIt: (headers: { readonly [name: string]: unknown }, body: string) => boolean): Intercept {
  return (request, body) => (request.method === "POST" && isIt(request.headers, body) ? accept(body) : undefined);
}

const namesOther = takes(
  (headers, body) => headers["mcp-name"] !== undefined && !body.includes(`"${headers["mcp-name"]}"`),
);

/** Each scenario with the fault that it must find. */
const faults: readonly [scenario: string, revision: RevisionDate, fault: Intercept][] = [
  ["http/origin", "2025-06-18", takes(({ origin }) => origin !== undefined)],
  ["http/origin-forbidden", stateful, ({ headers }) => (headers["origin"] ? { status: 400 } : undefined)],
  ["http/origin-forbidden", stateless, takes(({ origin }) => origin !== undefined)],
  ["http/host", stateful, takes(({ host }) => !String(host).startsWith("127."))],
  ["http/accept", stateful, takes((headers) => headers["accept"] === "text/html")],
  ["http/content-type", stateless, takes((headers) => headers["content-type"] === "text/plain")],
  ["http/parse-error", stateful, (_, body) => (body.endsWith(",") ? { status: 500 } : undefined)],
  [
    "http/notification",
    stateful,
    (_, body) => (body.includes("roots/list_changed") ? { status: 200, body: "{}" } : undefined),
  ],
  ["http/stream", stateful, ({ method }) => (method === "GET" ? { status: 200, type: "text/html" } : undefined)],
  ["http/other-verbs", stateless, ({ method }) => (method === "PUT" ? { status: 200, body: "{}" } : undefined)],
  ["http/version-header", stateful, takes((headers) => headers["mcp-protocol-version"] === "1999-01-01")],
  ["http/session-id", stateful, (_, body) => ({ ...accept(body), session: "with a space" })],
  ["http/session-missing", stateful, takes((headers, body) => body.includes('"ping"') && !headers["mcp-session-id"])],
  ["http/session-unknown", stateful, takes((headers) => headers["mcp-session-id"] === "portolan-no-such-session")],
  ["http/session-ended", stateful, ({ method }) => (method === "DELETE" ? { status: 200 } : undefined)],
  ["headers/version-missing", stateless, takes((headers) => headers["mcp-protocol-version"] === undefined)],
  [
    "headers/name-encoded",
    stateless,
    ({ headers }) => (/^=\?/.test(String(headers["mcp-name"])) ? { status: 400 } : undefined),
  ],
  ["headers/uri-mismatch", stateless, namesOther],
  ["headers/prompt-mismatch", stateless, namesOther],
  [
    "batch/notifications-only",
    "2025-03-26",
    (_, body) => (body.startsWith("[") ? { status: 200, body: "[]" } : undefined),
  ],
  ["batch/empty", "2025-03-26", (_, body) => (body === "[]" ? { status: 202 } : undefined)],
  ["batch/handshake", "2025-03-26", takes((_, body) => body.startsWith("[") && body.includes("batched"))],
  ["hostile/too-large", stateful, (_, body) => (body.length > 1e7 ? { status: 500 } : undefined)],
];

test.each(faults)("%s in %s finds its fault", async (scenario, revision, fault) => {
  expect(await gradeOf(await startWithFault(fault), scenario, revision)).toMatch(
    /^(fail|warn): sent|^(fail|warn): cancelled/,
  );
  expect(await gradeOf(await startWithFault(() => undefined), scenario, revision)).toMatch(/^pass/);
});

const old = "2024-11-05";

const oldFaults: readonly [scenario: string, fault: Intercept][] = [
  ["http-sse/unknown-address", ({ url }) => (url?.endsWith("000000") ? { status: 202 } : undefined)],
  ["http-sse/accepted", (_, body) => (body.includes("on the stream") ? { status: 500 } : undefined)],
  [
    "http-sse/origin",
    ({ headers }) =>
      headers["origin"] ? { status: 200, type: "text/event-stream", body: "event: endpoint\ndata: /x\n\n" } : undefined,
  ],
];

test.each(oldFaults)("%s finds its fault", async (scenario, fault) => {
  const at = async (intercept: Intercept) => new URL("/sse", await startWithFault(intercept)).href;
  expect(await gradeOf(await at(fault), scenario, old)).toMatch(/^fail/);
  expect(await gradeOf(await at(() => undefined), scenario, old)).toMatch(/^pass/);
});

async function gradeOf(url: string, scenario: string, revision: RevisionDate): Promise<string> {
  const verdicts: Verdict[] = [];
  await grade(
    { url },
    {
      revisions: [revision],
      timeoutMs: 2_000,
      filter: ({ id }) => id === scenario,
      onVerdict: (verdict) => verdicts.push(verdict),
    },
  );
  const [verdict] = verdicts;
  return `${verdict?.grade}: ${verdict?.evidence}`;
}
