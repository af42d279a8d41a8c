// @ts-check
// Models of providers, on this machine or hosted.
import { anthropic, openaiCompatible } from "portolan-host/models";

// region local
/** Uses a model server on this machine, such as Ollama, llama.cpp or LM Studio; it needs no key. */
export const local = () => openaiCompatible({ baseUrl: "http://127.0.0.1:11434/v1", model: "llama3.2" });
// endregion

// region hosted
/** @param {{ [name: string]: string | undefined }} env */
export function hosted(env) {
  return [
    anthropic({
      model: "claude-sonnet-4-5",
      apiKey: env["ANTHROPIC_API_KEY"],
      traits: { cost: 0.4, speed: 0.6, intelligence: 0.9 },
    }),
    openaiCompatible({
      baseUrl: "https://api.openai.com/v1",
      model: "gpt-5-mini",
      apiKey: env["OPENAI_API_KEY"],
      traits: { cost: 0.9, speed: 0.8, intelligence: 0.6 },
    }),
  ];
}
// endregion
