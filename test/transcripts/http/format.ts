import type { Passed } from "./recording-proxy.ts";

/** Headers that are not part of the protocol. */
const ignored = new Set([
  "connection",
  "content-length",
  "date",
  "host",
  "keep-alive",
  "transfer-encoding",
  "user-agent",
]);

/** Formats exchanges as text: requests with `>`, answers with `<`, and stable names for values that differ between runs. */
export function toTranscript(passed: readonly Passed[]): string {
  const cancelled = new Set(
    passed.flatMap(({ body }) => /"notifications\/cancelled".*"requestId":(\d+)/.exec(body)?.[1] ?? []),
  );
  const isCancelled = ({ body }: Passed) => cancelled.has(/^{"jsonrpc":"2.0","id":(\d+)/.exec(body)?.[1] ?? "");
  return maskAll(passed.map((one) => toBlock(one, isCancelled(one))).join("\n\n"));
}

function toBlock(one: Passed, isCancelled: boolean): string {
  const { method, path, headers, body } = one;
  const asked = [`${method} ${path}`, ...toLines(headers), ...(body === "" ? [] : [body])];
  // Both sides drop a cancelled exchange, and either may be first.
  const answered = isCancelled ? ["(cancelled)"] : toAnswer(one);
  return [...asked.map((line) => `> ${line}`), ...answered.map((line) => `< ${line}`.trimEnd())].join("\n");
}

function toAnswer({ status, answerHeaders, answer, endedBy }: Passed): string[] {
  const body = answer === "" ? [] : answer.trimEnd().split("\n");
  const lines = status === 0 ? ["(no answer)"] : [String(status), ...toLines(answerHeaders), ...body];
  return endedBy === "client" ? [...lines, "(the client went away)"] : lines;
}

function toLines(headers: Passed["headers"]): string[] {
  return headers
    .filter(([name]) => !ignored.has(name.toLowerCase()))
    .map(([name, value]) => `${name}: ${value}`)
    .sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
}

/** The kinds of values that differ, with their positions; equal values get the same name everywhere. */
const volatile: readonly (readonly [kind: string, where: RegExp])[] = [
  ["session", /(?<=^[<>] mcp-session-id: ).+$/gim],
  ["session", /(?<=\/messages\/)\S+/g],
  ["event", /(?<=^< id: ).+$/gm],
  ["event", /(?<=^> last-event-id: ).+$/gim],
  ["question", /(?<="jsonrpc":"2\.0","id":")[^"]+(?=","method":"(?:elicitation|sampling|roots)\/)/g],
  ["elicitation", /(?<="elicitationId":")[^"]+/g],
  ["state", /(?<="requestState":")[^"]+/g],
  ["reference", /(?<=reference )[0-9a-f]+/g],
];

function maskAll(text: string): string {
  const found: { at: number; kind: string; value: string }[] = [];
  for (const [kind, where] of volatile) {
    for (const match of text.matchAll(where)) found.push({ at: match.index, kind, value: match[0] });
  }
  found.sort((a, b) => a.at - b.at);
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const { kind, value } of found) {
    if (names.has(value)) continue;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    names.set(value, `<${kind} ${count}>`);
  }
  // Longest first, because an id may be part of another.
  const values = [...names.keys()].sort((a, b) => b.length - a.length);
  return values.reduce((masked, value) => masked.replaceAll(value, names.get(value) ?? ""), text);
}
