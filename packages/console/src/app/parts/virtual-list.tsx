import type { ComponentChildren, JSX, Ref } from "preact";
import { useEffect, useId, useImperativeHandle, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Options of a list of which only the visible rows exist in the page. */
export interface VirtualListProps {
  /** Said to screen readers. */
  readonly label: string;
  readonly count: number;
  /** Height of a row in pixels, or of each. */
  readonly height: number | ((index: number) => number);
  readonly row: (index: number) => ComponentChildren;
  readonly keyOf?: (index: number) => string | number;
  /** False for a row that is a heading and cannot be chosen. Default: all can. */
  readonly canSelect?: (index: number) => boolean;
  /** The chosen row, or -1. */
  readonly selected: number;
  readonly onSelect: (index: number) => void;
  /** The row was opened by Enter or a second click. */
  readonly onOpen?: (index: number) => void;
  /** Keys that the list does not use itself. Returns true if it did something. */
  readonly onKey?: (event: KeyboardEvent) => boolean;
  /** Stays at the end while rows are added, until the person scrolls away. */
  readonly follows?: boolean;
  /** A tree, whose rows say how deep they are and whether they are open. Default: a list. */
  readonly levelOf?: (index: number) => { readonly level: number; readonly isOpen: boolean | undefined };
  readonly onRange?: (first: number, last: number) => void;
  readonly class?: string;
  readonly handle?: Ref<VirtualListHandle>;
}

/** Moves a list from outside. */
export interface VirtualListHandle {
  focus(): void;
  show(index: number): void;
}

/** Rows that are drawn outside of the view, so that scrolling shows no gap. */
const spare = 6;

/** A list of which only the visible rows exist in the page. Arrow keys, J and K move, Enter opens. */
export function VirtualList(props: VirtualListProps): JSX.Element {
  const { count, selected, onSelect, follows = false } = props;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(follows);
  const [view, setView] = useState({ top: 0, height: 600 });
  const offsets = offsetsOf(props);
  const total = offsets(count);
  const first = Math.max(0, rowAt(offsets, count, view.top) - spare);
  const last = Math.min(count - 1, rowAt(offsets, count, view.top + view.height) + spare);

  const look = () => {
    const element = box.current;
    if (!element) return;
    const { scrollTop: top, clientHeight: height } = element;
    isAtEnd.current = follows && top + height >= element.scrollHeight - 4;
    setView((before) => (before.top === top && before.height === height ? before : { top, height }));
  };
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(look);
    observer.observe(element);
    look();
    return () => observer.disconnect();
  }, [follows]);
  useLayoutEffect(() => {
    if (follows && isAtEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [count, follows, total]);
  useEffect(() => props.onRange?.(first, last), [first, last, count]);

  const show = (index: number) => {
    const element = box.current;
    if (!element) return;
    const top = offsets(index);
    const bottom = offsets(index + 1);
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight;
  };
  useImperativeHandle(props.handle ?? null, () => ({ focus: () => box.current?.focus(), show }));

  const move = (from: number, step: 1 | -1, by: number) => {
    let next = Math.min(count - 1, Math.max(0, from + step * by));
    while (next >= 0 && next < count && props.canSelect?.(next) === false) next += step;
    if (next < 0 || next >= count) return;
    onSelect(next);
    show(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.metaKey || event.ctrlKey || event.altKey || count === 0) return;
    const page = Math.max(1, Math.floor(view.height / Math.max(1, total / count)) - 1);
    const jump = jumps(event.key, selected, count, page);
    if (jump !== undefined) move(...jump);
    else if (event.key === "Enter" && selected >= 0 && props.onOpen) props.onOpen(selected);
    else if (props.onKey?.(event) !== true) return;
    event.preventDefault();
  };
  const rows: JSX.Element[] = [];
  for (let index = first; index <= last; index++) {
    const canSelect = props.canSelect?.(index) !== false;
    const level = props.levelOf?.(index);
    rows.push(
      <div
        key={props.keyOf?.(index) ?? index}
        id={`${id}-${index}`}
        class="vrow"
        role={canSelect ? (level ? "treeitem" : "option") : "presentation"}
        aria-level={level?.level}
        aria-expanded={level?.isOpen}
        aria-selected={canSelect ? index === selected : undefined}
        aria-setsize={canSelect ? count : undefined}
        aria-posinset={canSelect ? index + 1 : undefined}
        style={{ top: `${offsets(index)}px`, height: `${offsets(index + 1) - offsets(index)}px` }}
        onClick={canSelect ? () => onSelect(index) : undefined}
        onDblClick={canSelect ? () => props.onOpen?.(index) : undefined}
      >
        {props.row(index)}
      </div>,
    );
  }
  return (
    <div
      ref={box}
      class={props.class === undefined ? "vlist" : `vlist ${props.class}`}
      role={props.levelOf ? "tree" : "listbox"}
      aria-label={props.label}
      tabIndex={0}
      aria-activedescendant={selected >= first && selected <= last ? `${id}-${selected}` : undefined}
      onScroll={look}
      onKeyDown={onKeyDown}
    >
      <div class="vlist-all" role="presentation" style={{ height: `${total}px` }}>
        {rows}
      </div>
    </div>
  );
}

/** Returns where to start from, in which direction, and how far a key goes. */
function jumps(
  key: string,
  selected: number,
  count: number,
  page: number,
): readonly [from: number, step: 1 | -1, by: number] | undefined {
  switch (key) {
    case "ArrowDown":
    case "j":
    case "J":
      return [selected, 1, 1];
    case "ArrowUp":
    case "k":
    case "K":
      return [selected === -1 ? count : selected, -1, 1];
    case "PageDown":
      return [selected, 1, page];
    case "PageUp":
      return [selected, -1, page];
    case "Home":
      return [0, 1, 0];
    case "End":
      return [count - 1, -1, 0];
    default:
      return undefined;
  }
}

const known = new WeakMap<object, { readonly count: number; readonly tops: Float64Array }>();

/** Returns a function for the place where a row begins. */
function offsetsOf({ height, count }: VirtualListProps): (index: number) => number {
  if (typeof height === "number") return (index) => index * height;
  const found = known.get(height);
  if (found?.count === count) return (index) => found.tops[index] ?? 0;
  const tops = new Float64Array(count + 1);
  for (let index = 0; index < count; index++) tops[index + 1] = (tops[index] as number) + height(index);
  known.set(height, { count, tops });
  return (index) => tops[index] ?? 0;
}

/** Returns the row at a place. */
function rowAt(offsets: (index: number) => number, count: number, top: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (offsets(middle + 1) <= top) low = middle + 1;
    else high = middle;
  }
  return low;
}
