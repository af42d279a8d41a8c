import { anthropic, type Model, openaiCompatible, type ProviderOptions } from "portolan-host/models";
import { type FakeProvider, type FakeProviderOptions, startFakeProvider } from "portolan-host/models/fake";
import { onTestFinished } from "vitest";

export type DialectName = FakeProviderOptions["dialect"];
export const dialects = ["openai", "anthropic"] as const;
export const apiKey = "sk-test-0123456789abcdef";

/** Creates the adapter of a dialect for a base URL. */
export function adapterOf(dialect: DialectName, baseUrl: string, options: Partial<ProviderOptions> = {}): Model {
  const all = { model: "test-model", apiKey, baseUrl, ...options };
  return dialect === "openai" ? openaiCompatible(all) : anthropic(all);
}

/** Starts a fake provider that is closed after the test, and creates its adapter. */
export async function startProvider(
  fake: FakeProviderOptions,
  options: Partial<ProviderOptions> = {},
): Promise<{ provider: FakeProvider; model: Model }> {
  const provider = await startFakeProvider({ apiKey, ...fake });
  onTestFinished(() => provider.close());
  return { provider, model: adapterOf(fake.dialect, provider.url, options) };
}

/** Creates a clock that skips timers below 200 s and records them in `waited`; longer ones run in real time. */
export function instantClock() {
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

/** Creates a fetch that responds with these chunks. */
export function fetchReturning(chunks: readonly (string | Uint8Array)[], init: ResponseInit = {}): typeof fetch {
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

/** Encodes data as an event stream. */
export const eventsOf = (...data: unknown[]): string =>
  data.map((one) => `data: ${typeof one === "string" ? one : JSON.stringify(one)}\n\n`).join("");
