import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Expectation, SavedCall, SavedVerdict, Verbs } from "../../api.ts";
import { QuestionCard } from "../chat/questions/card.tsx";
import { Badge, Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Bones, Empty, ReadFailure } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { JsonText } from "../parts/json/json-text.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";
import { goTo, hrefOf } from "../state/route.ts";
import { inspectState, type Loaded, load } from "./state.ts";
import { timeText } from "./words.ts";

/** Calls of the project with what is expected of them: run one, or all. */
export function SavedTab(): JSX.Element {
  const page = usePage();
  const list = useSignal<Loaded<Verbs["saved.list"]["gives"]>>({ isLoading: true });
  const running = useSignal<ReadonlySet<string>>(new Set());
  const verdicts = inspectState(page).kept<ReadonlyMap<string, SavedVerdict>>("verdicts", new Map());
  const read = () => load(list, () => page.api.read("saved.list", {}));
  // A call may be saved while this tab is being opened.
  const saves = inspectState(page).kept("saves", 0).value;
  useEffect(() => void read(), [saves]);
  useEffect(() => {
    // Another tab, or the command, has changed or run them.
    return page.store.listen((event) => {
      if (event.kind !== "saved") return;
      verdicts.value = new Map([...verdicts.peek(), ...event.verdicts.map((each) => [each.name, each] as const)]);
      void read();
    });
  }, []);
  const calls = list.value.value?.calls ?? [];
  const servers = new Set(calls.map(({ server }) => server));
  // A call that acts is asked about, because the file may come from others.
  const questions = page.store.questions.all.value.filter(
    ({ conversation, server }) => conversation === undefined && servers.has(server),
  );
  const run = async (names: readonly string[]) => {
    running.value = new Set(names);
    const given = await page.attempt(() => page.api.change("saved.run", { names }));
    running.value = new Set();
    if (!given) return;
    verdicts.value = new Map([...verdicts.peek(), ...given.verdicts.map((each) => [each.name, each] as const)]);
    const failed = given.verdicts.filter(({ isPassed }) => !isPassed).length;
    page.say(failed === 0 ? `All ${given.verdicts.length} passed` : `${failed} of ${given.verdicts.length} failed`);
  };
  const known = calls.flatMap(({ name }) => verdicts.value.get(name) ?? []);
  const failed = known.filter(({ isPassed }) => !isPassed).length;
  return (
    <div class="tab-page">
      <header class="page-head">
        <div>
          <h1>Saved calls</h1>
          <p class="t2">
            {list.value.value ? (
              <>
                In <code>{list.value.value.file}</code>. The command <code>portolan test</code> runs the same.
              </>
            ) : (
              "Calls with what is expected of them, in a file of your project."
            )}
          </p>
        </div>
        <span class="grow" />
        {known.length > 0 &&
          (failed === 0 ? (
            <Badge tone="ok">{known.length} passed</Badge>
          ) : (
            <Badge tone="danger">{failed} failed</Badge>
          ))}
        {calls.length > 0 && (
          <Button
            tone="primary"
            icon="play"
            isBusy={running.value.size > 0}
            onClick={() => run(calls.map(({ name }) => name))}
          >
            Run all {calls.length}
          </Button>
        )}
      </header>
      {running.value.size > 0 && questions.map((question) => <QuestionCard key={question.id} question={question} />)}
      {list.value.value?.problem !== undefined && (
        <Note tone="danger">
          <ServerText text={list.value.value.problem} />
        </Note>
      )}
      {list.value.reason !== undefined && <ReadFailure reason={list.value.reason} onRetry={read} />}
      {list.value.value === undefined && list.value.isLoading ? (
        <Bones label="Reading saved calls" rows={4} />
      ) : calls.length === 0 ? (
        list.value.reason === undefined && (
          <Empty icon="save" title="No saved calls yet">
            <p>Run a tool in Try, then save the call with what its result has to be.</p>
            <Button href={hrefOf("inspect", page.route.value.path[0] ?? "", "try")}>Open Try</Button>
          </Empty>
        )
      ) : (
        <ul class="record-list">
          {calls.map((call) => (
            <Row
              key={call.name}
              call={call}
              verdict={verdicts.value.get(call.name)}
              isRunning={running.value.has(call.name)}
              onRun={() => run([call.name])}
              onRemoved={read}
            />
          ))}
        </ul>
      )}
    </div>
  );
}

function Row(props: {
  call: SavedCall;
  verdict: SavedVerdict | undefined;
  isRunning: boolean;
  onRun: () => void;
  onRemoved: () => void;
}): JSX.Element {
  const { call, verdict, isRunning, onRun, onRemoved } = props;
  const page = usePage();
  const isOpen = useSignal(false);
  const remove = async () => {
    const done = await page.attempt(() => page.api.change("saved.remove", { name: call.name }));
    if (!done) return;
    onRemoved();
    page.toast(`“${call.name}” is removed.`, {
      action: {
        label: "Undo",
        run: () => void page.attempt(() => page.api.change("saved.put", { call })).then(onRemoved),
      },
    });
  };
  const edit = () => {
    const place = `${call.server} ${call.tool}`;
    page.drafts.get<string | undefined>(`try:${place}`, undefined).value = call.argumentsText;
    inspectState(page).forgetDocument(place);
    goTo(hrefOf("inspect", call.server, "try", "tool", call.tool));
  };
  return (
    <li class="card">
      <div class="record">
        <span class={verdict === undefined ? "t3" : verdict.isPassed ? "c-ok" : "c-danger"}>
          {isRunning ? (
            <span class="spin" />
          ) : (
            <Icon name={verdict === undefined ? "save" : verdict.isPassed ? "check" : "x"} />
          )}
          <span class="hidden">{verdict === undefined ? "not run" : verdict.isPassed ? "passed" : "failed"}</span>
        </span>
        <button
          type="button"
          class="grow fold-button"
          aria-expanded={isOpen.value}
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          <b>{call.name}</b>
          <span class="small t3">
            <ServerText text={call.server} /> <code>{call.tool}</code>,{" "}
            {call.expect.length === 0 ? "nothing expected" : call.expect.map(words).join(", ")}
          </span>
        </button>
        {verdict && <span class="small t3 num">{timeText(verdict.ms)}</span>}
        <Button icon="play" isBusy={isRunning} label={`Run ${call.name}`} onClick={onRun} />
        <Button tone="quiet" icon="edit" label={`Open ${call.name} in Try`} onClick={edit} />
        <Button tone="quiet" icon="trash" label={`Remove ${call.name}`} onClick={remove} />
      </div>
      {verdict !== undefined && verdict.problems.length > 0 && (
        <div class="in-pane">
          <Note tone="danger">
            <ul class="plain-list">
              {verdict.problems.map((problem) => (
                <li key={problem}>
                  <ServerText text={problem} lines="keep" />
                </li>
              ))}
            </ul>
          </Note>
        </div>
      )}
      {isOpen.value && <JsonText label={`Arguments of ${call.name}`} text={call.argumentsText} />}
    </li>
  );
}

function words(expectation: Expectation): string {
  if ("schema" in expectation) return "fits the output schema";
  if ("isError" in expectation) return expectation.isError ? "reports an error" : "no error";
  if ("underMs" in expectation) return `under ${timeText(expectation.underMs)}`;
  if ("is" in expectation) return `${expectation.path} is ${JSON.stringify(expectation.is)}`;
  return `${expectation.path} matches ${expectation.matches}`;
}
