import { anthropic, type Model, openaiCompatible, type ProviderOptions } from "portolan-host/models";
import { type FakeProvider, type FakeProviderOptions, startFakeProvider } from "portolan-host/models/fake";
import { onTestFinished } from "vitest";

export type DialectName = FakeProviderOptions["dialect"];
export const dialects = ["openai", "anthropic"] as const;
export const apiKey = "sk-test-0123456789abcdef";

/** The adapter of a dialect, for an address. */
export function adapterOf(dialect: DialectName, baseUrl: string, options: Partial<ProviderOptions> = {}): Model {
  const all = { model: "test-model", apiKey, baseUrl, ...options };
  return dialect === "openai" ? openaiCompatible(all) : anthropic(all);
}

/** A fake provider until the test is over, and the adapter that asks it. */
export async function connected(
  fake: FakeProviderOptions,
  options: Partial<ProviderOptions> = {},
): Promise<{ provider: FakeProvider; model: Model }> {
  const provider = await startFakeProvider({ apiKey, ...fake });
  onTestFinished(() => provider.close());
  return { provider, model: adapterOf(fake.dialect, provider.url, options) };
}

/** A clock on which every pause is over at once; silence and the total take their time. */
export function impatient() {
  const waited: number[] = [];
  return {
    waited,
    after(ms: number, call: () => void) {
      if (ms >= 200_000) {
        const timer = setTimeout(call, ms);
        return () => clearTimeout(timer);
      }
      waited.push(ms);
      const timer = setImmediate(call);
      return () => clearImmediate(timer);
    },
  };
}

/** A `fetch` that answers with these bytes. */
export function answering(chunks: readonly (string | Uint8Array)[], init: ResponseInit = {}): typeof fetch {
  const encoder = new TextEncoder();
  return async () =>
    new Response(
      new ReadableStream({
        start(controller) {
          for (const chunk of chunks) controller.enqueue(typeof chunk === "string" ? encoder.encode(chunk) : chunk);
          controller.close();
        },
      }),
      { headers: { "content-type": "text/event-stream" }, ...init },
    );
}

/** Data as an event stream. */
export const eventsOf = (...data: unknown[]): string =>
  data.map((one) => `data: ${typeof one === "string" ? one : JSON.stringify(one)}\n\n`).join("");
