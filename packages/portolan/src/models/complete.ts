import { PortolanError } from "../errors.ts";
import type { SamplingContent } from "../protocol/types/content.ts";
import type { Model, ModelReply, ModelRequest, UnreadableToolEvent } from "./model.ts";

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
  for await (const event of model.stream(request)) {
    switch (event.type) {
      case "text":
        text.push(event.delta);
        break;
      case "tool":
        if (event.input === undefined) {
          unreadable.push(event);
          break;
        }
        endText();
        content.push({ type: "tool_use", id: event.id, name: event.name, input: event.input });
        break;
      case "end": {
        endText();
        const { stopReason, usage, model: name } = event;
        return { content, unreadable, stopReason, model: name, ...(usage && { usage }) };
      }
    }
  }
  throw new PortolanError("model-failed", `${model.id}: expected its turn to end with an "end" event, got none`);
}
