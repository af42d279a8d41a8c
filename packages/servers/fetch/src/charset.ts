/** How many bytes are looked at for what a document says of itself. */
const headBytes = 4_096;

/** Decodes a document: by its mark, by what was said of it, by what it says of itself, or by what fits. */
export function decodeText(bytes: Uint8Array, declared: string | undefined): string {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, headBytes));
  const candidates = [markOf(bytes), declared, declaredIn(head), "utf-8"];
  for (const label of candidates) {
    const text = label === undefined ? undefined : tryDecode(bytes, label);
    if (text !== undefined) return text;
  }
  // Every sequence of bytes is a text in it.
  return new TextDecoder("windows-1252").decode(bytes);
}

/** Whether these bytes are no text in any usual encoding. */
export function looksBinary(bytes: Uint8Array): boolean {
  return markOf(bytes) === undefined && bytes.subarray(0, headBytes).includes(0);
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return first === 0xff && second === 0xfe ? "utf-16le" : undefined;
}

function declaredIn(head: string): string | undefined {
  const found =
    /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(head) ??
    /^<\?xml[^>]{0,100}encoding=["']([\w.-]{1,40})/i.exec(head);
  // A document that could be read this far is not in UTF-16, whatever it says.
  return found?.[1]?.toLowerCase().startsWith("utf-16") ? "utf-8" : found?.[1];
}

/** Undefined where the label is unknown, or wrong. */
function tryDecode(bytes: Uint8Array, label: string): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
