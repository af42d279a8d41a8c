import type { JSX } from "preact";
import { ServerText } from "../parts/quoted.tsx";
import type { FuzzyMatch } from "./match.ts";

/** A name with the characters that were searched for in the foreground. */
export function Matched({ text, match }: { text: string; match: FuzzyMatch | undefined }): JSX.Element {
  if (!match || match.at.length === 0) return <ServerText text={text} />;
  const found = new Set(match.at);
  const parts: { text: string; isFound: boolean }[] = [];
  for (const [index, sign] of [...text].entries()) {
    const isFound = found.has(index);
    const last = parts.at(-1);
    if (last && last.isFound === isFound) last.text += sign;
    else parts.push({ text: sign, isFound });
  }
  return (
    <bdi dir="auto">
      {parts.map((part, index) =>
        part.isFound ? (
          <span key={index} class="hit">
            <ServerText text={part.text} />
          </span>
        ) : (
          <ServerText key={index} text={part.text} />
        ),
      )}
    </bdi>
  );
}
