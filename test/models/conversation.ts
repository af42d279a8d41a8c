import type { SamplingContent, SamplingMessage } from "portolan";
import type { Model, ModelEvent, ModelRequest } from "portolan-host/models";

export const user = (...content: (string | SamplingContent)[]): SamplingMessage => ({
  role: "user",
  content: content.map((one) => (typeof one === "string" ? { type: "text", text: one } : one)),
});
export const assistant = (...content: (string | SamplingContent)[]): SamplingMessage => ({
  ...user(...content),
  role: "assistant",
});
export const use = (id: string, name: string, input = {}): SamplingContent => ({ type: "tool_use", id, name, input });
export const result = (toolUseId: string, text: string, more: object = {}): SamplingContent => ({
  type: "tool_result",
  toolUseId,
  content: [{ type: "text", text }],
  ...more,
});
export const image = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" } as const;

/** Creates a request from a prompt or from messages. */
export const modelRequest = (content: string | SamplingMessage[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: typeof content === "string" ? [user(content)] : content,
  maxTokens: 1_000,
  ...more,
});

export const weather = {
  name: "weather",
  description: "The weather in a city",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

export async function collect(stream: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Returns the events of a stream before it failed, and the error; throws if it does not fail. */
export async function failureOf(model: Model, request: ModelRequest) {
  const events: ModelEvent[] = [];
  try {
    for await (const event of model.stream(request)) events.push(event);
  } catch (error) {
    return {
      events,
      error: error as Error & { code?: string; status?: number; retryAfterMs?: number; cause?: unknown },
    };
  }
  throw new Error(`Expected a failure, got ${JSON.stringify(events)}`);
}

/** Merges neighbouring text deltas, because their boundaries have no meaning. */
export function mergeText(events: readonly ModelEvent[]): ModelEvent[] {
  const whole: ModelEvent[] = [];
  for (const event of events) {
    const last = whole.at(-1);
    if ((event.type === "text" || event.type === "thinking") && last?.type === event.type) {
      whole.splice(-1, 1, { ...last, delta: last.delta + event.delta });
    } else whole.push(event);
  }
  return whole;
}
