import { PortolanError, type SamplingContent } from "portolan";
import { isObject, nameOf } from "portolan/internal";
import type { Model, ModelEvent, ModelReply, ModelRequest, ToolEvent, UnreadableToolEvent } from "./model.ts";

/** Collects the events of one turn into a reply. */
export async function complete(model: Model, request: ModelRequest): Promise<ModelReply> {
  const content: SamplingContent[] = [];
  const unreadable: UnreadableToolEvent[] = [];
  let text: string[] = [];
  const flushText = () => {
    const joined = text.join("");
    if (joined !== "") content.push({ type: "text", text: joined });
    text = [];
  };
  const addCall = (call: ToolEvent | UnreadableToolEvent) => {
    if (call.unreadable !== undefined) {
      unreadable.push(call);
      return;
    }
    flushText();
    content.push({ type: "tool_use", id: call.id, name: call.name, input: call.input });
  };
  for await (const event of startTurn(model, request)) {
    switch (event.type) {
      case "text":
        text.push(event.delta);
        break;
      case "tool":
        addCall(readCall(event));
        break;
      case "end": {
        flushText();
        const { stopReason, usage, model: name } = event;
        return { content, unreadable, stopReason, model: name, ...(usage && { usage }) };
      }
    }
  }
  throw missingEnd(model);
}

/** Starts a turn. Throws if the model returns no async iterable. */
export function startTurn(model: Model, request: ModelRequest): AsyncIterable<ModelEvent> {
  const events = model.stream(request) as AsyncIterable<ModelEvent> | Promise<unknown> | undefined;
  if (typeof events === "object" && Symbol.asyncIterator in events) return events;
  const received = events instanceof Promise ? "a promise" : nameOf(events);
  const message = `${model.id}: expected stream() to return an async iterable, as async *stream() does, got ${received}`;
  throw new PortolanError("model-failed", message);
}

/** Marks a call as unreadable if its input is not a JSON object. Models of applications are not checked elsewhere. */
export function readCall(event: ToolEvent | UnreadableToolEvent): ToolEvent | UnreadableToolEvent {
  if (event.unreadable !== undefined || isObject(event.input)) return event;
  const { type, id, name, input } = event;
  return { type, id, name, unreadable: JSON.stringify(input) ?? "" };
}

/** Returns the error for a turn without an `end` event. */
export function missingEnd({ id }: Pick<Model, "id">): PortolanError {
  return new PortolanError("model-failed", `${id}: expected its turn to end with an "end" event, got none`);
}
