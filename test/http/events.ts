import type { IncomingMessage } from "node:http";

/** One server-sent event, with the fields it had. */
export interface ServerEvent {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly retry: string | undefined;
  readonly data: string;
}

/** Reads a stream of events strictly: a line that is neither a field nor a comment throws. */
export async function* toEvents(response: IncomingMessage, commented: () => void): AsyncGenerator<ServerEvent> {
  let rest = "";
  response.setEncoding("utf8");
  for await (const chunk of response) {
    rest += chunk;
    for (let end = rest.indexOf("\n\n"); end !== -1; end = rest.indexOf("\n\n")) {
      const block = rest.slice(0, end);
      rest = rest.slice(end + 2);
      const event = toEvent(block, commented);
      if (event) yield event;
    }
  }
}

function toEvent(block: string, commented: () => void): ServerEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    if (line.startsWith(":")) commented();
    else {
      const [, name, value] = /^(event|id|retry|data): ?(.*)$/s.exec(line) ?? [];
      if (name === undefined) throw new Error(`expected a field of an event, got ${JSON.stringify(line)}`);
      fields.set(name, value ?? "");
    }
  }
  if (fields.size === 0) return undefined;
  const [event, id, retry] = ["event", "id", "retry"].map((name) => fields.get(name));
  return { event, id, retry, data: fields.get("data") ?? "" };
}
