/** Returns one line for each rule that the value breaks. */
export function problemsOfServerJson(value: unknown): string[];
