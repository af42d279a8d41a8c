import { readCall, turnOf, unended } from "../../models/complete.ts";
import { createCallIds } from "../../models/content.ts";
import type { EndEvent, Model, ModelRequest, UnreadableToolEvent, Usage } from "../../models/model.ts";
import type { SamplingContent } from "../../protocol/types/index.ts";
import { waitFor } from "../wait-for.ts";
import type { RunEvent, WantedCall } from "./run.ts";

/** So many calls no honest turn has; whoever goes on is not heard out. */
const maxCalls = 1_000;

/** What a model said in one turn. */
export interface Turn {
  readonly text: string;
  /** Everything, as it belongs into the conversation. */
  readonly content: readonly SamplingContent[];
  readonly calls: readonly WantedCall[];
  /** Calls whose arguments make no sense. */
  readonly unreadable: readonly UnreadableToolEvent[];
  readonly stopReason: string;
  readonly model: string;
  readonly usage?: Usage | undefined;
}

/** Has a model speak once, and tells what it says while it does. */
export async function readTurn(
  model: Model,
  request: ModelRequest & { readonly signal: AbortSignal },
  tell: (event: RunEvent) => Promise<void>,
): Promise<Turn> {
  const calls: WantedCall[] = [];
  const unreadable: UnreadableToolEvent[] = [];
  const content: SamplingContent[] = [];
  const nextId = createCallIds(request.messages);
  let text = "";
  let end: EndEvent | undefined;
  for await (const event of untilAborted(turnOf(model, request), request.signal)) {
    if (event.type === "text") text += event.delta;
    if (event.type === "text" || event.type === "thinking") await tell(event);
    if (event.type === "end") end = event;
    if (event.type !== "tool") continue;
    // Results and approvals find their call by its id: no two of a conversation may share one.
    const id = nextId(event.id);
    const call = readCall(event);
    const { name, input = {} } = call;
    content.push({ type: "tool_use", id, name, input });
    if (call.unreadable === undefined) calls.push({ id, name, input });
    else unreadable.push({ ...call, id });
    if (calls.length + unreadable.length === maxCalls) {
      end = { type: "end", stopReason: "toolUse", model: model.id };
      break;
    }
  }
  if (text !== "") content.unshift({ type: "text", text });
  if (!end) throw unended(model);
  const { stopReason, usage, model: name } = end;
  return { text, content, calls, unreadable, stopReason, usage, model: name };
}

/** A model that does not hear of the end is not waited for. */
async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { value, done } = await waitFor(iterator.next(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    // Not awaited: it may never come. Whatever else it does, the turn is over.
    (async () => iterator.return?.())().catch(() => {});
  }
}
