import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { LoginRecord, LoginStep } from "../../api.ts";
import { Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { parseJson, printJson } from "../parts/json/document.ts";
import { JsonText } from "../parts/json/json-text.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";
import { useServer } from "./use-server.ts";

/** Signing in to a server, step by step, with each request, each response, and the standard that asks for it. */
export function SignInTab(): JSX.Element {
  const page = usePage();
  const server = useServer();
  const [name = ""] = page.route.value.path;
  const login = page.store.logins.all.value.findLast((each) => each.server === name);
  const chosen = useSignal<number | undefined>(undefined);
  const begin = async () => {
    chosen.value = undefined;
    await page.attempt(() => page.api.change("login.begin", { server: name }));
  };
  if (login === undefined) {
    return (
      <Empty icon="key" title={server?.state === "login" ? `${name} needs a sign-in` : "Sign-in"}>
        <p>
          {server?.transport === "stdio"
            ? "A local command has no sign-in: it takes its keys from variables."
            : "Each step is shown with its request, its response, and the standard that asks for it. Secrets are masked."}
        </p>
        {server?.transport !== "stdio" && (
          <Button tone="primary" icon="key" onClick={begin}>
            Sign in to {name}
          </Button>
        )}
      </Empty>
    );
  }
  const current =
    login.steps.find(({ id }) => id === chosen.value) ??
    login.steps.find(({ state }) => state !== "done") ??
    login.steps.at(-1);
  const isRunning = login.state === "running" || login.state === "waiting";
  return (
    <div class="with-start">
      <section class="pane" aria-label="Steps">
        <div class="pane-head">
          <h2>Sign in to {name}</h2>
          <span class="grow" />
          {isRunning ? (
            <Button icon="stop" onClick={() => page.attempt(() => page.api.change("login.cancel", { id: login.id }))}>
              Cancel
            </Button>
          ) : (
            <Button icon="replay" onClick={begin}>
              Start over
            </Button>
          )}
        </div>
        <div class="pane-body">
          <ol class="steps">
            {login.steps.map((step, at) => (
              <li key={step.id} data-state={step.state} data-current={step === current || undefined}>
                <span class="step-no">
                  {step.state === "done" ? (
                    <Icon name="check" small />
                  ) : step.state === "failed" ? (
                    <Icon name="x" small />
                  ) : (
                    at + 1
                  )}
                </span>
                <button
                  type="button"
                  class="fold-button"
                  aria-pressed={step === current}
                  onClick={() => (chosen.value = step.id)}
                >
                  <b>
                    <ServerText text={step.title} />
                  </b>
                  <span class="small t3">
                    {step.reason === undefined ? (
                      stepWords[step.state]
                    ) : (
                      <ServerText text={step.reason.slice(0, 120)} />
                    )}
                  </span>
                  <span class="small t3">{step.standard}</span>
                </button>
              </li>
            ))}
          </ol>
        </div>
        <div class="pane-foot small t3">
          <Icon name="lock" small /> Secrets are masked before they come to this page.
          {server && !isRunning && login.state === "done" && (
            <Button
              class="end"
              size="small"
              onClick={() => page.attempt(() => page.api.change("logout", { server: name }))}
            >
              Sign out
            </Button>
          )}
        </div>
      </section>
      <section class="pane" aria-label="Step">
        <div class="pane-body">
          <State login={login} />
          {current && <Step step={current} login={login.id} isOver={!isRunning} />}
        </div>
      </section>
    </div>
  );
}

const stepWords = { running: "running", done: "done", failed: "failed" } as const;

function State({ login }: { login: LoginRecord }): JSX.Element {
  const { state, address, reason } = login;
  const target = addressOf(address);
  return (
    <div class="in-pane stack" role="status">
      {state === "waiting" && (
        <Note tone="accent">
          <b>Agree in the browser.</b> The page of {target ? <b>{target.host}</b> : "the authority"} asks you. Come back
          here when you have agreed.
          {target && (
            <div class="row wrap note-actions">
              <Button href={target.href} icon="out" tone="primary" onClick={openApart}>
                Open {target.host}
              </Button>
              <code class="cut t3">
                <ServerText text={target.href} />
              </code>
            </div>
          )}
        </Note>
      )}
      {state === "done" && <Note tone="ok">You are signed in.</Note>}
      {state === "failed" && (
        <Note tone="danger">
          <b>The sign-in failed.</b> {reason !== undefined && <ServerText text={reason} lines="keep" />}
        </Note>
      )}
    </div>
  );
}

/** An address that may be opened: of the web, and nothing else. */
function addressOf(address: string | undefined): URL | undefined {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  return url.protocol === "https:" || url.protocol === "http:" ? url : undefined;
}

function openApart(event: MouseEvent): void {
  event.preventDefault();
  const { href } = event.currentTarget as HTMLAnchorElement;
  open(href, "_blank", "noopener,noreferrer");
}

function Step({ step, login, isOver }: { step: LoginStep; login: string; isOver: boolean }): JSX.Element {
  const page = usePage();
  return (
    <div class="in-pane stack">
      <div class="row wrap">
        <h3 class="row grow">
          <ServerText text={step.title} /> <span class="small t3">{step.standard}</span>
        </h3>
        {step.isRepeatable && (
          <Button
            size="small"
            icon="replay"
            isBusy={step.state === "running"}
            onClick={() => page.attempt(() => page.api.change("login.again", { id: login, step: step.id }))}
          >
            Do this step again
          </Button>
        )}
      </div>
      {!step.isRepeatable && isOver && (
        <p class="hint">This step changes something at the authority. Start over does it again, with all the others.</p>
      )}
      {step.reason !== undefined && (
        <Note tone={step.state === "failed" ? "danger" : "plain"}>
          <ServerText text={step.reason} lines="keep" />
        </Note>
      )}
      {step.request !== undefined && <Part title="Request" icon="next" text={step.request} />}
      {step.response !== undefined && <Part title="Response" icon="back" text={step.response} />}
    </div>
  );
}

function Part({ title, icon, text }: { title: string; icon: "next" | "back"; text: string }): JSX.Element {
  const parsed = parseJson(text);
  return (
    <section class="card">
      <header>
        <Icon name={icon} />
        <h4>{title}</h4>
      </header>
      <JsonText label={title} text={"node" in parsed ? printJson(parsed.node) : text} />
    </section>
  );
}
