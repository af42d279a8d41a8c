import type { FailureKind } from "../failure.ts";
import type { Screen } from "../terminal/screen.ts";
import { wrap, wrapStep } from "../terminal/wrap.ts";

/** A failure as a person sees it. */
interface ShownFailure {
  readonly kind: FailureKind;
  readonly message: string;
  readonly next?: string | undefined;
}

/**
 * Returns a failure as lines: its kind and message, further lines of the message behind a bar, and the next step.
 * `columns` is the width of the terminal; without it, no line is broken.
 */
export function failureLines(screen: Screen, { kind, message, next }: ShownFailure, columns?: number): string[] {
  // A failure that says no more than its kind is shown by its kind alone.
  const [first = "", ...more] = message === kind ? [] : screen.safe(message.trim(), { lines: "keep" }).split("\n");
  const bar = `  ${screen.mark("bar")} `;
  const fit = (line: string, indent: string) =>
    columns === undefined ? line : wrap(line, columns - 4).join(`\n${indent}`);
  const label = `${screen.mark("bad")} ${kind}${first === "" ? "" : ":"}`;
  const lines = [fit(`${screen.style("red", label)} ${first}`.trimEnd(), "    ")];
  for (const line of more) lines.push(`${bar}${fit(line, bar)}`);
  if (next !== undefined) {
    const step = columns === undefined ? [screen.step(next)] : wrapStep(screen.step(next), columns - 6);
    lines.push(`  ${screen.mark("next")} ${step.join("\n    ")}`);
  }
  return lines;
}
