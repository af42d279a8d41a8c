import { type IncomingMessage, request as openRequest } from "node:http";
import { type ServerEvent, toEvents } from "../../http/events.ts";

export interface RawAnswer {
  readonly status: number;
  readonly session: string | undefined;
  readonly isStream: boolean;
  readonly text: () => Promise<string>;
  /** Throws if the connection breaks. */
  readonly events: AsyncGenerator<ServerEvent>;
  readonly drop: () => void;
}

/** Sends one request on a connection of its own. Rejects if the connection breaks before the headers of an answer. */
export function sendRaw(
  url: string,
  method: string,
  headers: { readonly [name: string]: string },
  body?: unknown,
  signal?: AbortSignal,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const request = openRequest(url, { method, headers, agent: false, ...(signal && { signal }) });
    request.on("error", reject);
    request.on("response", (response) => resolve(toAnswer(response)));
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function toAnswer(response: IncomingMessage): RawAnswer {
  response.on("error", () => {});
  const session = response.headers["mcp-session-id"];
  return {
    status: response.statusCode ?? 0,
    session: typeof session === "string" ? session : undefined,
    isStream: response.headers["content-type"] === "text/event-stream",
    events: toEvents(response, () => {}),
    drop: () => response.destroy(),
    async text() {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      return text;
    },
  };
}
