// @ts-check
// A fake provider on this machine, to test how a program handles provider failures.
import { complete, openaiCompatible } from "portolan-host/models";
import { startFakeProvider } from "portolan-host/models/fake";

/** Asks a provider that is busy twice, then sends its reply one byte at a time. */
export async function askBusyProvider() {
  const provider = await startFakeProvider({
    dialect: "openai",
    turns: [{ when: { user: "Hello" }, say: "Hello yourself" }],
    faults: [{ status: { code: 429, retryAfter: "0" }, times: 2 }, { pieceBytes: 1 }],
  });
  const model = openaiCompatible({ baseUrl: provider.url, model: "any" });
  const reply = await complete(model, {
    messages: [{ role: "user", content: { type: "text", text: "Hello" } }],
    maxTokens: 100,
  });
  await provider.close();
  return { content: reply.content, requests: provider.requests.length };
}
