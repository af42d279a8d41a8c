import type { ComponentChildren, JSX, Ref } from "preact";
import { Icon, type IconName } from "./icon.tsx";

/** Options of a button. A button without words needs a `label`. */
export interface ButtonProps {
  readonly icon?: IconName;
  readonly children?: ComponentChildren;
  readonly label?: string;
  /** The key that does the same, shown as its last part. */
  readonly keys?: string;
  readonly tone?: "primary" | "quiet" | "danger" | "quiet danger" | "link";
  readonly size?: "small" | "large";
  readonly isBusy?: boolean;
  readonly disabled?: boolean;
  readonly class?: string;
  readonly href?: string;
  /** The link opens a new tab, which learns nothing of this one. */
  readonly isElsewhere?: boolean;
  readonly title?: string;
  readonly expanded?: boolean;
  readonly pressed?: boolean;
  readonly popup?: "menu" | "dialog" | "listbox";
  readonly controls?: string;
  readonly buttonRef?: Ref<HTMLButtonElement>;
  readonly onClick?: (event: MouseEvent) => void;
}

/** A button, or a link that looks like one. */
export function Button(props: ButtonProps): JSX.Element {
  const { icon, children, label, keys, tone = "", size = "", isBusy, disabled, href, onClick } = props;
  const isIconOnly = children === undefined;
  const classes = ["btn", tone, size, isIconOnly ? "icon-only" : "", props.class ?? ""].filter(Boolean).join(" ");
  const inside = (
    <>
      {isBusy ? <span class="spin" /> : icon && <Icon name={icon} />}
      {children}
      {keys && <kbd aria-hidden="true">{keys}</kbd>}
    </>
  );
  const shared = { class: classes, "aria-label": label, title: props.title ?? (isIconOnly ? label : undefined) };
  if (href !== undefined) {
    return (
      <a {...shared} href={href} onClick={onClick} {...(props.isElsewhere ? elsewhere : {})}>
        {inside}
      </a>
    );
  }
  return (
    <button
      {...shared}
      type="button"
      {...(props.buttonRef ? { ref: props.buttonRef } : {})}
      disabled={disabled}
      aria-busy={isBusy}
      aria-expanded={props.expanded}
      aria-pressed={props.pressed}
      aria-haspopup={props.popup}
      aria-controls={props.controls}
      aria-keyshortcuts={keys}
      onClick={isBusy ? undefined : onClick}
    >
      {inside}
    </button>
  );
}

const elsewhere = { target: "_blank", rel: "noopener noreferrer" } as const;

/** On and off. */
export function Switch(props: {
  readonly label: string;
  readonly isOn: boolean;
  readonly disabled?: boolean;
  readonly onChange: (isOn: boolean) => void;
}): JSX.Element {
  const { label, isOn, disabled, onChange } = props;
  return (
    <button
      type="button"
      class="switch"
      role="switch"
      aria-checked={isOn}
      aria-label={label}
      disabled={disabled}
      onClick={() => onChange(!isOn)}
    />
  );
}
