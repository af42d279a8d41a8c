import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { ConnectionFacts, ServerRecord } from "../../api.ts";
import { Badge, Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { StatusMark, stateWords } from "../parts/mark.tsx";
import { MenuButton, MenuItem } from "../parts/popover.tsx";
import { Quoted, ServerText } from "../parts/quoted.tsx";
import { TrustDialog } from "../shell/server-row.tsx";
import { usePage } from "../state/console.ts";
import { hrefOf } from "../state/route.ts";
import { inspectState } from "./state.ts";
import { timeText } from "./words.ts";

const revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const;

/** The name of a server, what is spoken with it, and what both sides can do. */
export function ServerHead({ server }: { server: ServerRecord }): JSX.Element {
  const page = usePage();
  const state = inspectState(page);
  const { name } = server;
  const ping = useSignal<string | undefined>(undefined);
  const isPinging = useSignal(false);
  const connection = state.connectionOf(name);
  const facts = connection?.state === "open" ? state.facts(connection).value.value : undefined;
  const showsInstructions = state.kept(`instructions:${name}`, false);
  const instructions = facts?.peer.instructions;
  const measure = async () => {
    isPinging.value = true;
    const given = await page.attempt(() => page.api.read("server.ping", { server: name }));
    isPinging.value = false;
    if (given) ping.value = timeText(given.ms);
  };
  return (
    <div class="server-head">
      <div class="server-line">
        <StatusMark state={server.state} />
        <h1>
          <ServerText text={name} />
        </h1>
        {server.version !== undefined && (
          <span class="t3 num cut version" title={server.version}>
            <ServerText text={server.version} />
          </span>
        )}
        <code class="t3 cut target" title={server.target}>
          <ServerText text={server.target} />
        </code>
        {server.state === "ready" && (
          <Button
            size="small"
            tone="quiet"
            isBusy={isPinging.value}
            onClick={measure}
            title="Measure the time to the server and back"
          >
            {ping.value ?? "Ping"}
          </Button>
        )}
        <span class="grow" />
        <ServerActions server={server} />
        <ConnectAs server={server} />
      </div>
      {server.state !== "ready" && server.state !== "idle" && (
        <Note tone={server.state === "starting" ? "accent" : server.state === "disabled" ? "plain" : "warn"}>
          <b>{stateWords(server.state)}.</b> {server.reason !== undefined && <ServerText text={server.reason} />}
        </Note>
      )}
      {connection?.isMain === false && connection.state !== "open" && (
        <Note tone={connection.state === "opening" ? "accent" : "danger"}>
          {connection.state === "opening"
            ? "Connecting…"
            : `The connection ${connection.state === "failed" ? "failed" : "is closed"}.`}{" "}
          {connection.reason !== undefined && <ServerText text={connection.reason} />}
        </Note>
      )}
      {connection?.isMain === false && connection.state === "open" && (
        <p class="small t2">
          Try uses a connection of its own
          {connection.revision !== undefined && (
            <>
              {" "}
              with revision <b class="num">{connection.revision}</b>
            </>
          )}
          . The chat keeps its connection{server.revision !== undefined && <> with {server.revision}</>}.
        </p>
      )}
      {facts && <Capabilities facts={facts} />}
      {instructions !== undefined && (
        <div class="instructions">
          <Button
            size="small"
            tone="quiet"
            icon={showsInstructions.value ? "down" : "right"}
            expanded={showsInstructions.value}
            onClick={() => (showsInstructions.value = !showsInstructions.value)}
          >
            Instructions
          </Button>
          {showsInstructions.value && <Quoted by={name} text={instructions} says="tells the model" />}
        </div>
      )}
      {server.listProblems.length > 0 && (
        <Note tone="warn">
          {server.listProblems.map((problem) => (
            <div key={problem}>
              <ServerText text={problem} />
            </div>
          ))}
        </Note>
      )}
    </div>
  );
}

/** The actions that fit the state of a server. */
export function ServerActions({ server }: { server: ServerRecord }): JSX.Element | null {
  const page = usePage();
  const { name, state } = server;
  const isTrusting = useSignal(false);
  const change = (verb: "server.start" | "server.stop") => page.attempt(() => page.api.change(verb, { server: name }));
  switch (state) {
    case "disabled":
      return (
        <Button
          icon="play"
          onClick={() => page.attempt(() => page.api.change("server.enable", { server: name, isOn: true }))}
        >
          Switch on
        </Button>
      );
    case "idle":
    case "closed":
    case "down":
      return (
        <>
          <Button icon="play" onClick={() => change("server.start")}>
            Start
          </Button>
          {state === "down" && <Button href={hrefOf("inspect", name, "doctor")}>Find the cause</Button>}
        </>
      );
    case "untrusted":
      return (
        <>
          <Button tone="primary" icon="shield" onClick={() => (isTrusting.value = true)}>
            Look at it and trust
          </Button>
          {isTrusting.value && <TrustDialog server={server} onClose={() => (isTrusting.value = false)} />}
        </>
      );
    case "misconfigured":
      return (
        <Button tone="primary" href={hrefOf("inspect", name, "doctor")}>
          Find the cause
        </Button>
      );
    case "login":
      return (
        <Button tone="primary" icon="key" href={hrefOf("inspect", name, "sign-in")}>
          Sign in
        </Button>
      );
    case "ready":
    case "unresponsive":
      return (
        <MenuButton label={`More about ${name}`} button={{ icon: "more", tone: "quiet", label: `More about ${name}` }}>
          {(close) => (
            <>
              <MenuItem
                icon={<Icon name="replay" />}
                onClick={async () => {
                  close();
                  await change("server.stop");
                  await change("server.start");
                }}
              >
                Restart
              </MenuItem>
              <MenuItem
                icon={<Icon name="stop" />}
                onClick={() => {
                  close();
                  void change("server.stop");
                }}
              >
                Stop until it is needed
              </MenuItem>
            </>
          )}
        </MenuButton>
      );
    default:
      return null;
  }
}

/** Chooses the connection: that of the host, or one of its own with a chosen revision. */
function ConnectAs({ server }: { server: ServerRecord }): JSX.Element {
  const page = usePage();
  const state = inspectState(page);
  const chosen = state.chosenConnection(server.name);
  const open = page.store.connections.all.value.filter((each) => each.server === server.name && !each.isMain);
  const connection = state.connectionOf(server.name);
  const wanted = useSignal<string | undefined>(undefined);
  const now = connection && !connection.isMain ? (connection.revision ?? wanted.value) : undefined;
  const choose = async (revision: string | undefined) => {
    wanted.value = revision;
    if (revision === undefined) {
      chosen.value = undefined;
      return;
    }
    const known = open.find((each) => each.revision === revision && each.state === "open");
    if (known) {
      chosen.value = known.id;
      return;
    }
    const given = await page.attempt(() => page.api.change("connection.open", { server: server.name, revision }));
    if (given) chosen.value = given.id;
  };
  const main = server.revision ?? "";
  return (
    <div class="connect-as">
      <span class="small t2" id="connect-as">
        Connect as
      </span>
      <fieldset class="seg wide-seg" aria-labelledby="connect-as">
        <button type="button" aria-pressed={now === undefined} onClick={() => choose(undefined)}>
          Auto <span class="t3 num">{main}</span>
        </button>
        {revisions.map((revision) => (
          <button
            key={revision}
            type="button"
            class="num"
            aria-pressed={now === revision}
            onClick={() => choose(revision)}
          >
            {revision}
          </button>
        ))}
      </fieldset>
      <MenuButton
        label="Revision"
        button={{ class: "narrow-menu num", children: now ?? `Auto ${main}`, icon: "updown" }}
      >
        {(close) =>
          [undefined, ...revisions].map((revision) => (
            <MenuItem
              key={revision ?? "auto"}
              checked={now === revision}
              onClick={() => {
                close();
                void choose(revision);
              }}
            >
              <span class="num">{revision ?? `Auto ${main}`}</span>
            </MenuItem>
          ))
        }
      </MenuButton>
      {connection && !connection.isMain && (
        <Button
          size="small"
          tone="quiet"
          icon="x"
          label="Close this connection"
          onClick={() => {
            chosen.value = undefined;
            void page.attempt(() => page.api.change("connection.close", { id: connection.id }));
          }}
        />
      )}
    </div>
  );
}

/** Features that newer revisions have given up. */
const deprecated = new Set(["sampling", "roots", "logging"]);

function Capabilities({ facts }: { facts: ConnectionFacts }): JSX.Element {
  const { peer, client } = facts;
  const isLatest = facts.revision === "2026-07-28";
  return (
    <dl class="caps">
      <dt class="label">Server has</dt>
      <dd>
        <CapabilityList
          capabilities={peer.capabilities}
          expected={["tools", "resources", "prompts", "completions", "logging"]}
          marks={isLatest}
        />
      </dd>
      <dt class="label">We offer</dt>
      <dd>
        <CapabilityList
          capabilities={client.capabilities}
          expected={["sampling", "elicitation", "roots"]}
          marks={isLatest}
        />
      </dd>
    </dl>
  );
}

function CapabilityList(props: { capabilities: object; expected: readonly string[]; marks: boolean }): JSX.Element {
  const given = new Map(Object.entries(props.capabilities));
  const names = [...new Set([...props.expected, ...given.keys()])].filter(
    (name) => name !== "extensions" && name !== "experimental",
  );
  const others = ["extensions", "experimental"].flatMap((name) =>
    Object.keys((given.get(name) as object | undefined) ?? {}),
  );
  return (
    <ul class="caps-list">
      {names.map((name) => (
        <li key={name} data-off={!given.has(name) || undefined}>
          <Icon name={given.has(name) ? "check" : "x"} small class={given.has(name) ? "c-ok" : "t3"} />
          {!given.has(name) && <span class="hidden">not </span>}
          <ServerText text={name} />
          <span class="t3">
            <ServerText text={partsOf(given.get(name))} />
          </span>
          {props.marks && given.has(name) && deprecated.has(name) && <Badge>deprecated</Badge>}
        </li>
      ))}
      {others.map((name) => (
        <li key={name}>
          <Icon name="plus" small class="c-ok" />
          <code>
            <ServerText text={name} />
          </code>
        </li>
      ))}
    </ul>
  );
}

/** Writes the parts of a capability in words: `listChanged` is "list changed". */
function partsOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  return Object.entries(value)
    .filter(([, part]) => part !== false)
    .map(([name]) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`))
    .join(", ");
}
