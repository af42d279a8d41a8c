/** Text that is HTML already. */
export interface Html {
  readonly html: string;
}

type Part = string | Html | undefined | false | readonly Html[];

/** HTML from a template: whatever is put in is text, unless it is HTML already. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: strings.map((text, index) => text + toHtml(parts[index])).join("") };
}

function toHtml(part: Part): string {
  if (part === undefined || part === false) return "";
  if (typeof part === "string") return toText(part);
  return "html" in part ? part.html : part.map((one) => one.html).join("");
}

const entities: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function toText(text: string): string {
  // Characters that turn the direction of text or hide could make a name look like another one.
  return text.replace(/[\p{Cc}\p{Cf}]/gu, " ").replace(/[&<>"']/g, (character) => entities[character] ?? "");
}
