import type { ComponentChild, JSX } from "preact";
import { useMemo } from "preact/hooks";
import { usePage } from "../state/console.ts";
import { Button } from "./button.tsx";
import { piecesOf } from "./quoted.tsx";

/** Longer code is shown without colours. */
const maxColouredChars = 10_000;

/** Code with its words tinted, and a button that copies it. */
export function CodeText({ text, language }: { text: string; language?: string | undefined }): JSX.Element {
  const page = usePage();
  const parts = useMemo(() => (text.length > maxColouredChars ? [{ text }] : partsOfCode(text)), [text]);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    page.say("Copied");
  };
  return (
    <figure class="codebox">
      <figcaption>
        <span class="grow cut">{language || "text"}</span>
        <Button tone="quiet" size="small" icon="copy" label="Copy" onClick={() => void page.attempt(copy)} />
      </figcaption>
      <pre class="code" tabIndex={0} dir="ltr">
        <code>
          {parts.map(({ text: part, kind }, index) =>
            kind === undefined ? (
              escaped(part)
            ) : (
              <span key={index} class={kind}>
                {escaped(part)}
              </span>
            ),
          )}
        </code>
      </pre>
    </figure>
  );
}

/** A part of a code, and what it seems to be. */
export interface CodePart {
  readonly text: string;
  readonly kind?: "js" | "jn" | "jl" | "jp";
}

/**
 * Divides code of any language by what most languages share: comments, strings, numbers and a few words. `js` are strings,
 * `jn` numbers, `jl` literals and keywords, `jp` comments.
 */
export function partsOfCode(text: string): CodePart[] {
  const parts: CodePart[] = [];
  let at = 0;
  for (const match of text.matchAll(shapes)) {
    const kind = (["jp", "js", "jn", "jl"] as const).find((_, index) => match[index + 1] !== undefined);
    if (kind === undefined) continue;
    if (match.index > at) parts.push({ text: text.slice(at, match.index) });
    parts.push({ text: match[0], kind });
    at = match.index + match[0].length;
  }
  if (at < text.length) parts.push({ text: text.slice(at) });
  return parts;
}

const comment = String.raw`\/\/[^\n]*|\/\*[^]*?\*\/|(?<![^\s])#(?![0-9a-fA-F]{3,8}\b)[^\n]*`;
const string = `${String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`}\`(?:[^\`\\\\]|\\\\.)*\``;
const number = String.raw`\b0x[0-9a-fA-F]+\b|\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b`;
const literal = String.raw`\b(?:true|false|null|undefined|None|True|False|nil|const|let|var|function|def|class|return|import|from|export|if|else|for|while|await|async|new|type|interface|fn|pub|use|struct|enum|match)\b`;
const shapes = new RegExp(`(${comment})|(${string})|(${number})|(${literal})`, "g");

function escaped(text: string): ComponentChild[] {
  return piecesOf(text).map(({ text: piece, isHidden }, index) =>
    isHidden ? (
      <span key={index} class="esc">
        {piece}
      </span>
    ) : (
      piece
    ),
  );
}
