import { type ClientRequest, type IncomingMessage, request as openRequest } from "node:http";
import { request as openSecureRequest } from "node:https";
import { StringDecoder } from "node:string_decoder";
import { ByteBudget, type Headers, type Post, type PostResult, type Sink, toText, type Wire } from "./wire.ts";

/** An HTTP request to send. */
export interface HttpRequest {
  readonly method?: string;
  readonly headers?: Headers;
  readonly body?: string | Uint8Array;
  /** Called with each event of an event stream. */
  readonly heard?: (event: ServerEvent) => void;
}

const maxBodyBytes = 8 * 1024 * 1024;

/** The HTTP requests to one server; `close` ends them all. */
export class HttpRequests {
  readonly #open = new Set<ClientRequest>();
  readonly #allowance = new ByteBudget();
  readonly #flooded: () => void;

  constructor(flooded: () => void) {
    this.#flooded = flooded;
  }

  send(url: string, { method = "POST", headers = {}, body, heard }: HttpRequest): Post {
    const open = url.startsWith("https:") ? openSecureRequest : openRequest;
    const request = open(url, { method, agent: false });
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) request.setHeader(name, value);
    this.#open.add(request);
    request.once("close", () => this.#open.delete(request));
    let begin: (posted: PostResult) => void = () => {};
    const begun = new Promise<PostResult>((resolve) => {
      begin = resolve;
    });
    const finished = new Promise<PostResult>((resolve) => {
      const settle = (posted: PostResult) => {
        begin(posted);
        resolve(posted);
      };
      request.once("error", (error) => settle({ status: 0, headers: {}, body: error.message }));
      request.once("close", () => settle({ status: 0, headers: {}, body: "the connection was closed" }));
      request.once("response", (response) => {
        const head = { status: response.statusCode ?? 0, headers: response.headers, body: "" };
        begin(head);
        this.#read(response, heard).then((text) => settle({ ...head, body: text }));
      });
    });
    request.end(body);
    return { begun, finished, drop: () => request.destroy() };
  }

  close(): void {
    for (const request of this.#open) request.destroy();
  }

  /** Reads the body to its end. Resolves to the text of a body that is not an event stream. */
  #read(response: IncomingMessage, heard: HttpRequest["heard"]): Promise<string> {
    const isStream = /^text\/event-stream\b/i.test(response.headers["content-type"] ?? "");
    const reader = new EventReader();
    const chunks: Buffer[] = [];
    let size = 0;
    return new Promise((resolve) => {
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (!this.#allowance.take(chunk.length) || (!isStream && size > maxBodyBytes)) {
          response.destroy();
          this.#flooded();
        } else if (isStream) for (const event of reader.read(chunk)) heard?.(event);
        else chunks.push(chunk);
      });
      response.on("error", () => {});
      response.once("close", () => resolve(Buffer.concat(chunks).toString()));
    });
  }
}

/** A client over Streamable HTTP. */
export class HttpWire implements Wire {
  readonly url: string;
  /** Headers that the handshake adds to every request. */
  sessionHeaders: Headers = {};
  /** The stream of the session, after it was requested. */
  stream: Post | undefined;
  readonly #sink: Sink;
  readonly #requests: HttpRequests;
  readonly #always: Headers;

  constructor(url: string, sink: Sink, always: Headers) {
    this.url = url;
    this.#always = always;
    this.#sink = sink;
    this.#requests = new HttpRequests(() => sink.closed("the server sent more bytes than the grader accepts"));
  }

  post(body: string | Uint8Array, headers: Headers = {}): Post {
    const accept = "application/json, text/event-stream";
    const post = this.send({ body, headers: { "content-type": "application/json", accept, ...headers } });
    const finished = post.finished.then((posted) => {
      if (/^application\/json\b/i.test(String(posted.headers["content-type"] ?? ""))) this.#receive(posted.body);
      return posted;
    });
    return { ...post, finished };
  }

  /** Opens the stream for messages that belong to no request. */
  listen(): Post {
    this.stream = this.send({ method: "GET", headers: { accept: "text/event-stream" } });
    return this.stream;
  }

  send(request: HttpRequest): Post {
    const headers = { ...this.#always, ...this.sessionHeaders, ...request.headers };
    if (request.body !== undefined) this.#sink.sent?.(toText(request.body));
    // A priming event has no data.
    const heard = ({ data }: ServerEvent) => data !== "" && this.#receive(data);
    return this.#requests.send(this.url, { ...request, headers, heard });
  }

  async close(): Promise<void> {
    if (this.sessionHeaders["mcp-session-id"] !== undefined) {
      const bye = this.send({ method: "DELETE" });
      const timer = setTimeout(() => bye.drop(), 500);
      await bye.finished;
      clearTimeout(timer);
    }
    this.#requests.close();
    this.#sink.closed("the grader closed the connection");
  }

  #receive(text: string): void {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.#sink.noise(text);
      return;
    }
    this.#sink.received(value);
  }
}

/** One server-sent event. */
export interface ServerEvent {
  readonly type: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** Parses server-sent events from chunks of any size. */
export class EventReader {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";
  #type = "message";
  #data: string[] = [];
  #id: string | undefined;

  read(chunk: Buffer): ServerEvent[] {
    const lines = (this.#rest + this.#decoder.write(chunk)).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line) ?? []);
  }

  #line(line: string): ServerEvent | undefined {
    if (line === "") return this.#dispatch();
    const [, name, value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === "event") this.#type = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id") this.#id = value;
    return undefined;
  }

  #dispatch(): ServerEvent | undefined {
    const event = { type: this.#type, data: this.#data.join("\n"), id: this.#id };
    const isEmpty = this.#data.length === 0;
    this.#type = "message";
    this.#data = [];
    return isEmpty ? undefined : event;
  }
}
