import type {
  BodyProblem,
  EventStream,
  HttpHandler,
  HttpHeaders,
  HttpRequest,
} from "../../packages/portolan/src/server/http/adapter.ts";

export const plain: HttpHeaders = { "content-type": "text/plain" };

export function bodyOf(request: HttpRequest): Promise<string | BodyProblem> {
  return new Promise((resolve) => request.body(resolve));
}

/** Answers with the body, or with the problem of the body. */
export const echo: HttpHandler = async (request, reply) => {
  const body = await bodyOf(request);
  if (typeof body === "string") reply.send(200, plain, body);
  else reply.send(body.status, plain, body.why);
};

export const refuse: HttpHandler = (_, reply) => reply.send(403, plain, "no");

export interface Waiting {
  readonly requests: HttpRequest[];
  readonly streams: EventStream[];
  readonly hold: HttpHandler;
  /** Holds the request and opens a stream that stays open. */
  readonly stream: HttpHandler;
  gone(): number;
}

/** Handlers that never answer, their requests and streams, and the number of clients that disconnected. */
export function waiting(): Waiting {
  const requests: HttpRequest[] = [];
  const streams: EventStream[] = [];
  let gone = 0;
  const count = () => {
    gone += 1;
  };
  const hold: HttpHandler = (request, reply) => {
    requests.push(request);
    reply.onGone(count);
  };
  const stream: HttpHandler = (request, reply) => {
    hold(request, reply);
    streams.push(reply.stream({ "x-own": "yes" }));
  };
  return { requests, streams, hold, stream, gone: () => gone };
}
