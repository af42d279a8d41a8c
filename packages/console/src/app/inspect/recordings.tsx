import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { CatalogDifference, RecordingHead, Verbs } from "../../api.ts";
import { reasonOf } from "../api/client.ts";
import { Badge, Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Diff } from "../parts/diff.tsx";
import { Bones, Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { Dialog, MenuButton, MenuItem } from "../parts/popover.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";
import { goTo, hrefOf } from "../state/route.ts";
import { saveFile } from "./save-file.ts";
import { useServer } from "./use-server.ts";
import { countOf, sizeText, whenText } from "./words.ts";

/** Recordings of servers: made, opened without a server, exported, answered from, and compared. */
export function RecordingsTab(): JSX.Element {
  const page = usePage();
  const server = useServer();
  const { store } = page;
  const file = useRef<HTMLInputElement>(null);
  const isComparing = useSignal<string | undefined>(undefined);
  const asksRaw = useSignal(false);
  const [name = ""] = page.route.value.path;
  const all = [...store.recordings.all.value].sort((one, other) => other.startedAt - one.startedAt);
  const running = all.find((each) => each.server === name && each.isRunning);
  const start = async (isRaw: boolean) => {
    asksRaw.value = false;
    const given = await page.attempt(() =>
      page.api.change("recording.start", { server: name, ...(isRaw && { isRaw }) }),
    );
    if (given) page.say("The recording runs.");
  };
  const bring = async (files: FileList | null) => {
    const [chosen] = files ?? [];
    if (chosen === undefined) return;
    const text = await chosen.text();
    const given = await page.attempt(() => page.api.change("recording.import", { name: chosen.name, text }));
    if (given) page.toast("The recording is here.", { tone: "ok" });
    if (file.current) file.current.value = "";
  };
  return (
    <div class="tab-page">
      <header class="page-head">
        <div>
          <h1>Recordings</h1>
          <p class="t2">Every message with its time. Secrets are redacted when it is written.</p>
        </div>
        <span class="grow" />
        <input
          ref={file}
          class="hidden"
          type="file"
          accept=".jsonl,.txt,.json"
          aria-label="File of a recording"
          tabIndex={-1}
          onChange={(event) => bring(event.currentTarget.files)}
        />
        <Button icon="folder" onClick={() => file.current?.click()}>
          Open a file
        </Button>
        <Button onClick={() => (isComparing.value = "")}>Compare</Button>
        {running ? (
          <Button
            class="is-recording"
            icon="record"
            onClick={() => page.attempt(() => page.api.change("recording.stop", { id: running.id }))}
          >
            Stop recording {name}
          </Button>
        ) : (
          server && (
            <MenuButton label="Record" button={{ tone: "primary", icon: "record", children: `Record ${name}` }}>
              {(close) => (
                <>
                  <MenuItem
                    onClick={() => {
                      close();
                      void start(false);
                    }}
                  >
                    With secrets redacted
                  </MenuItem>
                  <MenuItem
                    onClick={() => {
                      close();
                      asksRaw.value = true;
                    }}
                  >
                    Exactly as it is…
                  </MenuItem>
                </>
              )}
            </MenuButton>
          )
        )}
      </header>
      {all.length === 0 ? (
        <Empty icon="record" title="No recordings yet">
          <p>
            Record a server to look at its messages later, to answer from them without the server, or to compare what
            changed.
          </p>
        </Empty>
      ) : (
        <ul class="record-list">
          {all.map((recording) => (
            <Row key={recording.id} recording={recording} onCompare={() => (isComparing.value = recording.id)} />
          ))}
        </ul>
      )}
      {isComparing.value !== undefined && (
        <CompareDialog first={isComparing.value} onClose={() => (isComparing.value = undefined)} />
      )}
      {asksRaw.value && (
        <Dialog
          title="Record everything as it is?"
          onClose={() => (asksRaw.value = false)}
          footer={
            <>
              <Button tone="danger" icon="record" onClick={() => start(true)}>
                Record with secrets
              </Button>
              <Button onClick={() => (asksRaw.value = false)}>Cancel</Button>
            </>
          }
        >
          <p>
            Arguments and results are written as they are sent, with keys, tokens and personal data in them. Do not give
            such a file away.
          </p>
        </Dialog>
      )}
    </div>
  );
}

function Row({ recording, onCompare }: { recording: RecordingHead; onCompare: () => void }): JSX.Element {
  const page = usePage();
  const { id, server, startedAt, isRunning, messages, bytes, isRedacted, isCut, revision } = recording;
  const isBusy = useSignal(false);
  const open = async () => {
    isBusy.value = true;
    const given = await page.attempt(() => page.api.change("recording.open", { id }));
    isBusy.value = false;
    if (given) goTo(`${hrefOf("inspect", server, "timeline")}?connection=${encodeURIComponent(given.connection)}`);
  };
  const mock = async () => {
    const given = await page.attempt(() => page.api.change("recording.mock", { id }));
    if (!given) return;
    page.toast(`${given.server} answers from the recording.`, {
      tone: "ok",
      action: { label: "Show", run: () => goTo(hrefOf("inspect", given.server)) },
    });
  };
  const save = async () => {
    const given = await page.attempt(() => page.api.read("recording.export", { id }));
    if (given) saveFile(given.name, given.text);
  };
  return (
    <li class="card record">
      <span class={isRunning ? "c-danger" : "t3"}>
        <Icon name="record" />
      </span>
      <div class="grow">
        <div class="row">
          <b>
            <ServerText text={server} />
          </b>
          {isRunning && <Badge tone="danger">recording</Badge>}
          {!isRedacted && <Badge tone="warn">{isCut ? "may have secrets" : "with secrets"}</Badge>}
          {isCut && <Badge tone="warn">the end is missing</Badge>}
          {revision !== undefined && <span class="small t3 num">{revision}</span>}
        </div>
        <div class="small t3 num">
          {whenText(startedAt)}, {countOf(messages, "message")}, {sizeText(bytes)}
        </div>
      </div>
      {isRunning ? (
        <Button icon="stop" onClick={() => page.attempt(() => page.api.change("recording.stop", { id }))}>
          Stop
        </Button>
      ) : (
        <>
          <Button icon="clock" isBusy={isBusy.value} onClick={open}>
            Open
          </Button>
          <Button icon="plug" onClick={mock} title="Adds a server that answers from this recording">
            Mock
          </Button>
          <MenuButton
            label="More"
            button={{ tone: "quiet", icon: "more", label: `More about the recording of ${server}` }}
          >
            {(close) => (
              <>
                <MenuItem
                  icon={<Icon name="download" />}
                  onClick={() => {
                    close();
                    void save();
                  }}
                >
                  Export
                </MenuItem>
                <MenuItem
                  icon={<Icon name="updown" />}
                  onClick={() => {
                    close();
                    onCompare();
                  }}
                >
                  Compare with…
                </MenuItem>
                <MenuItem
                  isDanger
                  icon={<Icon name="trash" />}
                  onClick={() => {
                    close();
                    void page.attempt(() => page.api.change("recording.remove", { id }));
                  }}
                >
                  Delete
                </MenuItem>
              </>
            )}
          </MenuButton>
        </>
      )}
    </li>
  );
}

type Side = Verbs["compare"]["takes"]["before"];

/** Compares what two servers or recordings offer. */
function CompareDialog({ first, onClose }: { first: string; onClose: () => void }): JSX.Element {
  const page = usePage();
  const { recordings, servers } = page.store;
  const [name = ""] = page.route.value.path;
  const before = useSignal(first === "" ? "" : `r ${first}`);
  const after = useSignal(`s ${name}`);
  const found = useSignal<readonly CatalogDifference[] | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const sideOf = (text: string): Side =>
    text.startsWith("r ") ? { recording: text.slice(2) } : { server: text.slice(2) };
  const compare = async () => {
    if (before.value === "" || after.value === "") return;
    isBusy.value = true;
    found.value = undefined;
    failure.value = undefined;
    const sides = [before, after].map(({ value }) => sideOf(value)) as [Side, Side];
    try {
      found.value = (await page.api.read("compare", { before: sides[0], after: sides[1] })).differences;
    } catch (error) {
      failure.value = reasonOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  const pick = (label: string, value: { value: string }) => (
    <div class="field grow">
      <label for={`compare-${label}`}>{label}</label>
      <select
        id={`compare-${label}`}
        class="in"
        value={value.value}
        onChange={(event) => {
          value.value = event.currentTarget.value;
          found.value = undefined;
          failure.value = undefined;
        }}
      >
        <option value="">Choose…</option>
        <optgroup label="Servers">
          {servers.all.value.map((each) => (
            <option key={each.name} value={`s ${each.name}`}>
              {each.name}, as it is now
            </option>
          ))}
        </optgroup>
        <optgroup label="Recordings">
          {recordings.all.value.map((each) => (
            <option key={each.id} value={`r ${each.id}`}>
              {each.server}, {whenText(each.startedAt)}
            </option>
          ))}
        </optgroup>
      </select>
    </div>
  );
  return (
    <Dialog
      title="Compare what is offered"
      isWide
      onClose={onClose}
      footer={
        <Button tone="primary" isBusy={isBusy.value} onClick={compare}>
          Compare
        </Button>
      }
    >
      <div class="row wrap compare-sides">
        {pick("Before", before)}
        {pick("After", after)}
      </div>
      {failure.value !== undefined ? (
        <Note tone="danger">
          <ServerText text={failure.value} lines="keep" />
        </Note>
      ) : isBusy.value ? (
        <Bones label="Comparing" />
      ) : found.value ? (
        <Differences differences={found.value} />
      ) : (
        <p class="t2">Choose two servers or recordings: each tool, resource and prompt that differs is listed.</p>
      )}
    </Dialog>
  );
}

const tones = { added: "ok", removed: "danger", changed: "warn" } as const;
const maxDifferences = 200;

function Differences({ differences }: { differences: readonly CatalogDifference[] }): JSX.Element {
  if (differences.length === 0) return <Note tone="ok">Both offer the same.</Note>;
  return (
    <ul class="stack">
      <li class="t2" role="status">
        {countOf(differences.length, "difference")}
      </li>
      {differences.length > maxDifferences && <li class="t3">The first {maxDifferences} are shown.</li>}
      {differences.slice(0, maxDifferences).map((each) => (
        <li key={`${each.kind} ${each.name}`} class="stack">
          <div class="row">
            <Badge tone={tones[each.how]}>{each.how}</Badge>
            <span class="t3">{each.kind}</span>
            <code>
              <ServerText text={each.name} />
            </code>
          </div>
          {each.lines.length > 0 && <Diff lines={each.lines} />}
        </li>
      ))}
    </ul>
  );
}
