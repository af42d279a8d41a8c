import type { JSX } from "preact";

/** One of a few choices. `N` are their names. */
export interface Choice<N extends string> {
  readonly name: N;
  readonly label: string;
  readonly count?: number;
}

interface ChoicesProps<N extends string> {
  /** Said to screen readers. */
  readonly label: string;
  readonly choices: readonly Choice<N>[];
  readonly value: N;
  readonly onChange: (name: N) => void;
}

/** Tabs over a pane, by arrow keys. The pane has `role="tabpanel"` and `id={panel}` if it is given. */
export function Tabs<N extends string>(props: ChoicesProps<N> & { readonly panel?: string }): JSX.Element {
  return <Choices {...props} class="tabs" role="tablist" itemRole="tab" />;
}

/** Two to six choices that look like one control. */
export function Segments<N extends string>(props: ChoicesProps<N>): JSX.Element {
  return <Choices {...props} class="seg" role="radiogroup" itemRole="radio" />;
}

function Choices<N extends string>(
  props: ChoicesProps<N> & {
    readonly class: string;
    readonly role: "tablist" | "radiogroup";
    readonly itemRole: "tab" | "radio";
    readonly panel?: string;
  },
): JSX.Element {
  const { label, choices, value, onChange, role, itemRole, panel } = props;
  const move = (event: KeyboardEvent) => {
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = choices.findIndex(({ name }) => name === value);
    const next = choices[(at + step + choices.length) % choices.length];
    if (!next) return;
    onChange(next.name);
    const items = (event.currentTarget as HTMLElement).children;
    (items[choices.indexOf(next)] as HTMLElement | undefined)?.focus();
  };
  return (
    <div class={props.class} role={role} aria-label={label} onKeyDown={move}>
      {choices.map(({ name, label: words, count }) => (
        <button
          key={name}
          type="button"
          role={itemRole}
          aria-selected={itemRole === "tab" ? name === value : undefined}
          aria-checked={itemRole === "radio" ? name === value : undefined}
          aria-controls={name === value ? panel : undefined}
          tabIndex={name === value ? 0 : -1}
          onClick={() => onChange(name)}
        >
          {words}
          {count !== undefined && <span class="n">{count}</span>}
        </button>
      ))}
    </div>
  );
}

const steps: { readonly [key: string]: number } = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 };
