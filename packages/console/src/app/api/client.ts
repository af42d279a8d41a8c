import { type ApiError, apiVersion, sessionHeader, type Verb, type Verbs } from "../../api.ts";

/** Verbs that change something: the client makes their `request`. */
export type ChangingVerb = { [V in Verb]: Verbs[V]["takes"] extends { readonly request: string } ? V : never }[Verb];

/** A refused or failed request, in words for a person. */
export class ApiFailure extends Error {
  /** One of `ApiErrorCode`, a `PortolanErrorCode`, or `unreachable`. */
  readonly code: string;
  readonly details: Omit<ApiError["error"], "code" | "message">;

  constructor({ code, message, ...details }: ApiError["error"]) {
    super(message);
    this.name = "ApiFailure";
    this.code = code;
    this.details = details;
  }
}

/** Sends verbs to the console's server with the session of this browser. */
export class ApiClient {
  #session: string;
  /** Is told that the session is not known any more. */
  readonly #onExpired: () => void;

  constructor(session: string, onExpired: () => void) {
    this.#session = session;
    this.#onExpired = onExpired;
  }

  get session(): string {
    return this.#session;
  }

  /** Asks for something that changes nothing. */
  read<V extends Exclude<Verb, ChangingVerb | "hello">>(
    verb: V,
    takes: Verbs[V]["takes"],
    signal?: AbortSignal,
  ): Promise<Verbs[V]["gives"]> {
    return this.#send(verb, takes, signal);
  }

  /** Changes something, once: the same request is sent again if its reply is lost. */
  async change<V extends ChangingVerb>(verb: V, takes: Omit<Verbs[V]["takes"], "request">): Promise<Verbs[V]["gives"]> {
    const body = { ...takes, request: crypto.randomUUID() };
    try {
      return await this.#send(verb, body);
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.code !== "unreachable") throw error;
      return await this.#send(verb, body);
    }
  }

  /** Opens the stream of events after the event with the id `after`, or from the state as it is. */
  async events(after: string | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const resume = after === undefined ? {} : { "Last-Event-ID": after };
    const response = await reach(() =>
      fetch("/api/events", { headers: { ...this.#headers(), ...resume }, signal, cache: "no-store" }),
    );
    if (response.ok && response.body) return response.body;
    throw await this.#failureOf(response);
  }

  async #send<V extends Verb>(verb: V, takes: object, signal?: AbortSignal): Promise<Verbs[V]["gives"]> {
    const response = await reach(() =>
      fetch(`/api/${verb}`, {
        method: "POST",
        headers: { ...this.#headers(), "Content-Type": "application/json" },
        body: JSON.stringify(takes),
        cache: "no-store",
        ...(signal ? { signal } : {}),
      }),
    );
    if (!response.ok) throw await this.#failureOf(response);
    return (await response.json()) as Verbs[V]["gives"];
  }

  async #failureOf(response: Response): Promise<ApiFailure> {
    const failure = await readFailure(response);
    if (failure.code === "no-session") this.#onExpired();
    return failure;
  }

  #headers(): { [name: string]: string } {
    return { "Portolan-Api": String(apiVersion), [sessionHeader]: this.#session };
  }
}

/** Exchanges the token of the address for a session. */
export async function sayHello(launch: string): Promise<Verbs["hello"]["gives"]> {
  const response = await reach(() =>
    fetch("/api/hello", {
      method: "POST",
      headers: { "Portolan-Api": String(apiVersion), "Content-Type": "application/json" },
      body: JSON.stringify({ launch }),
      cache: "no-store",
    }),
  );
  if (!response.ok) throw await readFailure(response);
  return (await response.json()) as Verbs["hello"]["gives"];
}

/** The words for a person of anything that was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function reach(send: () => Promise<Response>): Promise<Response> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiFailure({ code: "unreachable", message: "The console does not answer. Is it still running?" });
  }
}

async function readFailure(response: Response): Promise<ApiFailure> {
  try {
    const { error } = (await response.json()) as ApiError;
    if (typeof error.message === "string") return new ApiFailure(error);
  } catch {
    // Another program answers here, so only its status can be told.
  }
  return new ApiFailure({ code: "internal", message: `The console answered with the status ${response.status}.` });
}
