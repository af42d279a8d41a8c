import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { piecesOf } from "../quoted.tsx";
import { VirtualList } from "../virtual-list.tsx";

/** A coloured piece of a line. */
interface Token {
  readonly text: string;
  readonly kind: "key" | "string" | "number" | "literal" | "plain";
}

/** A longer line is cut: browsers need seconds for a line of a megabyte. */
const longestLine = 2_000;
/** More lines than this are drawn only where they are seen. */
const manyLines = 400;
const lineHeight = 20;

// Digits within an address or a token are no number: one stands alone, or after the name of its member.
const pattern = /("(?:[^"\\]|\\.)*"?)(\s*:)?|(?<=^|[\s,[{]|"\s*:)(?:(-?\d[\d.eE+-]*)|true|false|null)(?=$|[\s,\]}])/g;

/** Splits a line of JSON into coloured pieces. Anything else stays plain. */
export function tokensOf(line: string): readonly Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const match of line.matchAll(pattern)) {
    const [all, text, colon, number] = match;
    if (match.index > end) tokens.push({ text: line.slice(end, match.index), kind: "plain" });
    if (text !== undefined) {
      tokens.push({ text, kind: colon === undefined ? "string" : "key" });
      if (colon !== undefined) tokens.push({ text: colon, kind: "plain" });
    } else tokens.push({ text: all, kind: number === undefined ? "literal" : "number" });
    end = match.index + all.length;
  }
  if (end < line.length) tokens.push({ text: line.slice(end), kind: "plain" });
  return tokens;
}

/** A coloured line. `escapes` shows what cannot be seen; an editor's picture of its text must not be longer than the text. */
export function JsonLine({ line, escapes = true }: { line: string; escapes?: boolean }): JSX.Element {
  const isCut = escapes && line.length > longestLine;
  return (
    <>
      {tokensOf(isCut ? line.slice(0, longestLine) : line).map(({ text, kind }, at) => (
        <span key={at} class={kind === "plain" ? undefined : `j-${kind}`}>
          {escapes
            ? piecesOf(text).map((piece) => (piece.isHidden ? <span class="esc">{piece.text}</span> : piece.text))
            : text}
        </span>
      ))}
      {isCut && <span class="t3">… {(line.length - longestLine).toLocaleString("en")} more characters</span>}
    </>
  );
}

/** A text as coloured lines with numbers. Lines with `marks` are shown as wrong. */
export function JsonText(props: {
  readonly label: string;
  readonly text: string;
  readonly marks?: ReadonlySet<number>;
}): JSX.Element {
  const { label, text, marks } = props;
  const lines = useMemo(() => text.split("\n"), [text]);
  const [selected, select] = useState(-1);
  if (lines.length > manyLines) {
    return (
      <VirtualList
        label={label}
        class="jcode lines"
        count={lines.length}
        height={lineHeight}
        selected={selected}
        onSelect={select}
        row={(index) => (
          <div class="line" data-bad={marks?.has(index + 1) || undefined}>
            <span class="no">{index + 1}</span>
            <code>
              <JsonLine line={lines[index] ?? ""} />
            </code>
          </div>
        )}
      />
    );
  }
  return (
    <pre class="jcode lines" aria-label={label} tabIndex={0}>
      {lines.map((line, index) => (
        <div key={index} class="line" data-bad={marks?.has(index + 1) || undefined}>
          <span class="no" aria-hidden="true">
            {index + 1}
          </span>
          <code>
            <JsonLine line={line} />
          </code>
        </div>
      ))}
    </pre>
  );
}
