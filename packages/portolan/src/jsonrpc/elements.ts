/**
 * Returns the texts of the elements of a JSON array, or of the members of a JSON object, without parsing them: their numbers
 * keep all digits. The text is known to be valid.
 */
export function elementsOf(text: string): string[] {
  const elements: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') at = endOfString(text, at);
    else if (char === "[" || char === "{") {
      depth += 1;
      if (depth === 1) start = at + 1;
    } else if (char === "," || char === "]" || char === "}") {
      if (depth === 1) {
        const element = text.slice(start, at).trim();
        if (element !== "") elements.push(element);
        start = at + 1;
      }
      if (char !== ",") depth -= 1;
    }
  }
  return elements;
}

/** Returns the place of the quote that ends a string. */
export function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}
