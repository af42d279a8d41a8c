import type { DefinitionChange } from "portolan-host";
import type { JSX } from "preact";
import { Icon } from "../../parts/icon.tsx";
import { ServerText } from "../../parts/quoted.tsx";

/** More places are counted only. */
const maxChanges = 50;

/** The places where a definition differs, the old value over the new one. */
export function DefinitionChanges({
  server,
  diff,
}: {
  server: string;
  diff: readonly DefinitionChange[];
}): JSX.Element {
  return (
    <figure class="diff">
      {diff.slice(0, maxChanges).map(({ path, before, after }, index) => (
        <div key={index} class="diff-place">
          <p class="mono t2">
            <ServerText text={path === "" ? "the whole definition" : path} />
          </p>
          {before !== undefined && <Line sign="-" value={before} />}
          {after !== undefined && <Line sign="+" value={after} />}
        </div>
      ))}
      {diff.length > maxChanges && <p class="hint">and {diff.length - maxChanges} more places</p>}
      <figcaption class="hint row">
        <Icon name="quote" small /> Written by <ServerText text={server} />
      </figcaption>
    </figure>
  );
}

function Line({ sign, value }: { sign: "-" | "+"; value: unknown }): JSX.Element {
  const text = typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "");
  const inside = (
    <pre>
      <ServerText text={text} lines="keep" />
    </pre>
  );
  return (
    <div class="diff-line" data-sign={sign}>
      <span role="img" aria-label={sign === "-" ? "Before" : "After"}>
        {sign === "-" ? "−" : "+"}
      </span>
      {sign === "-" ? <del>{inside}</del> : <ins>{inside}</ins>}
    </div>
  );
}
