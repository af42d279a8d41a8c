/** In what providers of the OpenAI dialect differ. */
export interface OpenAiQuirks {
  /** What the bound on tokens is called. */
  readonly maxTokens?: "max_tokens" | "max_completion_tokens";
  /** Who speaks the system prompt. */
  readonly systemRole?: "system" | "developer";
  /** Whether usage is asked for with `stream_options`. */
  readonly streamUsage?: boolean;
  /** Whether `required` may be asked for, or only hoped for. */
  readonly requiredTools?: boolean;
}

const usual: Required<OpenAiQuirks> = {
  maxTokens: "max_tokens",
  systemRole: "system",
  streamUsage: true,
  requiredTools: true,
};

const byHost: readonly (readonly [RegExp, OpenAiQuirks])[] = [
  // Its reasoning models refuse the older name, and the others take both.
  [/^api\.openai\.com$|\.openai\.azure\.com$/, { maxTokens: "max_completion_tokens" }],
  // Sends usage unasked, and refuses members that it does not know.
  [/^api\.mistral\.ai$/, { streamUsage: false }],
];

/** The quirks of a host, with what the application knows better. */
export function quirksOf(host: string, own: OpenAiQuirks = {}): Required<OpenAiQuirks> {
  const known = byHost.find(([pattern]) => pattern.test(host))?.[1];
  return { ...usual, ...known, ...own };
}
