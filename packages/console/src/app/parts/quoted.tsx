import { display } from "portolan-host";
import type { ComponentChildren, JSX } from "preact";
import { Icon } from "./icon.tsx";

/** A piece of a text: as it is, or the name of a character that cannot be seen. */
export interface TextPiece {
  readonly text: string;
  readonly isHidden: boolean;
}

/** Splits a text of a server at characters that are invisible or change how others look. */
export function piecesOf(given: string, lines: "keep" | "escape" = "keep"): TextPiece[] {
  return display(given, { lines })
    .split(/(\\u\{[0-9a-f]{1,6}\})/)
    .flatMap((text, index): TextPiece[] => {
      if (text === "") return [];
      if (index % 2 === 0) return [{ text, isHidden: false }];
      const code = text.slice(3, -1);
      // The backslash of an escape in the text itself.
      if (code === "5c") return [{ text: "\\", isHidden: false }];
      return [{ text: `U+${code.toUpperCase().padStart(4, "0")}`, isHidden: true }];
    });
}

/** A text that a server wrote, in a line of ours: escaped, in its own direction. */
export function ServerText(props: { text: string; lines?: "keep" | "escape"; class?: string }): JSX.Element {
  const { text, lines = "escape" } = props;
  return (
    <bdi class={props.class} dir="auto">
      {piecesOf(text, lines).map(({ text: piece, isHidden }) => (isHidden ? <span class="esc">{piece}</span> : piece))}
    </bdi>
  );
}

/** Words of a server, marked as its own. */
export function Quoted(props: { by: string; text?: string; says?: string; children?: ComponentChildren }): JSX.Element {
  const { by, text, says = "says", children } = props;
  return (
    <div class="said">
      <div class="by">
        <Icon name="quote" small />
        <span>
          <ServerText text={by} /> {says}
        </span>
      </div>
      {text !== undefined && (
        <div class="words" dir="auto">
          <ServerText text={text} lines="keep" />
        </div>
      )}
      {children}
    </div>
  );
}
