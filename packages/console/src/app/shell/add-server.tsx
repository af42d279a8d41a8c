import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { FoundServer } from "../../api.ts";
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

function TypedForm({ onClose }: { onClose: () => void }): JSX.Element {
  const page = usePage();
  const target = page.drafts.get("add server target", "");
  const name = page.drafts.get("add server name", "");
  const failure = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const isAddress = /^https?:/i.test(target.value.trim());
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const pairs = parsePairs(String(form.get("pairs") ?? ""), isAddress ? ":" : "=");
    isBusy.value = true;
    failure.value = undefined;
    const chosen = name.peek().trim() || nameFrom(target.peek());
    try {
      await page.api.change("server.add", {
        name: chosen,
        target: target.peek().trim(),
        ...(Object.keys(pairs).length === 0 ? {} : isAddress ? { headers: pairs } : { env: pairs }),
        ...(form.get("keep") ? { keep: true } : {}),
      });
      page.drafts.drop("add server target");
      page.drafts.drop("add server name");
      onClose();
      goTo(hrefOf("inspect", chosen));
    } catch (error) {
      failure.value = reasonOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <form class="stack" onSubmit={(event) => void submit(event)}>
      <label class="field">
        <span class="cap">Command or address</span>
        <input
          class="in mono"
          required
          placeholder="npx -y some-server /path   or   https://example.com/mcp"
          value={target.value}
          onInput={(event) => {
            target.value = event.currentTarget.value;
          }}
        />
        <span class="hint">
          A command is started on this machine, with your rights. You see it again before it starts.
        </span>
      </label>
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
      <details>
        <summary>{isAddress ? "Headers" : "Environment"}</summary>
        <label class="field">
          <span class="hint">{isAddress ? "One on each line: Name: value" : "One on each line: NAME=value"}</span>
          <textarea class="in mono" name="pairs" rows={3} autocomplete="off" spellcheck={false} />
        </label>
      </details>
      <label class="row">
        <input type="checkbox" name="keep" />
        Keep it in my configuration
      </label>
      {failure.value !== undefined && (
        <Note tone="danger">
          <ServerText text={failure.value} lines="keep" />
        </Note>
      )}
      <div class="row">
        <button type="submit" class="btn primary" aria-busy={isBusy.value}>
          {isBusy.value && <span class="spin" />}
          Add the server
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
