import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { partsOfCode } from "../parts/code.tsx";
import { parseJson, printJson } from "../parts/json/document.ts";
import { ServerText } from "../parts/quoted.tsx";

/** More members are counted only. */
const maxMembers = 40;

/** The members of a JSON object with the text of each value as it was written. Undefined if it is no object. */
export function membersOf(text: string): readonly (readonly [name: string, value: string])[] | undefined {
  const parsed = parseJson(text.trim() === "" ? "{}" : text);
  if ("error" in parsed || parsed.node.kind !== "object") return undefined;
  return parsed.node.members.map(({ name, value }) => [name, printJson(value)]);
}

/** The arguments of a call in one line, without quotes. */
export function argumentsLine(text: string): string {
  const members = membersOf(text);
  if (!members) return text;
  return members.map(([name, value]) => `${name}: ${value.replace(/^"(.*)"$/s, "$1").replace(/\s+/g, " ")}`).join(", ");
}

/** The arguments of a call, one row for each. */
export function ArgumentList({ text }: { text: string }): JSX.Element {
  const members = useMemo(() => membersOf(text), [text]);
  if (!members) return <JsonText text={text} />;
  if (members.length === 0) return <p class="t3">No arguments</p>;
  return (
    <>
      <dl class="kv">
        {members.slice(0, maxMembers).map(([name, value]) => (
          <div key={name}>
            <dt>
              <ServerText text={name} />
            </dt>
            <dd>
              <JsonText text={value} isInline />
            </dd>
          </div>
        ))}
      </dl>
      {members.length > maxMembers && <p class="hint">and {members.length - maxMembers} more</p>}
    </>
  );
}

/** JSON with its values tinted. */
export function JsonText({ text, isInline }: { text: string; isInline?: boolean }): JSX.Element {
  const parts = useMemo(() => partsOfCode(text.slice(0, maxTintedChars)), [text]);
  const inside = (
    <>
      {parts.map(({ text: part, kind }, index) => (
        <ServerText key={index} text={part} lines="keep" {...(kind ? { class: kind } : {})} />
      ))}
      {text.slice(maxTintedChars)}
    </>
  );
  if (isInline) return <code>{inside}</code>;
  return (
    <pre class="code well wrap" dir="ltr">
      {inside}
    </pre>
  );
}

const maxTintedChars = 4_000;
