import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { Verbs } from "../../api.ts";
import { saveFile } from "../inspect/save-file.ts";
import { countText, timeText } from "../inspect/words.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Segments } from "../parts/tabs.tsx";
import { usePage } from "../state/console.ts";
import { goTo, hrefOf } from "../state/route.ts";
import { DoneView } from "./done.tsx";
import { GrantsPane } from "./grants.tsx";
import { LogView } from "./log-view.tsx";

type View = "done" | "log";

/** The calls that were carried out and who allowed them, in sentences or as the sealed log; beside them the grants. */
export function ActivitySide(): JSX.Element {
  const page = usePage();
  const text = useSignal("");
  const server = useSignal("");
  const verdict = useSignal<
    (Verbs["activity.verify"]["gives"] & { readonly ms: number; readonly head: number }) | undefined
  >(undefined);
  const isVerifying = useSignal(false);
  const search = useRef<HTMLInputElement>(null);
  const head = page.store.activity.value;
  const view: View = page.route.value.path[0] === "log" ? "log" : "done";
  const verify = async () => {
    isVerifying.value = true;
    const from = performance.now();
    const given = await page.attempt(() => page.api.read("activity.verify", {}));
    isVerifying.value = false;
    if (!given) return;
    verdict.value = { ...given, ms: performance.now() - from, head: page.store.activity.peek() };
    page.say(given.message);
  };
  const save = async () => {
    const given = await page.attempt(() => page.api.read("activity.export", {}));
    if (given) saveFile(given.name, given.text);
  };
  const verified = verdict.value;
  const added = verified ? Math.max(0, head - Math.max(verified.entries, verified.head)) : 0;
  return (
    <div class="activity">
      <section class="pane" aria-label="Activity">
        <header class="page-head">
          <h1>Activity</h1>
          <span class="grow" />
          <Button icon="download" onClick={save}>
            Export
          </Button>
          <Button icon="shield" keys="V" isBusy={isVerifying.value} onClick={verify}>
            Verify
          </Button>
        </header>
        <div
          class="seal"
          data-tone={
            verified === undefined ? undefined : !verified.isIntact ? "danger" : added === 0 ? "ok" : undefined
          }
        >
          <Icon name={verified?.isIntact === false ? "warn" : "shield"} />
          <div class="grow">
            <b>
              {verified === undefined
                ? `${countText(head)} ${head === 1 ? "entry" : "entries"}`
                : !verified.isIntact
                  ? "The log was changed"
                  : added === 0
                    ? "Sealed and whole"
                    : `Sealed and whole up to entry ${verified.entries}`}
            </b>
            <div class="small t2">
              {verified === undefined ? (
                "Each entry is sealed with those before it. Verify checks that none is missing and none was altered."
              ) : (
                <>
                  {verified.message.replace(/\.?$/, ".")} Checked in {timeText(verified.ms)}.
                  {added > 0 && ` ${countText(added)} newer: verify again.`}
                </>
              )}
            </div>
          </div>
        </div>
        <div class="bar-row">
          <Segments<View>
            label="View"
            choices={[
              { name: "done", label: "Done for you" },
              { name: "log", label: "Log" },
            ]}
            value={view}
            onChange={(next) => goTo(next === "log" ? hrefOf("activity", "log") : hrefOf("activity"))}
          />
          <div class="search-row">
            <Icon name="search" />
            <input
              ref={search}
              class="in"
              type="search"
              placeholder={view === "log" ? "Search the log" : "Search what was done"}
              aria-label={view === "log" ? "Search the log" : "Search what was done"}
              value={text.value}
              onInput={(event) => (text.value = event.currentTarget.value)}
            />
          </div>
          <select
            class="in connection-pick"
            aria-label="Server"
            value={server.value}
            onChange={(event) => (server.value = event.currentTarget.value)}
          >
            <option value="">All servers</option>
            {page.store.servers.all.value.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </div>
        {view === "done" ? (
          <DoneView text={text.value} server={server.value} head={head} />
        ) : (
          <LogView
            text={text.value}
            server={server.value}
            onVerify={() => void verify()}
            onSearch={() => search.current?.focus()}
          />
        )}
      </section>
      <GrantsPane />
    </div>
  );
}
