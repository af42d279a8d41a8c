import { HttpRequests } from "./http.ts";
import { type Headers, type Post, type Sink, toText, type Wire } from "./wire.ts";

/** A client over HTTP+SSE: one stream to listen on and one URL to post to. */
export class HttpSseWire implements Wire {
  /** Resolves to the first event, which should be the endpoint; `undefined` if there is no event stream. */
  readonly first: Promise<{ readonly type: string; readonly data: string } | undefined>;
  /** The request for the stream. */
  readonly stream: Post;
  /** The URL to post to; empty until the server has named one of its own origin. */
  endpoint = "";
  readonly #sink: Sink;
  readonly #requests: HttpRequests;
  readonly #always: Headers;

  constructor(url: string, sink: Sink, always: Headers) {
    this.#always = always;
    this.#sink = sink;
    this.#requests = new HttpRequests(() => sink.closed("the server sent more bytes than the grader accepts"));
    let tell: (event?: { type: string; data: string }) => void = () => {};
    this.first = new Promise((resolve) => {
      tell = resolve;
    });
    let hasBegun = false;
    this.stream = this.#requests.send(url, {
      method: "GET",
      headers: { accept: "text/event-stream", ...always },
      heard: (event) => {
        if (hasBegun) this.#receive(event.data);
        else if (event.type === "endpoint") this.endpoint = toEndpoint(event.data, url);
        hasBegun = true;
        tell(event);
      },
    });
    this.stream.finished.then(({ status }) => {
      tell();
      sink.closed(`the stream ended (${status})`);
    });
  }

  post(body: string | Uint8Array, headers: Headers = {}): Post {
    this.#sink.sent?.(toText(body));
    const all = { "content-type": "application/json", ...this.#always, ...headers };
    return this.#requests.send(this.endpoint, { body, headers: all });
  }

  async close(): Promise<void> {
    this.#requests.close();
  }

  #receive(data: string): void {
    let value: unknown;
    try {
      value = JSON.parse(data);
    } catch {
      this.#sink.noise(data);
      return;
    }
    this.#sink.received(value);
  }
}

/** Resolves the URL that a server names; empty if it has another origin. */
function toEndpoint(named: string, url: string): string {
  if (!URL.canParse(named, url)) return "";
  const endpoint = new URL(named, url);
  return endpoint.origin === new URL(url).origin ? endpoint.href : "";
}
