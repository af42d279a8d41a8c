import { useSignal } from "@preact/signals";
import type { TrustSubject } from "portolan-host";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { ServerRecord } from "../../api.ts";
import { reasonOf } from "../api/client.ts";
import { TrustFacts } from "../chat/questions/trust.tsx";
import { Badge, Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Bones } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { StatusMark, stateWords } from "../parts/mark.tsx";
import { Dialog, MenuButton, MenuItem } from "../parts/popover.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { type ConsolePage, usePage } from "../state/console.ts";
import { goTo, hrefOf } from "../state/route.ts";
import { ChangeServer } from "./add-server.tsx";

/** A server in the rail: its state, and the one thing that helps it on. */
export function ServerRow({ server }: { server: ServerRecord }): JSX.Element {
  const page = usePage();
  const isTrusting = useSignal(false);
  const isChanging = useSignal(false);
  const { side, path } = page.route.value;
  const { name, state, counts, revision } = server;
  const running = page.store.calls.all.value.filter(
    (call) => call.server === name && !call.end && !call.waitsFor,
  ).length;
  const isUp = state === "ready" || state === "idle";
  const isUnread = state === "idle" && counts.tools + counts.prompts + counts.resources === 0;
  const facts = isUnread ? stateWords(state) : [`${counts.tools} tools`, revision].filter(Boolean).join(" · ");
  const trust = () => {
    isTrusting.value = true;
  };
  return (
    <li class="rail-item" data-current={(side === "inspect" && path[0] === name) || undefined}>
      <StatusMark state={state} isBusy={running > 0} />
      <a class="cut" href={hrefOf("inspect", name)} title={name}>
        <ServerText text={name} />
      </a>
      <span class="extra">
        {running > 0 ? <Badge tone="accent">{running} running</Badge> : <MainAct server={server} onTrust={trust} />}
        <ServerMenu
          server={server}
          onTrust={trust}
          onChange={() => {
            isChanging.value = true;
          }}
        />
      </span>
      <span
        class={state === "down" || state === "misconfigured" ? "sub cut c-danger" : "sub cut"}
        title={server.reason}
      >
        {isUp ? facts : <ServerText text={server.reason ?? stateWords(state)} />}
      </span>
      {isChanging.value && (
        <ChangeServer
          server={name}
          onClose={() => {
            isChanging.value = false;
          }}
        />
      )}
      {isTrusting.value && (
        <TrustDialog
          server={server}
          onClose={() => {
            isTrusting.value = false;
          }}
        />
      )}
    </li>
  );
}

/** The one action that helps a server on. */
function MainAct({ server, onTrust }: { server: ServerRecord; onTrust: () => void }): JSX.Element | null {
  const page = usePage();
  const { name, state } = server;
  if (state === "login") {
    return (
      <Button size="small" onClick={() => void signIn(page, name)}>
        Sign in
      </Button>
    );
  }
  if (state === "untrusted") {
    return (
      <Button size="small" onClick={onTrust}>
        Trust
      </Button>
    );
  }
  if (state === "misconfigured" || state === "down") {
    return (
      <Button size="small" href={hrefOf("inspect", name, "doctor")}>
        Fix
      </Button>
    );
  }
  if (state === "disabled") {
    return (
      <Button
        tone="quiet"
        size="small"
        icon="play"
        label={`Switch ${name} on`}
        onClick={() => void page.attempt(() => page.api.change("server.enable", { server: name, isOn: true }))}
      />
    );
  }
  return null;
}

async function signIn(page: ConsolePage, server: string): Promise<void> {
  await page.attempt(async () => {
    await page.api.change("login.begin", { server });
    goTo(hrefOf("inspect", server, "sign-in"));
  });
}

function ServerMenu(props: { server: ServerRecord; onTrust: () => void; onChange: () => void }): JSX.Element {
  const { server, onTrust, onChange } = props;
  const page = usePage();
  const { name, state } = server;
  const isOff = state === "disabled";
  const isRunning = state === "ready" || state === "starting" || state === "unresponsive";
  const start = () => page.api.change("server.start", { server: name });
  const stop = () => page.api.change("server.stop", { server: name });
  const restart = async () => {
    await stop();
    await start();
  };
  const enable = () => page.api.change("server.enable", { server: name, isOn: isOff });
  const remove = () => page.api.change("server.remove", { server: name });
  const logout = () => page.api.change("logout", { server: name });
  const ping = async () => {
    const { ms } = await page.api.read("server.ping", { server: name });
    page.toast(`${name} answered in ${Math.round(ms)} ms`, { tone: "ok" });
  };
  return (
    <MenuButton
      label={`Actions for ${name}`}
      button={{ tone: "quiet", size: "small", icon: "more", label: `Actions for ${name}`, class: "on-hover" }}
    >
      {(close) => {
        const act = (run: () => Promise<unknown>) => () => {
          close();
          void page.attempt(run);
        };
        return (
          <>
            {!isOff && !isRunning && (
              <MenuItem icon={<Icon name="play" />} onClick={act(start)}>
                Start
              </MenuItem>
            )}
            {isRunning && (
              <>
                <MenuItem icon={<Icon name="replay" />} onClick={act(restart)}>
                  Start again
                </MenuItem>
                <MenuItem icon={<Icon name="stop" />} onClick={act(stop)}>
                  Stop until it is needed
                </MenuItem>
                <MenuItem icon={<Icon name="clock" />} onClick={act(ping)}>
                  Ping
                </MenuItem>
              </>
            )}
            {!server.isTrusted && (
              <MenuItem
                icon={<Icon name="shield" />}
                onClick={() => {
                  close();
                  onTrust();
                }}
              >
                Trust
              </MenuItem>
            )}
            {server.transport === "http" && (
              <>
                <MenuItem
                  icon={<Icon name="key" />}
                  onClick={() => {
                    close();
                    void signIn(page, name);
                  }}
                >
                  Sign in
                </MenuItem>
                <MenuItem icon={<Icon name="out" />} onClick={act(logout)}>
                  Sign out
                </MenuItem>
              </>
            )}
            {server.transport !== "other" && (
              <MenuItem
                icon={<Icon name="edit" />}
                onClick={() => {
                  close();
                  onChange();
                }}
              >
                Change
              </MenuItem>
            )}
            <MenuItem icon={<Icon name={isOff ? "play" : "pause"} />} onClick={act(enable)}>
              {isOff ? "Switch on" : "Switch off"}
            </MenuItem>
            <MenuItem icon={<Icon name="trash" />} isDanger onClick={act(remove)}>
              Remove from this console
            </MenuItem>
          </>
        );
      }}
    </MenuButton>
  );
}

/** Shows the exact command or address of a server before it may start. */
export function TrustDialog({ server, onClose }: { server: ServerRecord; onClose: () => void }): JSX.Element {
  const page = usePage();
  const subject = useSignal<{ readonly subject: TrustSubject; readonly digest: string } | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const hints = useSignal(false);
  const { name } = server;
  useEffect(() => {
    page.api.read("server.subject", { server: name }).then(
      (reply) => {
        subject.value = reply;
      },
      (error: unknown) => {
        failure.value = reasonOf(error);
      },
    );
  }, []);
  const decide = (allow: boolean) =>
    void page.attempt(async () => {
      const digest = subject.peek()?.digest;
      if (digest === undefined) return;
      await page.api.change("server.trust", {
        server: name,
        allow,
        digest,
        ...(hints.peek() ? { trustHints: true } : {}),
      });
      onClose();
      if (allow) await page.api.change("server.start", { server: name });
    });
  return (
    <Dialog
      title={`Trust ${name}?`}
      onClose={onClose}
      footer={
        subject.value && (
          <>
            <Button tone="primary" onClick={() => decide(true)}>
              Trust and start
            </Button>
            <span class="grow" />
            <Button tone="quiet danger" onClick={() => decide(false)}>
              Never start it
            </Button>
          </>
        )
      }
    >
      <p class="t2">
        A server runs with your rights, or sees what you send to it. Trust it if you know where it comes from.
      </p>
      {failure.value !== undefined && <Note tone="danger">{failure.value}</Note>}
      {!subject.value && failure.value === undefined && <Bones label="Reading the configuration" />}
      {subject.value && (
        <>
          <TrustFacts subject={subject.value.subject} />
          <label class="row">
            <input
              type="checkbox"
              checked={hints.value}
              onChange={(event) => {
                hints.value = event.currentTarget.checked;
              }}
            />
            Also believe which of its tools only read
          </label>
        </>
      )}
    </Dialog>
  );
}
