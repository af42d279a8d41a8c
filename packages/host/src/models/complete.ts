import { PortolanError, type SamplingContent } from "portolan";
import { isObject, nameOf } from "portolan/internal";
import type { Model, ModelEvent, ModelReply, ModelRequest, ToolEvent, UnreadableToolEvent } from "./model.ts";

/** Gathers a whole turn. */
export async function complete(model: Model, request: ModelRequest): Promise<ModelReply> {
  const content: SamplingContent[] = [];
  const unreadable: UnreadableToolEvent[] = [];
  let text: string[] = [];
  const endText = () => {
    const said = text.join("");
    if (said !== "") content.push({ type: "text", text: said });
    text = [];
  };
  const takeCall = (call: ToolEvent | UnreadableToolEvent) => {
    if (call.unreadable !== undefined) {
      unreadable.push(call);
      return;
    }
    endText();
    content.push({ type: "tool_use", id: call.id, name: call.name, input: call.input });
  };
  for await (const event of turnOf(model, request)) {
    switch (event.type) {
      case "text":
        text.push(event.delta);
        break;
      case "tool":
        takeCall(readCall(event));
        break;
      case "end": {
        endText();
        const { stopReason, usage, model: name } = event;
        return { content, unreadable, stopReason, model: name, ...(usage && { usage }) };
      }
    }
  }
  throw unended(model);
}

/** What a model streams, if it does. */
export function turnOf(model: Model, request: ModelRequest): AsyncIterable<ModelEvent> {
  const events = model.stream(request) as AsyncIterable<ModelEvent> | Promise<unknown> | undefined;
  if (typeof events === "object" && Symbol.asyncIterator in events) return events;
  const came = events instanceof Promise ? "a promise" : nameOf(events);
  const message = `${model.id}: stream: expected an async iterable, as async *stream() gives, got ${came}`;
  throw new PortolanError("model-failed", message);
}

/** Models of applications may say anything: what is no JSON object is as little of a call as what is no JSON. */
export function readCall(event: ToolEvent | UnreadableToolEvent): ToolEvent | UnreadableToolEvent {
  if (event.unreadable !== undefined || isObject(event.input)) return event;
  const { type, id, name, input } = event;
  return { type, id, name, unreadable: JSON.stringify(input) ?? "" };
}

/** A model whose turn broke off. */
export function unended({ id }: Pick<Model, "id">): PortolanError {
  return new PortolanError("model-failed", `${id}: expected its turn to end with an "end" event, got none`);
}
