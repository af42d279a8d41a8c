import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Verbs } from "../../../api.ts";
import { ServerText } from "../../parts/quoted.tsx";
import { usePage } from "../../state/console.ts";

const waitMs = 120;

/** A field whose server proposes values while a person types. */
export function CompletedInput(props: {
  readonly server: string;
  readonly reference: Verbs["complete"]["takes"]["ref"];
  readonly name: string;
  readonly value: string;
  readonly isRequired: boolean;
  readonly description?: string | undefined;
  readonly known: { readonly [name: string]: string };
  readonly onChange: (value: string) => void;
}): JSX.Element {
  const { server, reference, name, value, isRequired, description, known, onChange } = props;
  const page = usePage();
  const id = useId();
  const proposals = useSignal<{ readonly values: readonly string[]; readonly hasMore: boolean }>({
    values: [],
    hasMore: false,
  });
  const chosen = useSignal(-1);
  const isOpen = useSignal(false);
  const isSilent = useRef(false);
  useEffect(() => {
    if (!isOpen.value || isSilent.current) return;
    const life = new AbortController();
    const timer = setTimeout(() => {
      page.api.read("complete", { server, ref: reference, argument: { name, value }, known }, life.signal).then(
        (given) => {
          proposals.value = given;
          chosen.value = -1;
        },
        () => {
          // A server without proposals for this argument: it is an ordinary field then.
          if (!life.signal.aborted) isSilent.current = true;
        },
      );
    }, waitMs);
    return () => {
      clearTimeout(timer);
      life.abort();
    };
  }, [value, isOpen.value]);
  const { values, hasMore } = proposals.value;
  const shown = isOpen.value ? values.filter((each) => each !== value).slice(0, 8) : [];
  const take = (text: string) => {
    onChange(text);
    isOpen.value = false;
  };
  return (
    <div class="field" data-kind="string">
      <label for={id}>
        <ServerText text={name} />
        <span class="type">{isRequired ? "needed" : "optional"}</span>
      </label>
      <div class="combo">
        <input
          id={id}
          class="in mono"
          role="combobox"
          aria-expanded={shown.length > 0}
          aria-controls={`${id}-l`}
          aria-autocomplete="list"
          aria-activedescendant={chosen.value >= 0 ? `${id}-${chosen.value}` : undefined}
          aria-required={isRequired || undefined}
          autocomplete="off"
          spellcheck={false}
          dir="auto"
          value={value}
          onFocus={() => (isOpen.value = true)}
          onBlur={() => (isOpen.value = false)}
          onInput={(event) => {
            isOpen.value = true;
            onChange(event.currentTarget.value);
          }}
          onKeyDown={(event) => {
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (step !== undefined && shown.length > 0) {
              event.preventDefault();
              chosen.value = (chosen.value + step + shown.length) % shown.length;
            } else if (event.key === "Enter" && chosen.value >= 0 && shown[chosen.value] !== undefined) {
              event.preventDefault();
              event.stopPropagation();
              take(shown[chosen.value] as string);
            } else if (event.key === "Escape") isOpen.value = false;
          }}
        />
        <div
          class="proposals pop"
          id={`${id}-l`}
          role="listbox"
          aria-label={`Proposals for ${name}`}
          hidden={shown.length === 0}
        >
          {shown.map((each, at) => (
            <div
              key={each}
              id={`${id}-${at}`}
              class="opt"
              role="option"
              tabIndex={-1}
              aria-selected={at === chosen.value}
              onMouseDown={(event) => {
                event.preventDefault();
                take(each);
              }}
            >
              <span class="cut mono">
                <ServerText text={each} />
              </span>
            </div>
          ))}
          {hasMore && <div class="small t3 more">and more</div>}
        </div>
      </div>
      {description !== undefined && (
        <div class="hint words" dir="auto">
          <ServerText text={description} lines="keep" />
        </div>
      )}
    </div>
  );
}
