import { useSignal } from "@preact/signals";
import type { ComponentProps, JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { CallEnd, CallRecord } from "../../api.ts";
import { Badge, Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Progress } from "../parts/meter.tsx";
import { Quoted, ServerText } from "../parts/quoted.tsx";
import { commandKey } from "../shell/keys.ts";
import { type ConsolePage, usePage } from "../state/console.ts";
import { hrefOf } from "../state/route.ts";
import { AppView } from "./app-view.tsx";
import { ArgumentList, argumentsLine } from "./arguments.tsx";
import { AnsweredLine } from "./blocks.tsx";
import { QuestionCard } from "./questions/card.tsx";
import { isShort, ResultView, tableOf } from "./result.tsx";
import { countText, durationText } from "./times.ts";

/** Progress is said to screen readers at most this often. */
const saidProgressMs = 10_000;

/** A shorter wait is not worth a word. */
const leastWaitMs = 100;

/** One call of a tool: what is called, how far it is, what came back, and the questions that it waits for. */
export function ToolCard(props: {
  record: CallRecord;
  /** The answers of the person to its questions. */
  receipts?: readonly ComponentProps<typeof AnsweredLine>["block"][];
}): JSX.Element {
  const { record: given, receipts = [] } = props;
  const page = usePage();
  const known = page.store.calls.get(given.id).value;
  // The newest of both: a call that ended long ago is in the block only.
  const record = known && (known.end || !given.end) ? known : given;
  const { end } = record;
  const result = end?.result?.result;
  const isGlance = useMemo(() => result !== undefined && (isShort(result) || tableOf(result) !== undefined), [result]);
  const opensItself = end?.how === "failed" || end?.how === "cancelled" || end?.how === "unsent" || isGlance;
  const choice = useSignal<boolean | undefined>(undefined);
  const isOpen = choice.value ?? (end ? opensItself : false);
  const questions = page.store.questions.all.value.filter(({ call }) => call === record.id);
  const isWaiting = !end && (record.waitsFor !== undefined || questions.length > 0);
  useSpokenCall(page, record, isWaiting);
  const body = `call-${record.id}`;
  return (
    <>
      <article
        class="card tool-card"
        data-tone={end?.how === "failed" || end?.how === "unknown" ? "danger" : undefined}
      >
        <header>
          <CallState record={record} isWaiting={isWaiting} />
          <button
            type="button"
            class="call"
            aria-expanded={isOpen}
            aria-controls={body}
            onClick={() => {
              choice.value = !isOpen;
            }}
          >
            <span class="t2 cut server-name">
              {record.app !== undefined && "app of "}
              <ServerText text={record.server} />
            </span>
            <span class="tool cut">
              <ServerText text={record.tool} />
            </span>
            <span class="args cut grow">
              <ServerText text={argumentsLine(record.argumentsText).slice(0, 300)} />
            </span>
          </button>
          <CallTime record={record} isWaiting={isWaiting} />
          {!end && <CancelButton call={record.id} />}
          <Icon name={isOpen ? "down" : "right"} class="t3" />
        </header>
        {receipts.length > 0 && (
          <div class="receipts">
            {receipts.map((block) => (
              <AnsweredLine key={block.id} block={block} isInCard />
            ))}
          </div>
        )}
        {record.modelFailure && (
          <div class="body">
            <ModelFailure server={record.server} failure={record.modelFailure} />
          </div>
        )}
        {!end && !isWaiting && record.visits !== undefined && <OpenVisit host={record.visits} />}
        {!end && !isWaiting && record.progress && <CallProgress record={record} />}
        <div id={body} hidden={!isOpen}>
          {isOpen && <CallBody record={record} isWhole={choice.value === true || !end} />}
        </div>
        {end?.result?.app && <AppView record={record} />}
      </article>
      {questions.map((question) => (
        <QuestionCard key={question.id} question={question} />
      ))}
    </>
  );
}

const endWords: { readonly [H in NonNullable<CallRecord["end"]>["how"]]: readonly [IconName, string, string] } = {
  done: ["check", "c-ok", "Done"],
  failed: ["warn", "c-danger", "Failed"],
  refused: ["x", "t3", "Not allowed"],
  cancelled: ["stop", "t3", "Cancelled"],
  unsent: ["stop", "t3", "Not sent"],
  unknown: ["warn", "c-danger", "End unknown"],
};

function CallState({ record, isWaiting }: { record: CallRecord; isWaiting: boolean }): JSX.Element {
  const { end } = record;
  if (!end) {
    return (
      <span class="row" role="img" aria-label={isWaiting ? "Waits for you" : "Running"}>
        {isWaiting ? <Icon name="clock" class="c-accent" /> : <span class="spin" />}
      </span>
    );
  }
  const [icon, tone, words] = isFailed(end) ? endWords.failed : endWords[end.how];
  return (
    <span class="row" role="img" aria-label={words}>
      <Icon name={icon} class={tone} />
    </span>
  );
}

/** True if the call failed, or its tool says that it did. */
function isFailed({ how, result }: CallEnd): boolean {
  return how === "failed" || (how === "done" && result?.isError === true);
}

/** The time that a call took, or has taken so far, without that in which the person was asked. */
function CallTime({ record, isWaiting }: { record: CallRecord; isWaiting: boolean }): JSX.Element {
  const page = usePage();
  const { end, startedAt, waitedMs = 0 } = record;
  if (end) {
    const { how } = end;
    return (
      <>
        {how === "refused" && <Badge>not allowed</Badge>}
        {how === "cancelled" && <Badge>cancelled</Badge>}
        {how === "unsent" && <Badge>not sent</Badge>}
        {isFailed(end) && <Badge tone="danger">failed</Badge>}
        {how === "unknown" && <Badge tone="danger">may have run</Badge>}
        {how !== "refused" && how !== "unsent" && <span class="small t3 num nowrap">{durationText(end.ms)}</span>}
      </>
    );
  }
  if (isWaiting) return <span class="small t3 nowrap">waits for you</span>;
  return <span class="small t3 num nowrap">{durationText(page.clock.value - startedAt - waitedMs)}</span>;
}

function CancelButton({ call }: { call: string }): JSX.Element {
  const page = usePage();
  const cancel = () => page.api.change("cancel", { call });
  // The key cancels the newest call only.
  const isNewest = newestCall(page)?.id === call;
  return (
    <Button
      size="small"
      icon="stop"
      onClick={() => void page.attempt(cancel)}
      {...(isNewest ? { keys: `${commandKey} .` } : {})}
    >
      Cancel
    </Button>
  );
}

/** The call that was started last and still runs. */
export function newestCall(page: ConsolePage): CallRecord | undefined {
  return page.store.calls.all.value
    .filter(({ end }) => !end)
    .reduce<CallRecord | undefined>(
      (newest, call) => (newest && newest.startedAt > call.startedAt ? newest : call),
      undefined,
    );
}

/** Says that the call goes on when the person has finished on a page that they opened. */
export function OpenVisit({ host }: { host: string }): JSX.Element {
  return (
    <p class="body row small t2" role="status">
      <Icon name="globe" class="c-accent" />
      <span>
        Waiting until you have finished on <b>{host}</b>, in its own tab
      </span>
    </p>
  );
}

/** Says why a model did not answer a request of the server, which got an error without the reason. */
export function ModelFailure(props: { server: string; failure: NonNullable<CallRecord["modelFailure"]> }): JSX.Element {
  const { server, failure } = props;
  return (
    <Note tone="danger">
      <p>
        <b>
          <ServerText text={failure.model} /> did not answer <ServerText text={server} />.
        </b>{" "}
        <ServerText text={failure.message} lines="keep" />
      </p>
      <p>No answer was sent. You can choose another model when it asks again.</p>
    </Note>
  );
}

/** True if the call failed because a model did, which is said already, and not in the words of the server. */
export function isModelFailure({ end, modelFailure }: CallRecord): boolean {
  return modelFailure !== undefined && end?.message === modelFailure.message;
}

function CallProgress({ record }: { record: CallRecord }): JSX.Element {
  const { progress = 0, total, message } = record.progress ?? {};
  return (
    <div class="body progress">
      <div class="row small">
        <span class="grow cut t2">{message !== undefined && <ServerText text={message} />}</span>
        <span class="t3 num nowrap">
          {total === undefined
            ? progress.toLocaleString("en")
            : `${progress.toLocaleString("en")} of ${total.toLocaleString("en")}`}
        </span>
      </div>
      <Progress label={`Progress of ${record.tool}`} value={progress} {...(total === undefined ? {} : { total })} />
    </div>
  );
}

/** A card that opened by itself shows the result only: its head has the arguments. */
function CallBody({ record, isWhole }: { record: CallRecord; isWhole: boolean }): JSX.Element {
  const { end, argumentsText } = record;
  const isSaid = isModelFailure(record);
  const why = end?.message !== undefined && end.how !== "done" && !isSaid;
  // Of a call without an end the host has written the result too.
  const hasResult = end?.result !== undefined && (end.how === "done" || !(why || isSaid));
  return (
    <>
      {(isWhole || why) && (
        <div class="body stack">
          {isWhole && (
            <section>
              <h3 class="label">Arguments</h3>
              <ArgumentList text={argumentsText} />
            </section>
          )}
          {why && (
            <section>
              <h3 class="label">Why</h3>
              <EndReason record={record} end={end} />
            </section>
          )}
        </div>
      )}
      {end?.result && hasResult && <ResultView record={record} head={end.result} />}
      {end && <CallFooter record={record} />}
    </>
  );
}

/** Why a call has no result: a failure may be in the words of its server, all else is in those of the console. */
function EndReason({ record, end }: { record: CallRecord; end: CallEnd }): JSX.Element {
  const { how, message = "" } = end;
  if (how === "failed") return <Quoted by={record.server} text={message} />;
  return (
    <p>
      <ServerText text={message} lines="keep" />
    </p>
  );
}

function CallFooter({ record }: { record: CallRecord }): JSX.Element {
  const isLooking = useSignal(false);
  const { end, server, waitedMs = 0 } = record;
  const result = end?.result;
  return (
    <>
      {isLooking.value && result && (
        <div class="body">
          <h3 class="label">What the model sees</h3>
          <Quoted by={server} text={result.modelText} />
        </div>
      )}
      <footer>
        <a class="small" href={hrefOf("inspect", server, "timeline")}>
          Show in timeline
        </a>
        {waitedMs >= leastWaitMs && <span class="small t3 num">waited {durationText(waitedMs)} for you</span>}
        {result && result.modelText !== "" && (
          <>
            <span class="small t3 end num">the model sees {countText(result.modelTokens, "token")}</span>
            <Button
              tone="quiet"
              size="small"
              icon="eye"
              pressed={isLooking.value}
              onClick={() => {
                isLooking.value = !isLooking.value;
              }}
            >
              Look
            </Button>
          </>
        )}
      </footer>
    </>
  );
}

/** Says the start, the end and the progress of a call. */
function useSpokenCall(page: ConsolePage, record: CallRecord, isWaiting: boolean): void {
  const { server, tool, end, progress } = record;
  const said = useRef<{ end: boolean; at: number } | undefined>(undefined);
  useEffect(() => {
    const now = Date.now();
    if (said.current === undefined) {
      said.current = { end: end !== undefined, at: now };
      if (!end && !isWaiting) page.say(`${server} runs ${tool}`);
    } else if (end && !said.current.end) {
      said.current = { end: true, at: now };
      page.say(`${tool}: ${endWords[end.how][2]}`);
    } else if (!end && progress && now - said.current.at > saidProgressMs) {
      said.current = { end: false, at: now };
      const of = progress.total === undefined ? "" : ` of ${progress.total}`;
      page.say(`${tool}: ${progress.progress}${of}`);
    }
  }, [end, progress]);
}
