import { type JsonObject, PortolanError, type RpcRequest, type RpcResponse, rpcCodes } from "portolan";
import type { Link } from "portolan/client";
import { canonical } from "./exchanges.ts";
import type { RecordedMessage } from "./recording.ts";

/** A part of an answer that differs from the recording. */
export interface AnswerDifference {
  /** The request, such as `tools/call add`. */
  readonly request: string;
  /** The path within the answer: `result.content[0].text`. */
  readonly path: string;
  readonly recorded: unknown;
  readonly now: unknown;
}

/** Sends the requests of a recorded client again, in order. Yields the differences of each answer. */
export async function* rerun(
  messages: readonly RecordedMessage[],
  link: Link,
  { signal, timeoutMs = 60_000 }: { readonly signal: AbortSignal; readonly timeoutMs?: number | undefined },
): AsyncGenerator<AnswerDifference[]> {
  const answers = recordedAnswers(messages);
  // Servers issue another `requestState` each time.
  const states = new Map<unknown, unknown>();
  const running = new Map<unknown, Promise<RpcResponse>>();
  let lose: (reason: Error) => void = () => {};
  const lost = new Promise<never>((_, reject) => {
    lose = reject;
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  lost.catch(() => {});
  await link.open({
    request({ id, method }, answer) {
      const known = answers.get(method)?.shift();
      answer(
        known
          ? { ...known, id }
          : { jsonrpc: "2.0", id, error: { code: rpcCodes.methodNotFound, message: "Not in the recording" } },
      );
    },
    notification() {},
    invalid() {},
    lost: lose,
  });
  const requests = new Map<unknown, RpcRequest>();
  try {
    for (const { from, message } of messages) {
      if (from === "client" && "method" in message) {
        if (!("id" in message)) {
          link.notify(message);
          continue;
        }
        const request = withState(message, states);
        requests.set(message.id, request);
        running.set(message.id, new Promise((response, failed) => link.exchange(request, { response, failed })));
      } else if (from === "server" && !("method" in message)) {
        // The recorded client had this answer before it went on.
        const pending = running.get(message.id);
        const request = requests.get(message.id);
        if (!pending || !request) continue;
        const response = await within(timeoutMs, nameOf(request), Promise.race([pending, lost]));
        learnState(message, response, states);
        yield differencesBetween(nameOf(request), message, response);
      }
    }
  } catch (cause) {
    if (cause instanceof PortolanError || signal.aborted || !(cause instanceof Error)) throw cause;
    throw new PortolanError("connection-closed", cause.message, { cause });
  } finally {
    for (const pending of running.values()) pending.catch(() => {});
    await link.close();
  }
}

/** Rejects if there is no answer in time. */
async function within<T>(timeoutMs: number, request: string, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const failure = new PortolanError("timeout", `${request}: no answer within ${timeoutMs / 1_000} s`);
    timer = setTimeout(() => reject(failure), timeoutMs);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

/** Returns the recorded answers of the client to each kind of question, in order. */
function recordedAnswers(messages: readonly RecordedMessage[]): Map<string, RpcResponse[]> {
  const questions = new Map<unknown, string>();
  const answers = new Map<string, RpcResponse[]>();
  for (const { from, message } of messages) {
    if (from === "server" && "method" in message && "id" in message) questions.set(message.id, message.method);
    if (from !== "client" || "method" in message) continue;
    const method = questions.get(message.id);
    if (method !== undefined) answers.set(method, [...(answers.get(method) ?? []), message]);
  }
  return answers;
}

function withState(request: RpcRequest, states: ReadonlyMap<unknown, unknown>): RpcRequest {
  const state = request.params?.["requestState"];
  if (!states.has(state)) return request;
  return { ...request, params: { ...request.params, requestState: states.get(state) } };
}

function learnState(recorded: RpcResponse, now: RpcResponse, states: Map<unknown, unknown>): void {
  if (!("result" in recorded && "result" in now)) return;
  const state = recorded.result["requestState"];
  if (state !== undefined) states.set(state, now.result["requestState"]);
}

function nameOf({ method, params = {} }: RpcRequest): string {
  const name = params["name"] ?? params["uri"];
  return typeof name === "string" ? `${method} ${name}` : method;
}

function differencesBetween(request: string, recorded: RpcResponse, now: RpcResponse): AnswerDifference[] {
  const { id: _, ...before } = recorded as unknown as JsonObject;
  const { id: __, ...after } = now as unknown as JsonObject;
  return compare(before, after, "").map((found) => ({ request, ...found }));
}

const time = /\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?/g;
/** Members that are redacted, or different each time. */
const ignoredMembers = new Set(["requestState"]);

function compare(recorded: unknown, now: unknown, path: string): Omit<AnswerDifference, "request">[] {
  if (typeof recorded === "string" && typeof now === "string") {
    const isSame = recorded.replace(time, "<time>") === now.replace(time, "<time>") || recorded.includes("[redacted]");
    return isSame ? [] : [{ path, recorded, now }];
  }
  if (Array.isArray(recorded) && Array.isArray(now)) {
    const length = Math.max(recorded.length, now.length);
    return Array.from({ length }, (_, at) => compare(recorded[at], now[at], `${path}[${at}]`)).flat();
  }
  if (isObject(recorded) && isObject(now)) {
    const names = [...new Set([...Object.keys(recorded), ...Object.keys(now)])];
    return names
      .filter((name) => !ignoredMembers.has(name))
      .flatMap((name) => compare(recorded[name], now[name], path === "" ? name : `${path}.${name}`));
  }
  return canonical(recorded) === canonical(now) ? [] : [{ path, recorded, now }];
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
