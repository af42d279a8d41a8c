import { PortolanError } from "../../errors.ts";

/** A definition that was seen: its digest and, unless it was too large, its canonical text. */
export interface Seen {
  readonly digest: string;
  readonly text?: string;
}

/** The definition that counts, and another that waits to be accepted. */
export interface Pinned extends Seen {
  readonly pending?: Seen;
}

/** What is kept of one server. */
export interface PinRow {
  readonly tools: ReadonlyMap<string, Pinned>;
  readonly instructions?: Pinned;
}

/** A row as text; once the definitions are longer than `maxChars` together, the rest is kept by digests alone. */
export function writeRow(row: PinRow, maxChars: number): string {
  let left = maxChars;
  const shorten = ({ digest, text }: Seen): Seen => {
    left -= text?.length ?? 0;
    return text === undefined || left < 0 ? { digest } : { digest, text };
  };
  const write = (pinned: Pinned): Pinned => {
    const { pending } = pinned;
    return pending === undefined ? shorten(pinned) : { ...shorten(pinned), pending: shorten(pending) };
  };
  const { instructions } = row;
  return JSON.stringify({
    // Pairs and no object: a tool may be called __proto__.
    tools: [...row.tools].map(([name, pinned]) => [name, write(pinned)]),
    ...(instructions === undefined ? {} : { instructions: write(instructions) }),
  });
}

/** The row of a text; nothing where there is none. What cannot be read is an error: to forget pins is to lose them. */
export function parseRow(text: string | undefined): PinRow | undefined {
  if (text === undefined) return undefined;
  try {
    const { tools, instructions } = JSON.parse(text) as { tools: [string, Pinned][]; instructions?: Pinned };
    return { tools: new Map(tools), ...(instructions === undefined ? {} : { instructions }) };
  } catch (cause) {
    throw new PortolanError("store-failed", "Pins: expected a row of our own, got something else", { cause });
  }
}
