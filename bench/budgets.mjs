/**
 * A limit that portolan must keep, by metric.
 * @typedef {object} Budget
 * @property {string} metric
 * @property {"value" | "ratio" | "speed" | "difference"} of the number of portolan's cell that is compared
 * @property {number} [atMost]
 * @property {number} [atLeast]
 * @property {string} text
 * @property {boolean} [isReported] shown, but --check does not fail: absolute times depend on the machine, throughput on its load
 */

const speed = (share) => ({ of: "speed", atLeast: share, text: `≥ ${share}× raw` });
const rate = (share) => ({ of: "ratio", atLeast: share, text: `≥ ${share}× raw` });
const cost = (times) => ({ of: "ratio", atMost: times, text: `≤ ${times}× raw` });
const host = { of: "ratio", atMost: 1.3, text: "≤ 1.3× client" };
const value = (atMost, text) => ({ of: "value", atMost, text });
const share = (atLeast) => ({ of: "value", atLeast, text: `≥ ${atLeast}×` });

/** The budgets of calls over HTTP: the shares of raw's speed for echo, add and notify. */
function httpBudgets(title, shares) {
  const calls = ["echo", "add", "notify"];
  return Object.entries(shares).flatMap(([reply, ofCalls]) =>
    ofCalls.flatMap((share, index) => {
      const metric = `${title}, ${reply.toUpperCase()}, ${calls[index]}`;
      return [
        { metric, ...speed(share) },
        { metric: `${metric}, calls/s`, ...rate(share), isReported: true },
      ];
    }),
  );
}

/** @type {Budget[]} */
export const budgets = [
  { metric: "W1 in-memory call, stateful", ...value(3, "≤ 3 µs"), isReported: true },
  { metric: "W1 in-memory call, stateless", ...value(3, "≤ 3 µs"), isReported: true },
  { metric: "W1 in-memory echo ÷ tmcp", ...value(0.26, "≤ 0.26×") },
  { metric: "W1 in-memory add ÷ tmcp", ...value(0.36, "≤ 0.36×") },
  { metric: "W2 stdio echo, stateful", ...speed(0.9) },
  { metric: "W2 stdio add, stateful", ...speed(0.9) },
  { metric: "W2 stdio echo, stateless", ...speed(0.9) },
  { metric: "W2 stdio add, stateless", ...speed(0.9) },
  { metric: "W2 stdio client echo, stateful", ...speed(0.85) },
  { metric: "W2 stdio client add, stateful", ...speed(0.85) },
  { metric: "W2 stdio client echo, stateless", ...speed(0.85) },
  { metric: "W2 stdio client add, stateless", ...speed(0.85) },
  { metric: "W2b echo of 8 MB", ...cost(1.15) },
  { metric: "W2b echo of 64 MB", ...cost(1.15) },
  ...httpBudgets("W3 HTTP, stateful", { json: [0.82, 0.76], sse: [0.82, 0.82, 0.8] }),
  ...httpBudgets("W4 HTTP, stateless", { json: [0.82, 0.78], sse: [0.8, 0.75, 0.8] }),
  { metric: "W4b HTTP call among 1,000 ÷ among 3 tools", ...value(1.15, "≤ 1.15×") },
  { metric: "W5 1,000 idle sessions", of: "difference", atMost: 1, text: "≤ raw + 1.0 MB" },
  { metric: "W5 1,000 idle sessions: growth of the heap by 2,000 more", ...value(0.4, "≤ 0.4 MB") },
  { metric: "W5 1,000 idle sessions, a stream each", of: "difference", atMost: 1.8, text: "≤ raw + 1.8 MB" },
  { metric: "W5 1,000 idle sessions, a stream each: growth of the heap by 2,000 more", ...value(0.4, "≤ 0.4 MB") },
  { metric: "W6 spawn to initialize", of: "difference", atMost: 30, text: "≤ raw + 30 ms" },
  { metric: "W6 import over bare node", of: "difference", atMost: 25, text: "≤ 25 ms" },
  { metric: "W7 10,000 notifications, CPU", ...cost(1.5) },
  { metric: "W7 10,000 notifications, wall", ...cost(1.5) },
  { metric: "W7 notifications lost", ...value(0, "0") },
  { metric: "W7 end to end, stateful, wall", ...cost(1.5) },
  { metric: "W7 end to end, stateful, CPU", ...cost(1.5) },
  { metric: "W7 end to end, stateless, wall", ...cost(1.5) },
  { metric: "W7 end to end, stateless, CPU", ...cost(1.5) },
  { metric: "W7 end to end, lost", ...value(0, "0") },
  { metric: "W7 HTTP, stateful, wall", ...cost(1.5) },
  { metric: "W7 HTTP, stateful, CPU", ...cost(1.5) },
  { metric: "W7 HTTP, stateless, wall", ...cost(1.5) },
  { metric: "W7 HTTP, stateless, CPU", ...cost(1.5) },
  { metric: "W7 HTTP, lost", ...value(0, "0") },
  { metric: "W8 list of 10,000 tools", ...cost(1.1) },
  { metric: "W8 call among 1,000 ÷ among 3 tools", ...value(1.15, "≤ 1.15×") },
  { metric: "W8 first initialize among 10,000 − among 3 tools", ...value(20, "≤ 20 ms") },
  { metric: "W9 HTTP client, stateful", ...speed(0.85) },
  { metric: "W9 HTTP client, stateless", ...speed(0.75) },
  { metric: "W9 HTTP client, stateful, SSE", ...speed(0.8) },
  { metric: "W9 HTTP client, stateless, SSE", ...speed(0.75) },
  { metric: "W10 host, stateful, 1 in flight: a call", ...host, isReported: true },
  { metric: "W10 host, stateful, 1 in flight: its caller alone", ...host },
  { metric: "W10 host, stateful, 64 in flight: its caller alone", ...host },
  { metric: "W10 host, stateless, 1 in flight: a call", ...host, isReported: true },
  { metric: "W10 host, stateless, 1 in flight: its caller alone", ...host },
  { metric: "W10 host, stateless, 64 in flight: its caller alone", ...host },
  { metric: "W11 100 × 100 tools: first search", ...value(100, "≤ 100 ms") },
  { metric: "W11 100 × 100 tools: search", ...value(100, "≤ 100 ms") },
  { metric: "W11 100 × 100 tools: one change until it can be found", ...value(100, "≤ 100 ms") },
  { metric: "W12 portolan --help", of: "difference", atMost: 80, text: "≤ node + 80 ms" },
  { metric: "W12 portolan call of a local server", of: "difference", atMost: 150, text: "≤ node + 150 ms" },
  ...["ls", "call"].flatMap((task) =>
    ["mcporter", "Inspector"].flatMap((other) => [
      { metric: `W12 portolan ${task} ÷ ${other}, CPU`, ...value(1, "≤ 1×") },
      { metric: `W12 portolan ${task} ÷ ${other}, wall`, ...value(1, "≤ 1×") },
    ]),
  ),
  ...["stateful", "stateless"].flatMap((era) => [
    { metric: `W13 traced without an SDK ÷ untraced, ${era}`, ...value(1.15, "≤ 1.15×") },
    { metric: `W13 traced with the SDK ÷ by hand, ${era}`, ...value(1.15, "≤ 1.15×") },
    { metric: `W13 traced with the SDK ÷ untraced, ${era}`, ...value(1.15, "≤ 1.15×"), isReported: true },
  ]),
  { metric: "W14 stateful call, sessions in Redis: speed ÷ in memory", ...share(0.7) },
  { metric: "W14 stateless call, storage not needed: speed ÷ in memory", ...share(0.97) },
  { metric: "W14 commands of Redis per warm stateful call", ...value(0, "0") },
  { metric: "W14 idle session in Redis", ...value(1024, "≤ 1,024 B") },
  { metric: "W14 question answered through another process ÷ through the same", ...value(3, "≤ 3×") },
  { metric: "W14 … from the answer to the result alone", ...value(3, "≤ 3×") },
  { metric: "W14 two processes ÷ one, calls/s", ...share(1.6) },
  ...[
    "5,000 tools: a letter in the search of a server, main thread",
    "5,000 tools: opening a tool, main thread",
    "5,000 tools: a letter in find, main thread",
    "1,000 messages a second: longest task while typing",
  ].map((what) => ({ metric: `W15 console, ${what}`, ...value(100, "≤ 100 ms") })),
  { metric: "W15 console, scripts until the page is shown, gz", ...value(120, "≤ 120 KB") },
  { metric: "W15 console, 100,000 messages: longest task while scrolling", ...value(50, "≤ 50 ms") },
  { metric: "W15 console, 100,000 messages: heap ÷ heap with 20,000", ...value(1.3, "≤ 1.3×") },
  { metric: "schema conversions after start", ...value(0, "0") },
  { metric: "size of a one-tool server, min + gz", ...value(21, "≤ 21 KB") },
  { metric: "size of a one-call client, min + gz", ...value(21, "≤ 21 KB") },
  { metric: "size of a one-tool HTTP server, min + gz", ...value(27, "≤ 27 KB") },
  { metric: "size of a one-call HTTP client, min + gz", ...value(23.5, "≤ 23.5 KB") },
  { metric: "types: one zod tool", ...value(2000, "≤ 2,000") },
  { metric: "types: 200 × zod tool ÷ linear", ...value(1.3, "≤ 1.3×") },
  { metric: "types: one callTool", ...value(500, "≤ 500") },
];

/** Returns "met", "missed", or "–" if there is no measurement. */
export function verdict(budget, row) {
  const number = row.cells.portolan?.[budget.of];
  if (number === undefined || Number.isNaN(number)) return "–";
  const { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY } = budget;
  return number <= atMost && number >= atLeast ? "met" : "missed";
}
