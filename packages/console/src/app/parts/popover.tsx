import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button, type ButtonProps } from "./button.tsx";
import { Icon } from "./icon.tsx";

/** A window over the page. The focus goes into it, and back where it was when it closes. */
export function Dialog(props: {
  readonly title: string;
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
  readonly footer?: ComponentChildren;
  readonly onClose: () => void;
}): JSX.Element {
  const { title, children, footer, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    const element = dialog.current;
    element?.showModal();
    return () => {
      // The page takes no focus as long as the dialog is open.
      element?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={props.isWide ? "dialog pop wide" : "dialog pop"}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div class="frame">
        <header>
          <h2 class="grow cut">{title}</h2>
          <Button tone="quiet" icon="x" label="Close" onClick={onClose} />
        </header>
        <div class="body">{children}</div>
        {footer && <footer>{footer}</footer>}
      </div>
    </dialog>
  );
}

/** A button that opens a menu of `MenuItem`s, or of anything else, beside it. */
export function MenuButton(props: {
  readonly button: ButtonProps;
  /** "menu" for items that act, "dialog" for anything else. Default: "menu". */
  readonly of?: "menu" | "dialog";
  readonly label: string;
  readonly children: (close: () => void) => ComponentChildren;
}): JSX.Element {
  const { button, of = "menu", label, children } = props;
  const hasCaret = typeof button.children === "string" && button.icon !== "updown";
  const shown: ButtonProps = !hasCaret
    ? button
    : {
        ...button,
        children: (
          <>
            {button.children} <Icon name="down" small />
          </>
        ),
      };
  const [isOpen, setOpen] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    opener.current?.focus();
  };
  return (
    <>
      <Button {...shown} buttonRef={opener} popup={of} expanded={isOpen} onClick={() => setOpen(!isOpen)} />
      {isOpen && opener.current && (
        <Popover of={of} label={label} anchor={opener.current} onClose={close} onLeave={() => setOpen(false)}>
          {children(close)}
        </Popover>
      )}
    </>
  );
}

/** A panel that floats beside an element. Escape and a click elsewhere close it; arrow keys go through its items. */
export function Popover(props: {
  readonly of: "menu" | "dialog";
  readonly label: string;
  readonly anchor: HTMLElement;
  readonly children: ComponentChildren;
  /** Closed by the person: the focus returns. */
  readonly onClose: () => void;
  /** The person has gone elsewhere. */
  readonly onLeave: () => void;
}): JSX.Element {
  const { of, label, anchor, children, onClose, onLeave } = props;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    element.showPopover();
    place(element, anchor);
    itemsOf(element)[0]?.focus();
  }, []);
  useEffect(() => {
    const leave = (event: Event) => {
      const { target } = event;
      if (target instanceof Node && !box.current?.contains(target) && !anchor.contains(target)) onLeave();
    };
    document.addEventListener("pointerdown", leave);
    addEventListener("resize", onLeave);
    return () => {
      document.removeEventListener("pointerdown", leave);
      removeEventListener("resize", onLeave);
    };
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" || (event.key === "Tab" && of === "menu")) {
      event.preventDefault();
      event.stopPropagation();
      onClose();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || !box.current || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    const items = itemsOf(box.current);
    const at = items.indexOf(document.activeElement as HTMLElement);
    items[(at + step + items.length) % items.length]?.focus();
  };
  return (
    <div ref={box} class="menu pop" role={of} aria-label={label} popover="manual" onKeyDown={onKeyDown}>
      {children}
    </div>
  );
}

/** One thing that a menu can do. */
export function MenuItem(props: {
  readonly icon?: ComponentChildren;
  readonly isDanger?: boolean;
  readonly checked?: boolean;
  readonly disabled?: boolean;
  readonly children: ComponentChildren;
  readonly onClick: () => void;
}): JSX.Element {
  const { icon, isDanger, checked, disabled, children, onClick } = props;
  return (
    <button
      type="button"
      class={isDanger ? "opt danger" : "opt"}
      role={checked === undefined ? "menuitem" : "menuitemradio"}
      aria-checked={checked}
      disabled={disabled}
      onClick={onClick}
    >
      {icon}
      {children}
    </button>
  );
}

function itemsOf(element: HTMLElement): HTMLElement[] {
  return [...element.querySelectorAll<HTMLElement>("button:not([disabled]), a[href], input, select, textarea")];
}

const gap = 4;

/** Puts an element below its anchor, or above it, inside the window. */
function place(element: HTMLElement, anchor: HTMLElement): void {
  const from = anchor.getBoundingClientRect();
  const { width, height } = element.getBoundingClientRect();
  const isBelow = from.bottom + gap + height <= innerHeight || from.top < innerHeight - from.bottom;
  const isAtEnd = from.left + width > innerWidth - 8;
  const top = isBelow ? from.bottom + gap : from.top - gap - height;
  const left = isAtEnd ? from.right - width : from.left;
  element.style.top = `${Math.max(8, Math.min(top, innerHeight - height - 8))}px`;
  element.style.left = `${Math.max(8, left)}px`;
}
