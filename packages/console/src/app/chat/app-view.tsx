import { useSignal } from "@preact/signals";
import type { JsonObject } from "portolan";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { AppRecord, CallRecord } from "../../api.ts";
import { Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { type ConsolePage, usePage } from "../state/console.ts";
import { QuestionsOf } from "./questions/card.tsx";

/** The app of a tool, which shows the result. It appears when the person wants it, in the tab that opened it. */
export function AppView({ record }: { record: CallRecord }): JSX.Element {
  const page = usePage();
  const opened = useSignal<string | undefined>(undefined);
  const app = page.store.apps.get(opened.value ?? "").value;
  const isElsewhere = page.store.apps.all.value.some(({ call, state }) => call === record.id && state !== "stopped");
  const open = () =>
    void page.attempt(async () => {
      const { id } = await page.api.change("app.open", { call: record.id });
      opened.value = id;
    });
  const close = () => {
    const id = opened.peek();
    opened.value = undefined;
    if (id !== undefined) page.api.change("app.close", { id }).catch((error: unknown) => page.fail(error));
  };
  useEffect(() => {
    if (!app || app.state === "stopped") return;
    // The app ends with this part of the page, which is all that shows it.
    return close;
  }, [app === undefined || app.state === "stopped"]);
  return (
    <section class="app-frame stack">
      {app?.state === "stopped" && <Note tone="warn">The app is gone. {app.reason}</Note>}
      {app?.state === "waiting" && (
        <>
          <p class="row t3">
            <span class="spin" /> Waiting for the app
          </p>
          <QuestionsOf server={record.server} />
        </>
      )}
      {app?.state === "open" && <AppFrame app={app} />}
      <div class="row wrap">
        {app && app.state !== "stopped" ? (
          <Button size="small" icon="x" onClick={close}>
            Close the app
          </Button>
        ) : (
          <Button size="small" icon="image" onClick={open}>
            Show the app
          </Button>
        )}
        <span class="hint">
          {isElsewhere && !app ? "It is shown in another tab. " : ""}
          <ServerText text={record.server} /> draws it in a frame that cannot read this page. What it does is asked for
          as everything else.
          {app?.state === "open" && (app.tools ?? []).length > 0 && record.conversation !== undefined && (
            <>
              {" "}
              While it is open, the model may use its tools: <ServerText text={(app.tools ?? []).join(", ")} />.
            </>
          )}
        </span>
      </div>
    </section>
  );
}

/** More messages in a second than an honest app sends. */
const maxMessagesPerSecond = 100;
const maxQueued = 200;

/** The frame of an app, and the way of its messages to the console and back. */
function AppFrame({ app }: { app: AppRecord }): JSX.Element {
  const page = usePage();
  const frame = useRef<HTMLIFrameElement>(null);
  const { id, frame: address, server, height } = app;
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const ended = new AbortController();
    relay(page, id, element, new URL(address).origin, ended.signal);
    // The listener is there: the sandbox announces itself while it loads.
    element.src = address;
    return () => ended.abort();
  }, [address]);
  useEffect(() => {
    if (frame.current && height !== undefined) frame.current.style.height = `${height}px`;
  }, [height]);
  return (
    <iframe
      ref={frame}
      title={`App of ${server}`}
      sandbox="allow-scripts allow-same-origin allow-forms"
      referrerpolicy="origin"
    />
  );
}

/** Passes messages of a frame on in their order, and those for it back, until `signal` aborts. */
function relay(page: ConsolePage, id: string, frame: HTMLIFrameElement, origin: string, signal: AbortSignal): void {
  const queue: JsonObject[] = [];
  let isSending = false;
  let second = 0;
  let count = 0;
  const stop = (reason: string) => {
    frame.remove();
    page.toast(reason, { tone: "danger" });
    page.api.change("app.close", { id }).catch(() => {});
  };
  const send = async () => {
    if (isSending) return;
    isSending = true;
    try {
      for (let next = queue.shift(); next && !signal.aborted; next = queue.shift()) {
        await page.api.read("app.message", { id, message: next });
      }
    } catch (error) {
      if (!signal.aborted) page.fail(error);
    } finally {
      isSending = false;
    }
  };
  const hear = ({ source, origin: from, data }: MessageEvent) => {
    if (source !== frame.contentWindow || from !== origin) return;
    const now = Math.floor(Date.now() / 1_000);
    count = now === second ? count + 1 : 1;
    second = now;
    if (count > maxMessagesPerSecond || queue.length >= maxQueued) return stop("The app sent too much and was closed.");
    if (typeof data !== "object" || data === null || Array.isArray(data)) return;
    queue.push(data as JsonObject);
    void send();
  };
  addEventListener("message", hear, { signal });
  const end = page.store.listen((event) => {
    // Never "*": the frame might show another page by now.
    if (event.kind === "app-message" && event.app === id) frame.contentWindow?.postMessage(event.message, origin);
  });
  signal.addEventListener("abort", end);
}
