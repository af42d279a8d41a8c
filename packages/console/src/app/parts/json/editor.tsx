import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icon.tsx";
import { ServerText } from "../quoted.tsx";
import { nodeAt, parseJson, pathText, placeOf } from "./document.ts";
import type { EditedDocument } from "./edited-document.ts";
import { JsonLine } from "./json-text.tsx";

/** A longer text is not coloured while it is edited. */
const longestColoured = 60_000;
/** A longer text is read a moment after the last key. */
const longestAtOnce = 200_000;
const waitMs = 300;

interface Problem {
  readonly line: number;
  readonly at: number;
  readonly message: string;
}

/** The text of a document, with what is wrong at its line. */
export function JsonEditor(props: {
  readonly document: EditedDocument;
  readonly label: string;
  readonly onSubmit?: () => void;
}): JSX.Element {
  const { document, label } = props;
  const [text, setText] = useState(document.text);
  const area = useRef<HTMLTextAreaElement>(null);
  const picture = useRef<HTMLDivElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const id = useId();
  const problems = useComputed(() => problemsOf(document));

  // A change from outside: a new document, or one value of it.
  useEffect(
    () =>
      document.changes.subscribe(() => {
        if (timer.current === undefined) setText(document.text);
      }),
    [document],
  );
  const settle = () => {
    if (timer.current === undefined) return;
    clearTimeout(timer.current);
    timer.current = undefined;
    if (area.current) document.type(area.current.value);
  };
  useEffect(() => settle, [document]);
  const follow = () => {
    if (!area.current || !picture.current) return;
    picture.current.scrollTop = area.current.scrollTop;
    picture.current.scrollLeft = area.current.scrollLeft;
  };
  useLayoutEffect(follow);

  const type = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    if (value.length <= longestAtOnce) {
      timer.current = undefined;
      document.type(value);
    } else timer.current = setTimeout(settle, waitMs);
  };
  const goTo = (at: number) => {
    area.current?.focus();
    area.current?.setSelectionRange(at, at);
  };
  const marked = new Set(problems.value.map(({ line }) => line));
  const isColoured = text.length <= longestColoured;
  return (
    <div class="editor">
      <div class="editor-text" data-plain={!isColoured || undefined}>
        {isColoured && (
          <div class="backdrop jcode lines" ref={picture} aria-hidden="true">
            {text.split("\n").map((line, index) => (
              <div key={index} class="line" data-bad={marked.has(index + 1) || undefined}>
                <span class="no">{index + 1}</span>
                <code>
                  <JsonLine line={line} escapes={false} />
                  {"\n"}
                </code>
              </div>
            ))}
          </div>
        )}
        <textarea
          ref={area}
          class="jcode"
          aria-label={label}
          aria-invalid={problems.value.length > 0 ? "true" : undefined}
          aria-describedby={problems.value.length > 0 ? `${id}-p` : undefined}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          value={text}
          onInput={(event) => type(event.currentTarget.value)}
          onBlur={settle}
          onScroll={follow}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.metaKey || event.ctrlKey || event.shiftKey) return;
            const { selectionStart, selectionEnd, value } = event.currentTarget;
            const indent = indentAt(value, selectionStart);
            if (indent === "") return;
            event.preventDefault();
            event.currentTarget.setRangeText(`\n${indent}`, selectionStart, selectionEnd, "end");
            type(event.currentTarget.value);
          }}
        />
      </div>
      {problems.value.length > 0 && (
        <ul class="editor-problems" id={`${id}-p`}>
          {problems.value.slice(0, 8).map(({ line, at, message }) => (
            <li key={`${at}${message}`}>
              <button type="button" class="err" onClick={() => goTo(at)}>
                <Icon name="warn" small />
                <span class="num">line {line}</span>
                <span>
                  <ServerText text={message} />
                </span>
              </button>
            </li>
          ))}
          {problems.value.length > 8 && <li class="hint">and {problems.value.length - 8} more</li>}
        </ul>
      )}
    </div>
  );
}

/** Returns the indent of a line that is begun at a place. */
function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  const indent = /^[ \t]*/.exec(line)?.[0] ?? "";
  return /[[{]\s*$/.test(line) ? `${indent}  ` : indent;
}

/** Returns what is wrong with the text, or with the value in it, in the order of the lines. */
function problemsOf(document: EditedDocument): readonly Problem[] {
  const error = document.error.value;
  if (error) return [{ line: error.line, at: error.at, message: error.message }];
  const found = document.problems.value;
  if (found.length === 0) return [];
  const { text } = document;
  const parsed = parseJson(text);
  if ("error" in parsed) return [{ line: parsed.error.line, at: parsed.error.at, message: parsed.error.message }];
  return found
    .map(({ path, message, isMissing }) => {
      // A member that is missing is named at the object that lacks it.
      const node = nodeAt(parsed.node, isMissing ? path.slice(0, -1) : path);
      const at = node?.start ?? 0;
      const { line } = placeOf(text, at);
      return { line, at, message: `${pathText(path)} ${message}`.trim() };
    })
    .sort((one, other) => one.at - other.at);
}
