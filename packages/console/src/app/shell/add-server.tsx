import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { EditableServer, FoundServer } from "../../api.ts";
import { reasonOf } from "../api/client.ts";
import { Badge, Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Bones } from "../parts/empty.tsx";
import { Dialog } from "../parts/popover.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { Segments } from "../parts/tabs.tsx";
import { usePage } from "../state/console.ts";
import { goTo, hrefOf } from "../state/route.ts";

type Way = "typed" | "found";

/** Adds a server: by its command or address, or one that another product has configured. */
export function AddServer({ isFound, onClose }: { isFound?: boolean; onClose: () => void }): JSX.Element {
  const way = useSignal<Way>(isFound ? "found" : "typed");
  return (
    <Dialog title="Add a server" onClose={onClose}>
      <Segments<Way>
        label="How"
        choices={[
          { name: "typed", label: "Command or address" },
          { name: "found", label: "Found on this machine" },
        ]}
        value={way.value}
        onChange={(name) => {
          way.value = name;
        }}
      />
      {way.value === "typed" ? <TypedForm onClose={onClose} /> : <FoundList onClose={onClose} />}
    </Dialog>
  );
}

/** Changes the command, address, variables or headers of a server. */
export function ChangeServer({ server, onClose }: { server: string; onClose: () => void }): JSX.Element {
  const page = usePage();
  const entry = useSignal<EditableServer | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  useEffect(() => {
    page.api.read("server.entry", { server }).then(
      (given) => (entry.value = given),
      (error: unknown) => (failure.value = reasonOf(error)),
    );
  }, []);
  return (
    <Dialog title={`Change ${server}`} onClose={onClose}>
      {failure.value !== undefined && (
        <Note tone="danger">
          <ServerText text={failure.value} lines="keep" />
        </Note>
      )}
      {!entry.value && failure.value === undefined && <Bones label="Reading the configuration" />}
      {entry.value && <ChangeForm server={server} entry={entry.value} onClose={onClose} />}
    </Dialog>
  );
}

function TypedForm({ onClose }: { onClose: () => void }): JSX.Element {
  const page = usePage();
  const target = page.drafts.get("add server target", "");
  const name = page.drafts.get("add server name", "");
  const submit = async ({ isAddress, pairs, keep }: TypedFields) => {
    const chosen = name.peek().trim() || nameFrom(target.peek());
    const given = parsePairs(pairs, isAddress ? ":" : "=");
    await page.api.change("server.add", {
      name: chosen,
      target: target.peek().trim(),
      ...(Object.keys(given).length === 0 ? {} : isAddress ? { headers: given } : { env: given }),
      ...(keep ? { keep: true } : {}),
    });
    page.drafts.drop("add server target");
    page.drafts.drop("add server name");
    onClose();
    goTo(hrefOf("inspect", chosen));
  };
  return (
    <ServerForm
      target={target}
      isAddress={false}
      keeps="Keep it in my configuration"
      onSubmit={submit}
      onClose={onClose}
    >
      <label class="field">
        <span class="cap">Name</span>
        <input
          class="in"
          placeholder={nameFrom(target.value)}
          value={name.value}
          onInput={(event) => {
            name.value = event.currentTarget.value;
          }}
        />
        {name.value.trim() === "" && target.value.trim() !== "" && (
          <span class="hint">It is called {nameFrom(target.value)} if you give no name.</span>
        )}
      </label>
    </ServerForm>
  );
}

function ChangeForm(props: { server: string; entry: EditableServer; onClose: () => void }): JSX.Element {
  const { server, entry, onClose } = props;
  const page = usePage();
  const target = useSignal(entry.target);
  const isKept = useSignal(false);
  const submit = async ({ isAddress, pairs, keep }: TypedFields) => {
    const typed = target.peek().trim();
    const given = parseKeptPairs(pairs, isAddress ? ":" : "=");
    await page.api.change("server.replace", {
      server,
      ...(typed === "" || typed === entry.target ? {} : { target: typed }),
      ...(isAddress ? { headers: given } : { env: given }),
      ...(keep ? { keep: true } : {}),
    });
    onClose();
    page.toast(`${server} is changed.`, { tone: "ok" });
  };
  return (
    <ServerForm
      target={target}
      isAddress={entry.isAddress}
      names={entry.names}
      {...(entry.file !== undefined && { keeps: `Also change ${entry.file}` })}
      onKeep={(keep) => {
        isKept.value = keep;
      }}
      onSubmit={submit}
      onClose={onClose}
    >
      <p class="hint" role="status">
        {isKept.value
          ? "Its conversations stay. What you allowed ends if the file changes: you are asked again."
          : `Its conversations stay. What you allowed stays, too, if you change only ${
              entry.isAddress ? "headers" : "variables"
            }; with another command or address you are asked again.`}
      </p>
    </ServerForm>
  );
}

/** What a person has typed besides the command or address. */
interface TypedFields {
  readonly isAddress: boolean;
  /** Lines of variables or headers. */
  readonly pairs: string;
  readonly keep: boolean;
}

/** The fields of a server. `names` are the variables or headers that it has: then it is changed, and otherwise added. */
function ServerForm(props: {
  target: Signal<string>;
  isAddress: boolean;
  names?: readonly string[];
  /** The words of the choice to keep it in a file; without them there is none. */
  keeps?: string;
  /** Called when the person chooses to keep it there, or not to. */
  onKeep?: (keep: boolean) => void;
  onSubmit: (fields: TypedFields) => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}): JSX.Element {
  const { target, names, keeps, onKeep, onSubmit, onClose, children } = props;
  const failure = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const typed = target.value.trim();
  const isAddress = typed === "" ? props.isAddress : /^https?:/i.test(typed);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    isBusy.value = true;
    failure.value = undefined;
    try {
      await onSubmit({ isAddress, pairs: String(form.get("pairs") ?? ""), keep: form.get("keep") !== null });
    } catch (error) {
      failure.value = reasonOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  const line = isAddress ? "Name: value" : "NAME=value";
  return (
    <form class="stack" onSubmit={(event) => void submit(event)}>
      <label class="field">
        <span class="cap">Command or address</span>
        <input
          class="in mono"
          required={names === undefined}
          placeholder={
            names === undefined
              ? "npx -y some-server /path   or   https://example.com/mcp"
              : "Empty: it stays as it is. It is not shown if it contains a secret."
          }
          value={target.value}
          onInput={(event) => {
            target.value = event.currentTarget.value;
          }}
        />
        <span class="hint">
          {names === undefined
            ? "A command is started on this machine, with your rights. You see it again before it starts."
            : "A command is started on this machine, with your rights, as soon as you save."}
        </span>
      </label>
      {children}
      <details open={names !== undefined && names.length > 0}>
        <summary>{isAddress ? "Headers" : "Environment"}</summary>
        <label class="field">
          <span class="hint">
            {names === undefined
              ? `One on each line: ${line}`
              : `One on each line: ${line}. A name alone keeps its value; one without a line is removed.`}
          </span>
          <textarea
            class="in mono"
            name="pairs"
            rows={3}
            autocomplete="off"
            spellcheck={false}
            defaultValue={names?.join("\n")}
          />
        </label>
      </details>
      {keeps !== undefined && (
        <label class="row">
          <input type="checkbox" name="keep" onChange={(event) => onKeep?.(event.currentTarget.checked)} />
          <span class="words">{keeps}</span>
        </label>
      )}
      {failure.value !== undefined && (
        <Note tone="danger">
          <ServerText text={failure.value} lines="keep" />
        </Note>
      )}
      <div class="row">
        <button type="submit" class="btn primary" aria-busy={isBusy.value}>
          {isBusy.value && <span class="spin" />}
          {names === undefined ? "Add the server" : "Save and start again"}
        </button>
        <Button tone="quiet" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

function FoundList({ onClose }: { onClose: () => void }): JSX.Element {
  const page = usePage();
  const found = useSignal<readonly FoundServer[] | undefined>(undefined);
  const problems = useSignal<readonly string[]>([]);
  const failure = useSignal<string | undefined>(undefined);
  const load = async () => {
    failure.value = undefined;
    try {
      const reply = await page.api.read("found", {});
      found.value = reply.servers;
      problems.value = reply.problems;
    } catch (error) {
      failure.value = reasonOf(error);
    }
  };
  useEffect(() => void load(), []);
  if (failure.value !== undefined) {
    return (
      <>
        <Note tone="danger">
          <ServerText text={failure.value} lines="keep" />
        </Note>
        <Button icon="replay" onClick={() => void load()}>
          Try again
        </Button>
      </>
    );
  }
  if (!found.value) return <Bones label="Looking for servers" rows={4} />;
  const adopt = ({ name, file }: FoundServer) =>
    page.attempt(async () => {
      await page.api.change("server.adopt", { name, file });
      onClose();
      goTo(hrefOf("inspect", name));
    });
  return (
    <div class="stack">
      {found.value.length === 0 && <p class="t2">No other product on this machine has servers.</p>}
      <ul class="found">
        {found.value.map((server) => (
          <li key={`${server.file} ${server.name}`} class="row">
            <div class="grow">
              <p class="row">
                <b class="cut">
                  <ServerText text={server.name} />
                </b>
                <Badge>{server.product}</Badge>
              </p>
              <p class="mono t3 cut" title={server.target}>
                <ServerText text={server.target} />
              </p>
              {server.problem !== undefined && (
                <p class="small c-danger">
                  <ServerText text={server.problem} lines="keep" />
                </p>
              )}
            </div>
            {server.isKnown ? (
              <span class="small t3">added</span>
            ) : (
              <Button size="small" onClick={() => void adopt(server)}>
                Add
              </Button>
            )}
          </li>
        ))}
      </ul>
      {problems.value.map((problem) => (
        <Note key={problem} tone="warn">
          <ServerText text={problem} lines="keep" />
        </Note>
      ))}
    </div>
  );
}

/** A name for a server that the person has not named. */
export function nameFrom(target: string): string {
  const text = target.trim();
  if (text === "") return "";
  if (URL.canParse(text) && /^https?:/i.test(text))
    return new URL(text).hostname.replace(/^(www|mcp)\./, "").split(".")[0] ?? "server";
  const words = text.split(/\s+/).filter((word) => !word.startsWith("-"));
  const runners = ["npx", "uvx", "node", "python", "python3", "bunx", "deno", "run", "docker"];
  const word = words.find((one) => !runners.includes(one)) ?? words[0] ?? "server";
  const last = word.split("/").filter(Boolean).at(-1) ?? word;
  return (
    last
      .replace(/\.(js|mjs|ts|py)$/, "")
      .replace(/@.*$/, "")
      .replace(/^(mcp-server-|server-)/, "") || "server"
  );
}

/** Reads lines of names and values. */
export function parsePairs(text: string, separator: ":" | "="): { [name: string]: string } {
  const pairs: { [name: string]: string } = {};
  for (const line of text.split("\n")) {
    const at = line.indexOf(separator);
    if (at > 0) pairs[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return pairs;
}

/** Reads lines of names and values. A name alone gets `null`: its value stays. */
export function parseKeptPairs(text: string, separator: ":" | "="): { [name: string]: string | null } {
  const lines = text.split("\n").map((line) => line.trim());
  const alone = lines.filter((line) => line !== "" && !line.includes(separator));
  return { ...Object.fromEntries(alone.map((name) => [name, null])), ...parsePairs(text, separator) };
}
