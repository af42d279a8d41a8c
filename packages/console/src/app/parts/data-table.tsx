import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button } from "./button.tsx";
import { type JsonArrayNode, type JsonNode, memberOf, printJson } from "./json/document.ts";
import { ServerText } from "./quoted.tsx";

const maxColumns = 24;
const firstRows = 12;
const rowStep = 200;
const longestCell = 200;

/** Returns the array of objects in a result that a table can show: the value itself, or its only large member. */
export function rowsIn(node: JsonNode | undefined): JsonArrayNode | undefined {
  if (node?.kind === "array") return isTable(node) ? node : undefined;
  if (node?.kind !== "object") return undefined;
  const tables = node.members.map(({ value }) => value).filter((value) => value.kind === "array" && isTable(value));
  return tables.length === 1 && node.members.length <= 4 ? (tables[0] as JsonArrayNode) : undefined;
}

function isTable(node: JsonArrayNode): boolean {
  return (
    node.items.length > 0 && node.items.slice(0, 50).every((item) => item.kind === "object" && item.members.length > 0)
  );
}

/** An array of objects as a table. Numbers keep their digits. */
export function DataTable({ node, label }: { node: JsonArrayNode; label: string }): JSX.Element {
  const [shown, setShown] = useState(firstRows);
  const columns = useMemo(() => columnsOf(node), [node]);
  const total = node.items.length;
  const left = columns.all - columns.names.length;
  return (
    <>
      <div class="table-box" tabIndex={0} role="region" aria-label={label}>
        <table class="tbl">
          <thead>
            <tr>
              {columns.names.map((name) => (
                <th key={name} scope="col" class={columns.numeric.has(name) ? "right" : undefined}>
                  <ServerText text={name} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {node.items.slice(0, shown).map((item, at) => (
              <tr key={at}>
                {columns.names.map((name) => (
                  <Cell key={name} node={memberOf(item, name)} isNumeric={columns.numeric.has(name)} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {(total > firstRows || left > 0) && (
        <div class="table-foot small t3">
          <span class="num">
            {Math.min(shown, total).toLocaleString("en")} of {total.toLocaleString("en")} rows
            {left > 0 && `, ${left} more columns in the tree`}
          </span>
          {shown < total && (
            <Button tone="link" onClick={() => setShown(shown + rowStep)}>
              {total - shown <= rowStep ? "Show all" : `Show ${rowStep} more`}
            </Button>
          )}
        </div>
      )}
    </>
  );
}

function Cell({ node, isNumeric }: { node: JsonNode | undefined; isNumeric: boolean }): JSX.Element {
  if (node === undefined) return <td class="t3" />;
  if (node.kind === "string") {
    const text = node.value.length > longestCell ? `${node.value.slice(0, longestCell)}…` : node.value;
    return (
      <td class={isNumeric ? "right" : undefined}>
        <ServerText text={text} />
      </td>
    );
  }
  if (node.kind === "number") return <td class="right num">{node.text}</td>;
  if (node.kind === "null") return <td class="t3">null</td>;
  if (node.kind === "boolean") return <td>{node.text}</td>;
  const text = printJson(node).replace(/\s+/g, " ");
  return (
    <td class="mono t2">
      <ServerText text={text.length > 60 ? `${text.slice(0, 60)}…` : text} />
    </td>
  );
}

function columnsOf(node: JsonArrayNode) {
  const counts = new Map<string, number>();
  for (const item of node.items.slice(0, 200)) {
    if (item.kind !== "object") continue;
    for (const { name, value } of item.members) {
      counts.set(name, (counts.get(name) ?? 0) + (value.kind === "number" ? 1 : value.kind === "null" ? 0 : -1_000));
    }
  }
  const all = [...counts.keys()];
  return {
    names: all.slice(0, maxColumns),
    all: all.length,
    numeric: new Set(all.filter((name) => (counts.get(name) ?? 0) > 0)),
  };
}
