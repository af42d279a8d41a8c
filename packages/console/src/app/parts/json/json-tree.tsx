import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Icon } from "../icon.tsx";
import { ServerText } from "../quoted.tsx";
import { VirtualList } from "../virtual-list.tsx";
import type { JsonNode, JsonStep } from "./document.ts";

/** Children of a value that are shown at first, and more at each press. */
const childStep = 100;
const longestShown = 400;
const rowHeight = 24;
/** More rows than this are drawn only where they are seen. */
const manyRows = 200;

interface TreeRow {
  readonly key: string;
  readonly depth: number;
  readonly step: JsonStep | undefined;
  readonly node: JsonNode;
  /** The number of children that are not shown, in the row after the last one that is. */
  readonly more?: number;
}

/** A value as a tree that opens where a person looks. Only open parts cost anything. */
export function JsonTree({ node, label }: { node: JsonNode; label: string }): JSX.Element {
  const opened = useSignal<ReadonlyMap<string, number>>(new Map(firstOpened(node)));
  const selected = useSignal(-1);
  const rows = useMemo(() => rowsOf(node, opened.value), [node, opened.value]);
  const toggle = (index: number, open?: boolean) => {
    const row = rows[index];
    if (row === undefined) return;
    const next = new Map(opened.value);
    if (row.more !== undefined) next.set(row.key, (next.get(row.key) ?? 0) + childStep);
    else if (sizeOf(row.node) === 0) return;
    else if (next.has(row.key) && open !== true) next.delete(row.key);
    else if (!next.has(row.key) && open !== false) next.set(row.key, childStep);
    opened.value = next;
  };
  const draw = (index: number) => {
    const row = rows[index];
    return row && <Row row={row} isOpen={opened.value.has(row.key)} onToggle={() => toggle(index)} />;
  };
  return (
    <VirtualList
      class={rows.length > manyRows ? "jtree jcode" : "jtree jcode whole"}
      label={label}
      count={rows.length}
      height={rowHeight}
      selected={Math.min(selected.value, rows.length - 1)}
      onSelect={(index) => (selected.value = index)}
      onOpen={toggle}
      onKey={(event) => {
        if (event.key !== "ArrowRight" && event.key !== "ArrowLeft" && event.key !== " ") return false;
        toggle(selected.value, event.key === " " ? undefined : event.key === "ArrowRight");
        return true;
      }}
      levelOf={(index) => {
        const row = rows[index];
        const isOpen =
          row === undefined || row.more !== undefined || sizeOf(row.node) === 0 ? undefined : opened.value.has(row.key);
        return { level: (row?.depth ?? 0) + 1, isOpen };
      }}
      keyOf={(index) => `${rows[index]?.key}${rows[index]?.more ?? ""}`}
      row={draw}
    />
  );
}

/** Small values are open at once. */
function firstOpened(node: JsonNode): [string, number][] {
  const open: [string, number][] = [["", childStep]];
  if (sizeOf(node) > 20) return open;
  const children =
    node.kind === "object" ? node.members.map(({ value }) => value) : node.kind === "array" ? node.items : [];
  for (const [at, child] of children.entries())
    if (sizeOf(child) > 0 && sizeOf(child) <= 8) open.push([`/${at}`, childStep]);
  return open;
}

function rowsOf(root: JsonNode, opened: ReadonlyMap<string, number>): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const visit = (node: JsonNode, step: JsonStep | undefined, key: string, depth: number) => {
    rows.push({ key, depth, step, node });
    const shown = opened.get(key);
    if (shown === undefined) return;
    const size = sizeOf(node);
    for (let at = 0; at < Math.min(shown, size); at++) {
      if (node.kind === "object") {
        const member = node.members[at];
        if (member) visit(member.value, member.name, `${key}/${at}`, depth + 1);
      } else if (node.kind === "array") {
        const item = node.items[at];
        if (item) visit(item, at, `${key}/${at}`, depth + 1);
      }
    }
    if (size > shown) rows.push({ key, depth: depth + 1, step: undefined, node, more: size - shown });
  };
  visit(root, undefined, "", 0);
  return rows;
}

function sizeOf(node: JsonNode): number {
  return node.kind === "object" ? node.members.length : node.kind === "array" ? node.items.length : 0;
}

function Row({ row, isOpen, onToggle }: { row: TreeRow; isOpen: boolean; onToggle: () => void }): JSX.Element {
  const { node, depth, step, more } = row;
  const indent = { paddingInlineStart: `${depth * 16 + 4}px` };
  if (more !== undefined) {
    return (
      <div class="trow" style={indent}>
        <span class="btn link" onClick={onToggle}>
          Show {Math.min(childStep, more).toLocaleString("en")} of {more.toLocaleString("en")} more
        </span>
      </div>
    );
  }
  const size = sizeOf(node);
  return (
    <div class="trow" style={indent}>
      {size > 0 ? (
        <span class="fold" onClick={onToggle}>
          <Icon name={isOpen ? "down" : "right"} small />
        </span>
      ) : (
        <span class="fold" />
      )}
      {step !== undefined && (
        <span class={typeof step === "number" ? "t3" : "j-key"}>
          {typeof step === "number" ? step : <ServerText text={step} />}:
        </span>
      )}
      <Value node={node} isOpen={isOpen} size={size} />
    </div>
  );
}

function Value({ node, isOpen, size }: { node: JsonNode; isOpen: boolean; size: number }): JSX.Element {
  switch (node.kind) {
    case "object":
      if (size === 0) return <span class="t3">{"{}"}</span>;
      return (
        <span class="t3">
          {isOpen ? `${size.toLocaleString("en")} ${size === 1 ? "member" : "members"}` : `{ ${preview(node)} }`}
        </span>
      );
    case "array":
      return (
        <span class="t3">
          {size === 0 ? "[]" : `[ ${size.toLocaleString("en")} ${size === 1 ? "item" : "items"} ]`}
        </span>
      );
    case "string":
      return (
        <span class="j-string cut">
          <ServerText text={node.raw.length > longestShown ? `${node.raw.slice(0, longestShown)}…` : node.raw} />
        </span>
      );
    case "number":
      return <span class="j-number">{node.text}</span>;
    default:
      return <span class="j-literal">{node.text}</span>;
  }
}

function preview(node: JsonNode & { kind: "object" }): string {
  const names = node.members.slice(0, 4).map(({ name }) => (name.length > 24 ? `${name.slice(0, 24)}…` : name));
  return `${names.join(", ")}${node.members.length > 4 ? ", …" : ""}`;
}
