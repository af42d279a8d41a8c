import { HttpRequests } from "./http.ts";
import { type Headers, type Post, type Sink, toText, type Wire } from "./wire.ts";

/** A client with one stream to listen on and one address to post to. */
export class HttpSseWire implements Wire {
  /** Resolves to the first event, the address; undefined when the stream is none. */
  readonly first: Promise<{ readonly type: string; readonly data: string } | undefined>;
  /** Resolves to how the stream was answered. */
  readonly stream: Post;
  /** Where the messages go, once the server has named an address of its own. */
  endpoint = "";
  readonly #sink: Sink;
  readonly #requests: HttpRequests;
  readonly #always: Headers;

  constructor(url: string, sink: Sink, always: Headers) {
    this.#always = always;
    this.#sink = sink;
    this.#requests = new HttpRequests(() => sink.closed("the server sent more than a client can hold"));
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

/** The address a server names, unless it is somebody else's. */
function toEndpoint(named: string, url: string): string {
  if (!URL.canParse(named, url)) return "";
  const endpoint = new URL(named, url);
  return endpoint.origin === new URL(url).origin ? endpoint.href : "";
}
