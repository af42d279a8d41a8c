import type { JSX } from "preact";
import { ServerText } from "./quoted.tsx";

/** One place that differs. Without `before` it is new, without `after` it is gone. */
export interface DiffLine {
  readonly path: string;
  readonly before?: string;
  readonly after?: string;
}

/** The changes, place by place, with the changed words marked. */
export function Diff({ lines }: { lines: readonly DiffLine[] }): JSX.Element {
  return (
    <div class="diff jcode">
      {lines.map(({ path, before, after }) => {
        const same = before === undefined || after === undefined ? undefined : commonEnds(before, after);
        return (
          <div key={path} class="diff-place">
            <div class="diff-path">
              <ServerText text={path} />
            </div>
            {before !== undefined && <Side text={before} sign="−" how="gone" same={same} />}
            {after !== undefined && <Side text={after} sign="+" how="new" same={same} />}
          </div>
        );
      })}
    </div>
  );
}

const longestSide = 4_000;

function Side(props: {
  readonly text: string;
  readonly sign: string;
  readonly how: "gone" | "new";
  readonly same: { readonly start: number; readonly end: number } | undefined;
}): JSX.Element {
  const { sign, how, same } = props;
  const text = props.text.length > longestSide ? `${props.text.slice(0, longestSide)}…` : props.text;
  const start = Math.min(same?.start ?? 0, text.length);
  const stop = Math.max(start, text.length - (same?.end ?? 0));
  return (
    <div class="diff-line" data-how={how}>
      <span class="hidden">{how === "gone" ? "before" : "after"}</span>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      <span class="words">
        <ServerText text={text.slice(0, start)} lines="keep" />
        {stop > start && (
          <mark>
            <ServerText text={text.slice(start, stop)} lines="keep" />
          </mark>
        )}
        <ServerText text={text.slice(stop)} lines="keep" />
      </span>
    </div>
  );
}

/** Returns how much two texts share at their starts and ends, in whole words. */
export function commonEnds(before: string, after: string): { readonly start: number; readonly end: number } {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  while (start > 0 && start < most && isWord(before[start - 1]) && (isWord(before[start]) || isWord(after[start])))
    start -= 1;
  let end = 0;
  while (end < most - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  while (
    end > 0 &&
    isWord(before[before.length - end]) &&
    (isWord(before[before.length - end - 1]) || isWord(after[after.length - end - 1]))
  )
    end -= 1;
  return { start, end };
}

function isWord(char: string | undefined): boolean {
  return char !== undefined && /[\p{L}\p{N}_]/u.test(char);
}
