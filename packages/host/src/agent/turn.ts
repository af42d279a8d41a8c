import type { SamplingContent } from "portolan";
import { waitFor } from "../consent.ts";
import { maxTurnCalls } from "../limits.ts";
import { missingEnd, readCall, startTurn } from "../models/complete.ts";
import { createCallIds } from "../models/messages.ts";
import type { EndEvent, Model, ModelRequest, TokenUsage, UnreadableToolEvent } from "../models/model.ts";
import type { ProposedCall, RunEvent } from "./run.ts";

/** One turn of a model. */
export interface ModelTurn {
  readonly text: string;
  /** The whole content, for the conversation. */
  readonly content: readonly SamplingContent[];
  readonly calls: readonly ProposedCall[];
  /** Calls with invalid arguments. */
  readonly unreadable: readonly UnreadableToolEvent[];
  readonly stopReason: string;
  readonly model: string;
  readonly usage?: TokenUsage | undefined;
}

/** Lets a model take one turn, and emits its text as it arrives. */
export async function readTurn(
  model: Model,
  request: ModelRequest & { readonly signal: AbortSignal },
  emit: (event: RunEvent) => Promise<void>,
): Promise<ModelTurn> {
  const calls: ProposedCall[] = [];
  const unreadable: UnreadableToolEvent[] = [];
  const content: SamplingContent[] = [];
  const nextId = createCallIds(request.messages);
  let text = "";
  let end: EndEvent | undefined;
  for await (const event of untilAborted(startTurn(model, request), request.signal)) {
    if (event.type === "text") text += event.delta;
    if (event.type === "text" || event.type === "thinking") await emit(event);
    if (event.type === "end") end = event;
    if (event.type !== "tool") continue;
    // Results and approvals refer to a call by its id, so ids must be unique in a conversation.
    const id = nextId(event.id);
    const call = readCall(event);
    const { name, input = {} } = call;
    content.push({ type: "tool_use", id, name, input });
    if (call.unreadable === undefined) calls.push({ id, name, input });
    else unreadable.push({ ...call, id });
    if (calls.length + unreadable.length === maxTurnCalls) {
      end = { type: "end", stopReason: "toolUse", model: model.id };
      break;
    }
  }
  if (text !== "") content.unshift({ type: "text", text });
  if (!end) throw missingEnd(model);
  const { stopReason, usage, model: name } = end;
  return { text, content, calls, unreadable, stopReason, usage, model: name };
}

/** Ends the iteration when the signal aborts, even if the model ignores it. */
async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { value, done } = await waitFor(iterator.next(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    // Not awaited, because it may never resolve.
    (async () => iterator.return?.())().catch(() => {});
  }
}
