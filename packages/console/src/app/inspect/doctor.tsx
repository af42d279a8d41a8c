import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId } from "preact/hooks";
import type { FindingRecord, ReportRecord } from "../../api.ts";
import { Badge, Note, type Tone } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { Segments } from "../parts/tabs.tsx";
import { usePage } from "../state/console.ts";
import { ServerActions } from "./server-head.tsx";
import { inspectState } from "./state.ts";
import { useServer } from "./use-server.ts";
import { countOf } from "./words.ts";

type Of = ReportRecord["of"];

const levels: { readonly [L in FindingRecord["level"]]: { readonly tone: Tone; readonly words: string } } = {
  error: { tone: "danger", words: "problem" },
  warning: { tone: "warn", words: "warning" },
  note: { tone: "plain", words: "note" },
  ok: { tone: "ok", words: "fine" },
};

/** Why a server does not work, and how well it keeps to the protocol, with repairs in place. */
export function DoctorTab(): JSX.Element {
  const page = usePage();
  const server = useServer();
  const [name = ""] = page.route.value.path;
  const of = inspectState(page).kept<Of>("doctor-of", "doctor");
  const report = page.store.reports.all.value.findLast((each) => each.server === name && each.of === of.value);
  const begin = () => page.attempt(() => page.api.change("report.start", { server: name, of: of.value }));
  const isBroken = server?.state === "misconfigured" || server?.state === "down";
  useEffect(() => {
    // A person who comes here with a broken server wants to know at once.
    if (of.peek() === "doctor" && isBroken && report === undefined) void begin();
  }, []);
  const errors = report?.findings.filter(({ level }) => level === "error") ?? [];
  const warnings = report?.findings.filter(({ level }) => level === "warning") ?? [];
  return (
    <div class="with-start">
      <section class="pane" aria-label="Checks">
        <div class="pane-head">
          <Segments
            label="Examination"
            choices={[
              { name: "doctor", label: "Doctor" },
              { name: "check", label: "Check" },
            ]}
            value={of.value}
            onChange={(next) => (of.value = next)}
          />
          <span class="grow" />
          {report?.isRunning ? (
            <Button icon="stop" onClick={() => page.attempt(() => page.api.change("report.cancel", { id: report.id }))}>
              Stop
            </Button>
          ) : (
            report && (
              <Button icon="replay" onClick={begin}>
                Again
              </Button>
            )
          )}
        </div>
        <div class="pane-body">
          <ol class="steps">
            {(report?.findings ?? []).map((finding, at) => (
              <li key={finding.id} data-state={finding.level}>
                <span class="step-no">{finding.level === "ok" ? <Icon name="check" small /> : at + 1}</span>
                <a
                  class="fold-button"
                  href={`#finding-${finding.id}`}
                  onClick={(event) => showFinding(event, finding.id)}
                >
                  <b>
                    <ServerText text={sentence(finding.what)} />
                  </b>
                  <span class="small t3">{levels[finding.level].words}</span>
                </a>
              </li>
            ))}
            {report?.isRunning && (
              <li data-state="running">
                <span class="step-no">
                  <span class="spin" />
                </span>
                <span class="t3">examining</span>
              </li>
            )}
          </ol>
        </div>
        <div class="pane-foot">
          <code class="t3 small">
            portolan {of.value} {name}
          </code>
        </div>
      </section>
      <section class="pane" aria-label="Findings">
        <div class="pane-body">
          {report === undefined ? (
            <Empty icon="shield" title={of.value === "doctor" ? "Not examined yet" : "Not checked yet"}>
              <p>
                {of.value === "doctor"
                  ? "Doctor goes the way of a connection step by step: configuration, variables, command, start, handshake, sign-in, lists."
                  : "Check sends requests as a strict client would, and grades how the server keeps to its revision."}
              </p>
              <Button tone="primary" icon="play" onClick={begin}>
                {of.value === "doctor" ? `Examine ${name}` : `Check ${name}`}
              </Button>
            </Empty>
          ) : (
            <div class="findings">
              <div class="findings-head" role="status">
                <h2 class="headline">
                  <ServerText text={headline(name, report, server?.state === "ready")} />
                </h2>
                <p class="t2">
                  {report.isRunning ? (
                    "The examination runs."
                  ) : report.summary !== undefined ? (
                    <ServerText text={report.summary} lines="keep" />
                  ) : (
                    sentence(`${countOf(errors.length, "problem")}, ${countOf(warnings.length, "warning")}.`)
                  )}
                </p>
              </div>
              {server && (server.state === "untrusted" || server.state === "login") && (
                <div class="row">
                  <ServerActions server={server} />
                </div>
              )}
              {report.error !== undefined && (
                <Note tone="danger">
                  <ServerText text={report.error} lines="keep" />
                </Note>
              )}
              {report.findings
                .filter(({ level }) => level !== "ok")
                .map((finding) => (
                  <Finding key={finding.id} finding={finding} onFixed={begin} />
                ))}
              {!report.isRunning &&
                report.error === undefined &&
                report.findings.length > 0 &&
                errors.length + warnings.length === 0 && <Note tone="ok">Everything that was examined is fine.</Note>}
            </div>
          )}
        </div>
      </section>
    </div>
  );
}

/** The cause first. A server is called fine only if it runs and nothing was found. */
function headline(name: string, report: ReportRecord, isReady: boolean): string {
  const worst = report.findings.find(({ level }) => level === "error");
  if (worst) return sentence(worst.what);
  if (report.isRunning) return `Examining ${name}`;
  if (report.error !== undefined) return `${name} could not be examined`;
  const warnings = report.findings.filter(({ level }) => level === "warning");
  if (warnings.length > 0) {
    return isReady ? `${name} works, with ${countOf(warnings.length, "warning")}` : sentence(warnings[0]?.what ?? name);
  }
  return report.findings.length > 0 ? `No problem was found with ${name}` : `Nothing was found out about ${name}`;
}

/** Begins with a capital, unless the first word may be a name or a command. */
function sentence(text: string): string {
  return /^(?:the|its?|an?|no|set|this|some|each|every|all|pings|one|nothing)\b/.test(text)
    ? text.charAt(0).toUpperCase() + text.slice(1)
    : text;
}

/** The fragment of the address is the place in the console, so that a finding is shown by hand. */
function showFinding(event: MouseEvent, id: string): void {
  event.preventDefault();
  const card = document.getElementById(`finding-${id}`);
  card?.scrollIntoView({ block: "start" });
  card?.focus();
}

function Finding({ finding, onFixed }: { finding: FindingRecord; onFixed: () => void }): JSX.Element {
  const page = usePage();
  const { level, what, why, next, place } = finding;
  const { tone, words } = levels[level];
  const isCommand = /^(?:portolan|npx|npm|node|docker|export|uvx?)\s/.test(next);
  return (
    <article class="card" id={`finding-${finding.id}`} tabIndex={-1} data-tone={tone}>
      <header>
        <Icon name={level === "error" || level === "warning" ? "warn" : "info"} class={`c-${tone}`} />
        <h2 class="grow">
          <ServerText text={sentence(what)} />
        </h2>
        <Badge tone={tone}>{words}</Badge>
      </header>
      <div class="body stack">
        {why !== "" && (
          <p class="words">
            <ServerText text={sentence(why)} lines="keep" />
          </p>
        )}
        {place !== undefined && (
          <code class="place">
            <ServerText text={place} />
          </code>
        )}
        {next !== "" &&
          (isCommand ? (
            <div class="row">
              <code class="place grow">
                <ServerText text={next} />
              </code>
              <Button
                size="small"
                icon="copy"
                label="Copy the command"
                onClick={() =>
                  page
                    .attempt(() => navigator.clipboard.writeText(next))
                    .then(() => page.toast("Copied.", { tone: "ok" }))
                }
              />
            </div>
          ) : (
            <p class="words">
              <b>What to do: </b>
              <ServerText text={next} lines="keep" />
            </p>
          ))}
        {finding.fix && <Fix fix={finding.fix} onFixed={onFixed} />}
      </div>
    </article>
  );
}

const hiddenType = { type: "password" } as const;
const shownType = { type: "text" } as const;

/** A repair in place. What it asks for is never written into a file. */
function Fix({ fix, onFixed }: { fix: NonNullable<FindingRecord["fix"]>; onFixed: () => void }): JSX.Element {
  const page = usePage();
  const id = useId();
  const value = useSignal("");
  const isSeen = useSignal(false);
  const isBusy = useSignal(false);
  const wants = fix.asks !== undefined && value.value === "";
  const showsNeed = useSignal(false);
  const repair = async () => {
    if (wants) {
      showsNeed.value = true;
      document.getElementById(id)?.focus();
      return;
    }
    isBusy.value = true;
    const { asks } = fix;
    const env = (fix.takes["env"] ?? {}) as { [name: string]: string };
    const takes = { ...fix.takes, ...(asks && { env: { ...env, [asks.name]: value.value } }) };
    const done = await page.attempt(() => page.api.change(fix.verb as "server.set-variables", takes as never));
    isBusy.value = false;
    if (!done) return;
    value.value = "";
    page.toast("Repaired.", { tone: "ok" });
    onFixed();
  };
  return (
    <form
      class="fix"
      onSubmit={(event) => {
        event.preventDefault();
        void repair();
      }}
    >
      {fix.asks && (
        <div class="field grow">
          <label for={id}>
            Value for <code>{fix.asks.name}</code>
          </label>
          <div class="row">
            <input
              id={id}
              class="in mono"
              {...(fix.asks.isSecret && !isSeen.value ? hiddenType : shownType)}
              autocomplete="off"
              spellcheck={false}
              value={value.value}
              aria-invalid={showsNeed.value && wants ? "true" : undefined}
              onInput={(event) => (value.value = event.currentTarget.value)}
            />
            {fix.asks.isSecret && (
              <Button
                tone="quiet"
                icon="eye"
                label={isSeen.value ? "Hide the value" : "Show the value"}
                pressed={isSeen.value}
                onClick={() => (isSeen.value = !isSeen.value)}
              />
            )}
          </div>
          <span class="hint">For this run of the console. It is never written to a file.</span>
        </div>
      )}
      <Button tone="primary" isBusy={isBusy.value} onClick={repair}>
        <ServerText text={fix.label} />
      </Button>
    </form>
  );
}
