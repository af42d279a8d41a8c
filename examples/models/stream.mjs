// @ts-check
// One turn of a model: its text, its tool calls, and its failure.
import { ModelFailure } from "portolan-host/models";

/** @param {import("portolan-host/models").Model} model @param {string} prompt @param {(text: string) => void} show */
export async function tell(model, prompt, show) {
  const signal = AbortSignal.timeout(60_000);
  const tools = [{ name: "roll", description: "Rolls dice", inputSchema: { type: "object" } }];
  try {
    const messages = [
      { role: /** @type {const} */ ("user"), content: { type: /** @type {const} */ ("text"), text: prompt } },
    ];
    for await (const event of model.stream({ messages, tools, maxTokens: 500, signal })) {
      if (event.type === "text") show(event.delta);
      if (event.type === "tool") show(`[${event.name} ${event.unreadable ?? JSON.stringify(event.input)}]`);
      if (event.type === "end") show(` (${event.stopReason})`);
    }
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error;
    show(error.isTemporary ? "The provider is busy." : error.message);
  }
}
