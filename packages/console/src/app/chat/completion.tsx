import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId } from "preact/hooks";
import type { Verbs } from "../../api.ts";
import { ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";

const waitMs = 120;
const mostShown = 6;

/** A field for an argument of a server, which offers values while the person types. */
export function CompletedField(props: {
  readonly server: string;
  readonly of: Verbs["complete"]["takes"]["ref"];
  readonly name: string;
  readonly hint?: string | undefined;
  readonly isRequired: boolean;
  readonly isInvalid?: boolean;
  readonly value: string;
  readonly known: { readonly [name: string]: string };
  readonly onChange: (value: string) => void;
}): JSX.Element {
  const page = usePage();
  const { server, of, name, hint, isRequired, isInvalid, value, known, onChange } = props;
  const id = useId();
  const values = useSignal<readonly string[]>([]);
  const isActive = useSignal(false);
  useEffect(() => {
    if (!isActive.value) return;
    const ended = new AbortController();
    const timer = setTimeout(() => {
      const { [name]: _, ...others } = known;
      page.api
        .read("complete", { server, ref: of, argument: { name, value }, known: others }, ended.signal)
        .then((reply) => {
          values.value = reply.values.filter((one) => one !== value).slice(0, mostShown);
        })
        // Without completion, the person types the value.
        .catch(() => {});
    }, waitMs);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [value, isActive.value]);
  const [first] = values.value;
  return (
    <div class="field completed">
      <label for={id}>
        <ServerText text={name} />
        <span class="type">{isRequired ? "required" : "optional"}</span>
      </label>
      <input
        id={id}
        class={value === "" && !isRequired ? "in ghost" : "in"}
        dir="auto"
        autocomplete="off"
        value={value}
        placeholder={isRequired ? "" : "not sent"}
        aria-invalid={isInvalid || undefined}
        aria-describedby={`${id}-hint`}
        onFocus={() => {
          isActive.value = true;
        }}
        onBlur={() => {
          isActive.value = false;
        }}
        onInput={(event) => onChange(event.currentTarget.value)}
        onKeyDown={(event) => {
          const isCompletion =
            event.key === "Tab" && !event.shiftKey && first?.toLowerCase().startsWith(value.toLowerCase());
          if (!isCompletion || value === "" || first === undefined) return;
          event.preventDefault();
          values.value = [];
          onChange(first);
        }}
      />
      <p id={`${id}-hint`} class={isInvalid ? "err" : "hint"}>
        {isInvalid ? "This argument is needed." : hint !== undefined && <ServerText text={hint} />}
      </p>
      {isActive.value && values.value.length > 0 && (
        <ul class="completions" aria-label={`Values for ${name}`}>
          {values.value.map((one, index) => (
            <li key={one}>
              <button
                type="button"
                class="chip"
                // The field keeps the focus, and so the list stays until the click has come.
                onPointerDown={(event) => event.preventDefault()}
                onClick={() => {
                  values.value = [];
                  onChange(one);
                }}
              >
                <span class="cut">
                  <ServerText text={one} />
                </span>
                {index === 0 && value !== "" && <kbd aria-hidden="true">Tab</kbd>}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
