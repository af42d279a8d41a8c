import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { CallRecord, CallResultHead, ServerRecord } from "../../../api.ts";
import { QuestionCard } from "../../chat/questions/card.tsx";
import { isModelFailure, ModelFailure, OpenVisit } from "../../chat/tool-card.tsx";
import { Badge, Note } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Content } from "../../parts/content.tsx";
import { DataTable, rowsIn } from "../../parts/data-table.tsx";
import { Bones, Empty } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icon.tsx";
import { type JsonNode, memberOf, parseJson, printJson, sameValue } from "../../parts/json/document.ts";
import { JsonText } from "../../parts/json/json-text.tsx";
import { JsonTree } from "../../parts/json/json-tree.tsx";
import { Progress } from "../../parts/meter.tsx";
import { ServerText } from "../../parts/quoted.tsx";
import { usePage } from "../../state/console.ts";
import { hrefOf } from "../../state/route.ts";
import { inspectState } from "../state.ts";
import { countText, sizeText, timeText } from "../words.ts";
import { useWholeResult, type WholeResult } from "./result-text.ts";

type PaneName = "result" | "model" | "raw";

const panes: readonly (readonly [name: PaneName, words: string])[] = [
  ["result", "Result"],
  ["model", "Model sees"],
  ["raw", "Raw"],
];

/** The result of a call: as content, as the model sees it, and as it was written. */
export function ResultPane(props: {
  server: ServerRecord;
  call: CallRecord | undefined;
  outputSchema: boolean;
}): JSX.Element {
  const { server, call, outputSchema } = props;
  const state = inspectState(usePage());
  const open = state.kept<ReadonlySet<PaneName>>("result-panes", new Set(["result", "model"]));
  const end = call?.end;
  const head = end?.result;
  const whole = useWholeResult(call);
  const toggle = (name: PaneName) => {
    const next = new Set(open.value);
    if (!next.delete(name)) next.add(name);
    open.value = next.size === 0 ? new Set([name]) : next;
  };
  return (
    <section class="pane result" aria-label="Result">
      <div class="pane-head">
        <fieldset class="seg" aria-label="Panes shown">
          {panes.map(([name, words]) => (
            <button key={name} type="button" aria-pressed={open.value.has(name)} onClick={() => toggle(name)}>
              {words}
            </button>
          ))}
        </fieldset>
        <span class="end row">
          {head && outputSchema && ("structuredContent" in head.result || head.schemaProblems.length > 0) && (
            <SchemaVerdict head={head} />
          )}
          {end && <span class="small t3 num">{timeText(end.ms)}</span>}
        </span>
      </div>
      <div class="pane-body">
        {call?.modelFailure && (
          <div class="in-pane">
            <ModelFailure server={server.name} failure={call.modelFailure} />
          </div>
        )}
        {call === undefined ? (
          <Empty icon="play" title="Nothing was run yet">
            <p>The result appears here, and beside it what a model would see of it.</p>
          </Empty>
        ) : end === undefined ? (
          <Running call={call} />
        ) : (
          <>
            {end.how !== "done" && <Ended call={call} />}
            {head && head.schemaProblems.length > 0 && (
              <div class="in-pane">
                <Note tone="danger">
                  <b>The structured content breaks the output schema.</b> Strict clients refuse this result.
                  <ul class="plain-list">
                    {head.schemaProblems.map((problem) => (
                      <li key={problem}>
                        <ServerText text={problem} />
                      </li>
                    ))}
                  </ul>
                </Note>
              </div>
            )}
            {head && open.value.has("result") && <AsWhatItIs call={call} head={head} whole={whole} />}
            {head && open.value.has("model") && <AsModelSees head={head} />}
            {head && open.value.has("raw") && <AsWritten whole={whole} head={head} />}
          </>
        )}
      </div>
      {call !== undefined && (
        <div class="pane-foot small t3">
          {head && <span class="num">{sizeText(head.chars)}</span>}
          <span class="grow" />
          <a href={`${hrefOf("inspect", server.name, "timeline")}?call=${encodeURIComponent(call.id)}`}>
            Show in timeline
          </a>
        </div>
      )}
    </section>
  );
}

function SchemaVerdict({ head }: { head: CallResultHead }): JSX.Element {
  return head.schemaProblems.length === 0 ? (
    <Badge tone="ok">
      <Icon name="check" small />
      fits output schema
    </Badge>
  ) : (
    <Badge tone="danger">
      <Icon name="x" small />
      breaks output schema
    </Badge>
  );
}

function Running({ call }: { call: CallRecord }): JSX.Element {
  const page = usePage();
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 200);
    return () => clearInterval(timer);
  }, []);
  const { progress } = call;
  const question = page.store.questions.all.value.find((each) => each.id === call.waitsFor || each.call === call.id);
  return (
    <div class="in-pane stack">
      <div class="row">
        <span class="spin" />
        <b>Running</b>
        <span class="t3 num">{timeText(Math.max(0, now - call.startedAt))}</span>
        <span class="grow" />
        <Button
          size="small"
          icon="stop"
          onClick={() => page.attempt(() => page.api.change("cancel", { call: call.id }))}
        >
          Cancel
        </Button>
      </div>
      {question && <QuestionCard question={question} />}
      {!question && call.visits !== undefined && <OpenVisit host={call.visits} />}
      {progress && (
        <>
          <Progress
            label="Progress of the call"
            value={progress.progress}
            {...(progress.total !== undefined && { total: progress.total })}
          />
          <span class="small t2">
            <span class="num">
              {progress.progress}
              {progress.total !== undefined && ` of ${progress.total}`}
            </span>{" "}
            {progress.message !== undefined && <ServerText text={progress.message} />}
          </span>
        </>
      )}
    </div>
  );
}

const endWords: { readonly [how: string]: string } = {
  failed: "The call failed.",
  refused: "The call was refused.",
  cancelled: "The call was cancelled.",
  unknown: "Nobody knows how the call ended. It may have been carried out.",
};

function Ended({ call }: { call: CallRecord }): JSX.Element {
  const { how = "unknown", message } = call.end ?? {};
  return (
    <div class="in-pane">
      <Note tone={how === "cancelled" ? "plain" : "danger"}>
        <b>{endWords[how]}</b>{" "}
        {message !== undefined && !isModelFailure(call) && <ServerText text={message} lines="keep" />}
      </Note>
    </div>
  );
}

function AsWhatItIs({
  call,
  head,
  whole,
}: {
  call: CallRecord;
  head: CallResultHead;
  whole: WholeResult | undefined;
}): JSX.Element {
  const structured = memberOf(whole?.node, "structuredContent");
  const table = useMemo(() => rowsIn(structured), [structured]);
  const view = useSignal<"table" | "tree">("table");
  const blocks = head.result.content;
  const others = useMemo(
    () => (structured === undefined ? blocks : blocks.filter((block) => !saysTheSame(block, structured))),
    [blocks, structured],
  );
  const hidden = blocks.length - others.length;
  // Beside structured content, text is for models that cannot read it.
  const texts = structured === undefined ? [] : others.filter(({ type }) => type === "text");
  const shown = structured === undefined ? others : others.filter(({ type }) => type !== "text");
  return (
    <div class="result-part">
      {head.isError && (
        <div class="in-pane">
          <Note tone="danger">
            <b>The tool reports an error.</b>
          </Note>
        </div>
      )}
      {structured !== undefined && table !== undefined && view.value === "table" ? (
        <DataTable node={table} label="Result as a table" />
      ) : (
        structured !== undefined && <JsonTree node={structured} label="Structured content" />
      )}
      {table !== undefined && (
        <div class="part-foot">
          <fieldset class="seg" aria-label="View of the structured content">
            {(["table", "tree"] as const).map((each) => (
              <button key={each} type="button" aria-pressed={view.value === each} onClick={() => (view.value = each)}>
                {each === "table" ? "Table" : "Tree"}
              </button>
            ))}
          </fieldset>
        </div>
      )}
      {shown.length > 0 && <ContentList call={call} head={head} blocks={shown} />}
      {texts.length > 0 && (
        <details class="folded">
          <summary>Also as text, in {texts.length === 1 ? "1 block" : `${countText(texts.length)} blocks`}</summary>
          <ContentList call={call} head={head} blocks={texts} />
        </details>
      )}
      {hidden > 0 && <p class="in-pane small t3">The same is there as text, for models without structured content.</p>}
      {blocks.length === 0 && structured === undefined && whole !== undefined && (
        <p class="in-pane t3">The result is empty.</p>
      )}
    </div>
  );
}

const maxBlocks = 50;

function ContentList(props: {
  readonly call: CallRecord;
  readonly head: CallResultHead;
  readonly blocks: CallResultHead["result"]["content"];
}): JSX.Element {
  const { call, head, blocks } = props;
  return (
    <div class="in-pane stack content-list">
      {blocks.slice(0, maxBlocks).map((block) => {
        const index = head.result.content.indexOf(block);
        return <ResultContent key={index} call={call} index={index} block={block} isWhole={head.isWhole} />;
      })}
      {blocks.length > maxBlocks && <p class="t3">and {countText(blocks.length - maxBlocks)} more, see Raw</p>}
    </div>
  );
}

/** A block of a result that is too large to come with its head is brought when it is wanted. */
function ResultContent(props: {
  call: CallRecord;
  index: number;
  block: CallResultHead["result"]["content"][number];
  isWhole: boolean;
}): JSX.Element {
  const { call, index, block, isWhole } = props;
  const page = usePage();
  const brought = useSignal(block);
  const isBringing = useSignal(false);
  const bring = async () => {
    isBringing.value = true;
    const given = await page.attempt(() => page.api.read("content", { call: call.id, index }));
    isBringing.value = false;
    if (given) brought.value = given.block;
  };
  return (
    <>
      <Content block={brought.value} label={`content ${index + 1}`} />
      {!isWhole && brought.value === block && (
        <Button size="small" isBusy={isBringing.value} onClick={bring}>
          Show all of it
        </Button>
      )}
    </>
  );
}

/** Tells whether a text block only repeats the structured content. */
function saysTheSame(block: CallResultHead["result"]["content"][number], structured: JsonNode): boolean {
  if (block.type !== "text" || block.text.length > 500_000) return false;
  const parsed = parseJson(block.text);
  return "node" in parsed && sameValue(parsed.node, structured);
}

function AsModelSees({ head }: { head: CallResultHead }): JSX.Element {
  return (
    <div class="result-part">
      <div class="part-head">
        <h3>What the model sees</h3>
        <Badge tone="accent">{countText(head.modelTokens)} tokens</Badge>
      </div>
      <pre class="jcode in-pane words">
        <ServerText text={head.modelText} lines="keep" />
      </pre>
    </div>
  );
}

function AsWritten({ whole, head }: { whole: WholeResult | undefined; head: CallResultHead }): JSX.Element {
  const page = usePage();
  const text = useMemo(() => (whole?.node ? printJson(whole.node) : (whole?.text ?? "")), [whole]);
  return (
    <div class="result-part">
      <div class="part-head">
        <h3>Raw</h3>
        <span class="grow" />
        <Button
          size="small"
          tone="quiet"
          icon="copy"
          onClick={() =>
            page
              .attempt(() => navigator.clipboard.writeText(whole?.text ?? ""))
              .then(() => page.toast("Copied.", { tone: "ok" }))
          }
        >
          Copy
        </Button>
      </div>
      {whole === undefined ? (
        <div class="in-pane">
          <Bones label="Reading the result" />
        </div>
      ) : whole.reason !== undefined ? (
        <div class="in-pane">
          <Note tone="danger">
            <ServerText text={whole.reason} lines="keep" />
          </Note>
        </div>
      ) : (
        <JsonText label="Raw result" text={text} />
      )}
      {whole?.isCut && (
        <p class="in-pane small t3">
          The first {sizeText(whole.text.length)} of {sizeText(head.chars)}.
        </p>
      )}
    </div>
  );
}
