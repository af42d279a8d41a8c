/** Returns the whole sentences of a text after a position, without the marks of Markdown, and the position of their end. */
export function sentencesAfter(text: string, from: number): { readonly text: string; readonly end: number } {
  let end = from;
  for (const match of text.slice(from).matchAll(/[.!?…。！？]["')\]*_]*(?=\s)|\n/g)) {
    end = from + match.index + match[0].length;
  }
  const said = text
    .slice(from, end)
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[*_`#>|]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
  return { text: said, end };
}
