import { useSignal } from "@preact/signals";
import type { CallToolResult, ContentBlock, ReadResourceResult } from "portolan";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { CallRecord, CallResultHead } from "../../api.ts";
import { Badge, Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { BlobContent } from "../parts/content.tsx";
import { Icon } from "../parts/icon.tsx";
import { type JsonNode, parseJson, printJson } from "../parts/json/document.ts";
import { JsonTree } from "../parts/json/json-tree.tsx";
import { safeAddress } from "../parts/link.ts";
import { Quoted, ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";
import { ArgumentList, JsonText } from "./arguments.tsx";

/** Rows of an array of objects with the columns that they have. */
export interface ResultTable {
  readonly columns: readonly string[];
  readonly rows: readonly { readonly [column: string]: unknown }[];
  /** The member that has the rows; empty for the whole result. */
  readonly from: string;
}

const maxColumns = 12;
const firstRows = 5;
const moreRows = 200;
const shortChars = 280;
const maxTextChars = 20_000;

/** True for a result that takes a few lines only. */
export function isShort(result: CallToolResult): boolean {
  if (result.structuredContent !== undefined && JSON.stringify(result.structuredContent).length > shortChars)
    return false;
  return result.content.every((block) => block.type !== "text" || block.text.length <= shortChars);
}

/** The data of a result as JSON text: its structured content, or its only text if that is JSON. */
export function dataOf({ structuredContent, content }: CallToolResult): string | undefined {
  if (structuredContent !== undefined) return JSON.stringify(structuredContent);
  // Servers of older revisions have no other way to give data.
  const [only] = content;
  return content.length === 1 && only?.type === "text" && nodeOf(only.text) ? only.text : undefined;
}

/** The object or array that a text is, if it is JSON. */
function nodeOf(text: string): JsonNode | undefined {
  if (!/^\s*[[{]/.test(text) || text.length > maxTextChars) return undefined;
  const parsed = parseJson(text);
  return "node" in parsed ? parsed.node : undefined;
}

/** Finds an array of objects in the data of a result: itself, or its only member that is one. */
export function tableOf(result: CallToolResult): ResultTable | undefined {
  const data = dataOf(result);
  // A table of numbers that lose digits would say something else than the server.
  if (data === undefined || /\d{16}/.test(data)) return undefined;
  const value: unknown = JSON.parse(data);
  if (isRows(value)) return toTable(value, "");
  if (typeof value !== "object" || value === null) return undefined;
  const found = Object.entries(value).filter(([, member]) => isRows(member));
  const [only] = found;
  return found.length === 1 && only ? toTable(only[1] as ResultTable["rows"], only[0]) : undefined;
}

function isRows(value: unknown): value is ResultTable["rows"] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((row) => typeof row === "object" && row !== null && !Array.isArray(row));
}

function toTable(rows: ResultTable["rows"], from: string): ResultTable | undefined {
  const columns = [...new Set(rows.slice(0, moreRows).flatMap((row) => Object.keys(row)))];
  if (columns.length === 0 || columns.length > maxColumns) return undefined;
  return { columns, rows, from };
}

/** True for an object of a few simple values, which reads better as rows. */
function isFlat(node: JsonNode): boolean {
  if (node.kind !== "object" || node.members.length === 0 || node.members.length > 16) return false;
  return node.members.every(({ value }) => value.kind !== "object" && value.kind !== "array");
}

/** The result of a call as what it is: a table, texts, pictures, sounds, links. */
export function ResultView({ record, head }: { record: CallRecord; head: CallResultHead }): JSX.Element {
  const { result, schemaProblems, isWhole, chars } = head;
  const table = useMemo(() => tableOf(result), [result]);
  const data = useMemo(() => dataOf(result), [result]);
  // A text beside structured content says the same in other words.
  const shown = result.content.flatMap((block, index) =>
    data !== undefined && block.type === "text" ? [] : [{ block, index }],
  );
  return (
    <>
      {schemaProblems.length > 0 && (
        <div class="body">
          <Note tone="warn">
            <p>The result is not what the tool promises:</p>
            <ul>
              {schemaProblems.slice(0, 5).map((problem) => (
                <li key={problem}>
                  <ServerText text={problem} />
                </li>
              ))}
            </ul>
          </Note>
        </div>
      )}
      {table ? (
        <RowTable table={table} />
      ) : (
        data !== undefined && (
          <div class="body">
            <Data text={data} />
          </div>
        )
      )}
      {shown.length > 0 && (
        <div class="body stack">
          {shown.map(({ block, index }) => (
            <ContentView key={index} block={block} server={record.server} call={record.id} index={index} />
          ))}
        </div>
      )}
      {result.content.length === 0 && data === undefined && (
        <p class="body t3">{result.isError ? "The tool failed without a word." : "The result is empty."}</p>
      )}
      {!isWhole && <WholeResult call={record.id} chars={chars} />}
    </>
  );
}

/** An object of a few simple values as rows, everything else as a tree. */
function Data({ text }: { text: string }): JSX.Element {
  const node = useMemo(() => {
    const parsed = parseJson(text);
    return "node" in parsed ? parsed.node : undefined;
  }, [text]);
  if (node === undefined) return <JsonText text={text} />;
  return isFlat(node) ? <ArgumentList text={text} /> : <JsonTree node={node} label="Data of the result" />;
}

function RowTable({ table }: { table: ResultTable }): JSX.Element {
  const isAll = useSignal(false);
  const { columns, rows } = table;
  const shown = rows.slice(0, isAll.value ? moreRows : firstRows);
  return (
    <>
      <div class="result-table" tabIndex={0} role="region" aria-label="Rows of the result">
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} data-align={isNumeric(column, rows) ? "right" : undefined}>
                  <ServerText text={column} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, index) => (
              <tr key={index}>
                {columns.map((column) => (
                  <td key={column} data-align={isNumeric(column, rows) ? "right" : undefined}>
                    <Cell value={row[column]} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > firstRows && (
        <p class="table-foot small t3">
          <span class="num">
            {shown.length} of {rows.length} rows
          </span>
          <Button
            tone="link"
            onClick={() => {
              isAll.value = !isAll.value;
            }}
          >
            {isAll.value ? "Show less" : rows.length > moreRows ? `Show ${moreRows}` : "Show all"}
          </Button>
        </p>
      )}
    </>
  );
}

function isNumeric(column: string, rows: ResultTable["rows"]): boolean {
  return rows.slice(0, firstRows).every((row) => typeof row[column] === "number");
}

function Cell({ value }: { value: unknown }): JSX.Element | null {
  if (value === undefined || value === null) return <span class="t3">–</span>;
  if (typeof value === "string") return <ServerText text={value.length > 200 ? `${value.slice(0, 200)}…` : value} />;
  if (typeof value === "boolean") return <>{value ? "yes" : "no"}</>;
  if (typeof value === "number") return <>{value.toLocaleString("en", { maximumFractionDigits: 6 })}</>;
  const text = shortText(value);
  return (
    <span title={JSON.stringify(value).slice(0, 1_000)}>
      <ServerText text={text} />
    </span>
  );
}

/** The simple values inside another value, in one line. */
function shortText(value: object): string {
  const simple = Object.values(value).filter((item) => typeof item === "string" || typeof item === "number");
  const shown = simple.slice(0, 6).join(", ");
  return shown === "" ? JSON.stringify(value).slice(0, 80) : simple.length > 6 ? `${shown}…` : shown;
}

/** One block of content of a server. */
export function ContentView(props: {
  block: ContentBlock;
  server: string;
  call?: string;
  index?: number;
}): JSX.Element {
  const { block, server, call, index } = props;
  switch (block.type) {
    case "text":
      return <LongText text={block.text} server={server} />;
    case "image":
    case "audio":
      return <Media block={block} server={server} call={call} index={index} />;
    case "resource_link":
      return <LinkedResource server={server} name={block.title ?? block.name} uri={block.uri} />;
    case "resource":
      return (
        <div class="stack">
          <ResourceChip server={server} name={block.resource.uri} uri={block.resource.uri} />
          {"text" in block.resource && <LongText text={String(block.resource.text)} server={server} />}
        </div>
      );
    default:
      return <JsonText text={JSON.stringify(block, undefined, 2)} />;
  }
}

/** A text of a server. JSON is laid out; a long text is cut until the person wants it all. */
export function LongText({ text, server }: { text: string; server: string }): JSX.Element {
  const isAll = useSignal(false);
  const json = useMemo(() => {
    const node = nodeOf(text);
    return node && printJson(node);
  }, [text]);
  const limit = isAll.value ? maxTextChars : 1_200;
  const given = json ?? text;
  const shown = given.length > limit ? `${given.slice(0, limit)}…` : given;
  return (
    <div>
      {json === undefined ? <Quoted by={server} text={shown} /> : <JsonText text={shown} />}
      {given.length > 1_200 && (
        <Button
          tone="link"
          onClick={() => {
            isAll.value = !isAll.value;
          }}
        >
          {isAll.value ? "Show less" : `Show more (${given.length.toLocaleString("en")} characters)`}
        </Button>
      )}
    </div>
  );
}

const pictures: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const sounds: readonly string[] = ["audio/mpeg", "audio/mp3", "audio/wav", "audio/x-wav", "audio/ogg", "audio/webm"];

/** A picture or a sound, of the kinds that a browser shows without running anything. */
function Media(props: {
  block: Extract<ContentBlock, { type: "image" | "audio" }>;
  server: string;
  call: string | undefined;
  index: number | undefined;
}): JSX.Element {
  const { block, server, call, index } = props;
  const page = usePage();
  const [data, setData] = useState(block.data);
  const address = useBlob(data, block.mimeType);
  const isKnown = [...pictures, ...sounds].includes(block.mimeType);
  const load = async () => {
    if (call === undefined || index === undefined) return;
    const { block: whole } = await page.api.read("content", { call, index });
    if (whole.type === "image" || whole.type === "audio") setData(whole.data);
  };
  if (!isKnown)
    return (
      <Note>
        A file of the type <ServerText text={block.mimeType} />, which is not shown here.
      </Note>
    );
  if (address === undefined) {
    return (
      <Button icon={block.type === "image" ? "image" : "play"} onClick={() => void page.attempt(load)}>
        Load the {block.type === "image" ? "picture" : "sound"}
      </Button>
    );
  }
  if (block.type === "image") {
    return <img class="picture" src={address} alt={`From ${server}, without a description`} />;
  }
  // biome-ignore lint/a11y/useMediaCaption: a server sends none.
  return <audio controls src={address} aria-label={`Sound from ${server}`} />;
}

/** The address of bytes for an element of the page, as long as it is shown. */
function useBlob(base64: string | undefined, type: string): string | undefined {
  const [address, setAddress] = useState<string | undefined>(undefined);
  useEffect(() => {
    const bytes = decode(base64);
    if (!bytes) return setAddress(undefined);
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [base64, type]);
  return address;
}

function decode(base64: string | undefined): Uint8Array<ArrayBuffer> | undefined {
  if (!base64) return undefined;
  try {
    return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function ResourceChip({ server, name, uri }: { server: string; name: string; uri: string }): JSX.Element {
  const address = safeAddress(uri);
  return (
    <span class="chip" title={uri}>
      <Icon name="file" />
      <span class="cut">
        {address === undefined ? (
          <ServerText text={name} />
        ) : (
          <a href={address} target="_blank" rel="noopener noreferrer">
            <ServerText text={name} />
          </a>
        )}
      </span>
      <Badge>
        <ServerText text={server} />
      </Badge>
    </span>
  );
}

/** A resource that a result names. It is read when the person wants to see it. */
function LinkedResource({ server, name, uri }: { server: string; name: string; uri: string }): JSX.Element {
  const page = usePage();
  const contents = useSignal<ReadResourceResult["contents"] | undefined>(undefined);
  const isBusy = useSignal(false);
  const toggle = async () => {
    if (contents.peek()) {
      contents.value = undefined;
      return;
    }
    isBusy.value = true;
    const read = await page.attempt(() => page.api.read("resource.read", { server, uri }));
    isBusy.value = false;
    if (read) contents.value = read.result.contents;
  };
  return (
    <div class="stack">
      <div class="row wrap">
        <ResourceChip server={server} name={name} uri={uri} />
        <Button size="small" icon="eye" isBusy={isBusy.value} pressed={contents.value !== undefined} onClick={toggle}>
          Preview
        </Button>
      </div>
      {contents.value?.map((content, at) =>
        "text" in content ? (
          <LongText key={at} text={content.text} server={server} />
        ) : (
          <BlobContent key={at} data={content.blob} type={content.mimeType ?? ""} label={content.uri} />
        ),
      )}
      {contents.value?.length === 0 && <p class="hint">There is nothing in it.</p>}
    </div>
  );
}

const pieceChars = 100_000;

/** Loads the rest of a large result in pieces. */
function WholeResult({ call, chars }: { call: string; chars: number }): JSX.Element {
  const page = usePage();
  const text = useSignal("");
  const load = async () => {
    const { text: piece } = await page.api.read("result", { call, from: text.peek().length, chars: pieceChars });
    text.value += piece;
  };
  return (
    <div class="body stack">
      {text.value !== "" && (
        <pre class="code well wrap tall" dir="ltr">
          <ServerText text={text.value} lines="keep" />
        </pre>
      )}
      {text.value.length < chars && (
        <Button size="small" onClick={() => void page.attempt(load)}>
          {text.value === "" ? "Show the whole result" : "Show more"} ({chars.toLocaleString("en")} characters)
        </Button>
      )}
    </div>
  );
}
