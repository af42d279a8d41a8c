import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { ConnectionRecord, CopyFormat, MessageDetail } from "../../../api.ts";
import { Note } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Bones, ReadFailure } from "../../parts/empty.tsx";
import { type JsonNode, memberOf, parseJson, printJson } from "../../parts/json/document.ts";
import { JsonText } from "../../parts/json/json-text.tsx";
import { MenuButton, MenuItem } from "../../parts/popover.tsx";
import { ServerText } from "../../parts/quoted.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { usePage } from "../../state/console.ts";
import { goTo, hrefOf } from "../../state/route.ts";
import { SaveDialog } from "../save-dialog.tsx";
import { inspectState, type Loaded, load } from "../state.ts";
import { clockText, sizeText } from "../words.ts";
import { isRecorded, type TimelineLine } from "./lines.ts";
import { SendDialog } from "./send-dialog.tsx";

const formats: readonly (readonly [format: CopyFormat, words: string])[] = [
  ["curl", "curl"],
  ["command", "portolan command"],
  ["typescript", "TypeScript"],
  ["json", "JSON"],
];

type Part = "message" | "response" | "http";

/** One message as it was written, its response, its HTTP exchange, and what can be done with it. */
export function MessageDetailPane({
  connection,
  line,
}: {
  connection: ConnectionRecord;
  line: TimelineLine;
}): JSX.Element {
  const page = usePage();
  const state = inspectState(page);
  const { row, response } = line;
  const request = useMessage(connection.id, row.n);
  const answer = useMessage(connection.id, response?.n);
  // Of a call that failed the reason is wanted first.
  const part = useSignal<Part>(line.isError && response ? "response" : "message");
  const sending = useSignal<"edited" | "now" | "after-asking" | undefined>(undefined);
  const isSaving = useSignal(false);
  const node = useMemo(() => nodeOf(request.value), [request.value]);
  const params = memberOf(node, "params");
  const isCall = row.kind === "request" && row.title === "tools/call";
  const tool = memberOf(params, "name");
  const args = memberOf(params, "arguments");
  const argumentsText = args ? printJson(args) : "{}";
  const http = request.value?.http ?? answer.value?.http;
  const choices: { name: Part; label: string; count?: number }[] = [
    {
      name: "message",
      label:
        row.kind === "request"
          ? "Request"
          : row.lane === "stderr"
            ? "Line"
            : row.lane === "http"
              ? "Exchange"
              : "Message",
    },
    ...(response ? [{ name: "response" as const, label: "Response" }] : []),
    ...(http
      ? [{ name: "http" as const, label: "HTTP", count: http.requestHeaders.length + http.responseHeaders.length }]
      : []),
  ];
  const shown = part.value === "response" ? answer : request;
  const copy = async (as: CopyFormat) => {
    const given = await page.attempt(() => page.api.read("message.copy", { connection: connection.id, n: row.n, as }));
    if (given === undefined) return;
    const done = await page.attempt(async () => {
      await navigator.clipboard.writeText(given.text);
      return true;
    });
    if (done) page.toast("Copied.", { tone: "ok" });
  };
  /** What the server offers, if this page has read it. */
  const knownCatalog = () =>
    state.catalog(connection.server, page.store.servers.get(connection.server).peek()?.catalog ?? "").peek().value;
  const replay = () => {
    const name = tool?.kind === "string" ? tool.value : undefined;
    const reads = !isCall || knownCatalog()?.tools.some((each) => each.name === name && each.isReadOnly);
    sending.value = reads ? "now" : "after-asking";
  };
  const tryIt = () => {
    if (tool?.kind !== "string") return;
    const known = knownCatalog();
    const place = `${connection.server} ${tool.value}`;
    page.drafts.get<string | undefined>(`try:${place}`, undefined).value = argumentsText;
    state.forgetDocument(place);
    if (known && !known.tools.some(({ name }) => name === tool.value))
      page.toast("The server does not list this tool any more.");
    goTo(hrefOf("inspect", connection.server, "try", "tool", tool.value));
  };
  return (
    <section class="pane detail" aria-label="Message">
      <div class="pane-head wrap">
        {row.kind === "request" && row.lane === "client" && (
          <>
            {isCall && (
              <Button icon="tool" onClick={tryIt}>
                Open in Try
              </Button>
            )}
            {!isRecorded(connection) && (
              <>
                <Button icon="replay" disabled={!request.value || request.value.isCut} onClick={replay}>
                  Replay
                </Button>
                <Button icon="edit" onClick={() => (sending.value = "edited")}>
                  Edit and send again
                </Button>
              </>
            )}
            <MenuButton label="Copy as" button={{ icon: "copy", children: "Copy as" }}>
              {(close) =>
                formats.map(([format, words]) => (
                  <MenuItem
                    key={format}
                    onClick={() => {
                      close();
                      void copy(format);
                    }}
                  >
                    {words}
                  </MenuItem>
                ))
              }
            </MenuButton>
            {isCall && (
              <Button icon="save" onClick={() => (isSaving.value = true)}>
                Save
              </Button>
            )}
          </>
        )}
        {!(row.kind === "request" && row.lane === "client") && (
          <Button
            icon="copy"
            onClick={async () => {
              const { text } = shown.value ?? {};
              if (text === undefined) return;
              await page.attempt(() => navigator.clipboard.writeText(text));
              page.toast("Copied.", { tone: "ok" });
            }}
          >
            Copy
          </Button>
        )}
      </div>
      {choices.length > 1 && (
        <Tabs
          label="Parts of the message"
          choices={choices}
          value={part.value}
          onChange={(next) => (part.value = next)}
        />
      )}
      <div class="pane-body">
        {shown.reason !== undefined && (
          <div class="in-pane">
            <ReadFailure reason={shown.reason} onRetry={shown.retry} />
          </div>
        )}
        {part.value === "http" && http ? (
          <HttpExchange http={http} />
        ) : shown.value ? (
          <Message detail={shown.value} />
        ) : (
          shown.isLoading && (
            <div class="in-pane">
              <Bones label="Reading the message" />
            </div>
          )
        )}
      </div>
      <div class="pane-foot small t3 num">
        Message {row.n}, {clockText(row.at)}
      </div>
      {sending.value && (
        <SendDialog
          connection={connection}
          method={row.title}
          paramsText={params ? printJson(params) : "{}"}
          {...(sending.value !== "edited" && { replay: sending.value })}
          onClose={() => (sending.value = undefined)}
        />
      )}
      {isSaving.value && tool?.kind === "string" && (
        <SaveDialog
          server={connection.server}
          tool={tool.value}
          argumentsText={argumentsText}
          result={undefined}
          onClose={() => (isSaving.value = false)}
        />
      )}
    </section>
  );
}

function useMessage(connection: string, n: number | undefined): Loaded<MessageDetail> {
  const page = usePage();
  const loaded = useSignal<Loaded<MessageDetail>>({ isLoading: true });
  useEffect(() => {
    if (n !== undefined) void load(loaded, () => page.api.read("message", { connection, n }));
  }, [connection, n]);
  return loaded.value;
}

function nodeOf(detail: MessageDetail | undefined): JsonNode | undefined {
  if (detail === undefined || detail.isCut) return undefined;
  const parsed = parseJson(detail.text);
  return "node" in parsed ? parsed.node : undefined;
}

function Message({ detail }: { detail: MessageDetail }): JSX.Element {
  const text = useMemo(() => {
    const node = nodeOf(detail);
    return node ? printJson(node) : detail.text;
  }, [detail]);
  return (
    <>
      {detail.kind === "invalid" && (
        <div class="in-pane">
          <Note tone="danger">This is no message of the protocol.</Note>
        </div>
      )}
      {detail.http && detail.lane === "http" && <HttpExchange http={detail.http} />}
      {text !== "" && <JsonText label="Message" text={text} />}
      {detail.isCut && (
        <p class="in-pane small t3">
          The first {sizeText(detail.text.length)} of {sizeText(detail.bytes)}.
        </p>
      )}
    </>
  );
}

function HttpExchange({ http }: { http: NonNullable<MessageDetail["http"]> }): JSX.Element {
  return (
    <div class="in-pane stack">
      <p>
        <b>
          <ServerText text={http.method} />
        </b>{" "}
        <code>
          <ServerText text={http.url} />
        </code>
        {http.status !== undefined && <b class={http.status >= 400 ? "c-danger" : "c-ok"}> {http.status}</b>}
      </p>
      <Headers title="Request headers" headers={http.requestHeaders} />
      <Headers title="Response headers" headers={http.responseHeaders} />
    </div>
  );
}

function Headers({
  title,
  headers,
}: {
  title: string;
  headers: readonly (readonly [string, string])[];
}): JSX.Element | null {
  if (headers.length === 0) return null;
  return (
    <>
      <h4 class="label">{title}</h4>
      <dl class="facts">
        {headers.map(([name, value], at) => (
          <>
            <dt key={`${at}n`}>
              <ServerText text={name} />
            </dt>
            <dd key={`${at}v`}>
              <ServerText text={value} />
            </dd>
          </>
        ))}
      </dl>
    </>
  );
}
