import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Activity } from "../activity/index.tsx";
import { Chat } from "../chat/index.tsx";
import { Find } from "../find/index.tsx";
import { Inspect } from "../inspect/index.tsx";
import { Bones } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { Toasts } from "../parts/toast.tsx";
import { usePage } from "../state/console.ts";
import { AddServer } from "./add-server.tsx";
import { CopyCommand } from "./closed.tsx";
import { Rail } from "./rail.tsx";
import { TrustDialog } from "./server-row.tsx";
import { SettingsDialog } from "./settings.tsx";
import { useShortcuts } from "./shortcuts.ts";
import { TopBar } from "./top-bar.tsx";
import { WaitingQuestions } from "./waiting.tsx";

/** The frame around both sides. */
export function App(): JSX.Element {
  const page = usePage();
  const { side } = page.route.value;
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const [isFinding, setFinding] = useState(false);
  const [isWaiting, setWaiting] = useState(false);
  const [isSetting, setSetting] = useState(false);
  const [isAdding, setAdding] = useState(false);
  const [trusting, setTrusting] = useState<string | undefined>(undefined);
  const toTrust = page.store.servers.all.value.find(({ name }) => name === trusting);
  const { theme } = page.store.settings.value;
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  }, [theme]);
  useEffect(() => setDrawerOpen(false), [page.route.value]);
  useShortcuts(
    () => setFinding(true),
    () => setWaiting(true),
  );
  const isReady = page.store.facts.value !== undefined;
  return (
    <div class="app" data-drawer={isDrawerOpen || undefined}>
      <TopBar
        isMenuOpen={isDrawerOpen}
        onMenu={() => setDrawerOpen(!isDrawerOpen)}
        onFind={() => setFinding(true)}
        onWaiting={() => setWaiting(true)}
        onSettings={() => setSetting(true)}
      />
      <Rail onSettings={() => setSetting(true)} onAddServer={() => setAdding(true)} />
      {isDrawerOpen && (
        <button type="button" class="drawer-back" aria-label="Close the list" onClick={() => setDrawerOpen(false)} />
      )}
      <main class="main" id="main">
        <LinkState />
        {!isReady ? (
          <div class="pad">
            <Bones label="Opening the console" rows={6} />
          </div>
        ) : side === "chat" ? (
          <Chat />
        ) : side === "inspect" ? (
          <Inspect />
        ) : (
          <Activity />
        )}
      </main>
      {isFinding && (
        <Find
          onClose={() => setFinding(false)}
          dialogs={{
            onSettings: () => setSetting(true),
            onAddServer: () => setAdding(true),
            onTrust: (server) => setTrusting(server),
          }}
        />
      )}
      {isAdding && <AddServer onClose={() => setAdding(false)} />}
      {toTrust && <TrustDialog server={toTrust} onClose={() => setTrusting(undefined)} />}
      {isWaiting && <WaitingQuestions onClose={() => setWaiting(false)} />}
      {isSetting && <SettingsDialog onClose={() => setSetting(false)} />}
      <Toasts />
    </div>
  );
}

/** Says that the console does not answer, and what that means for the person. */
function LinkState(): JSX.Element | null {
  const page = usePage();
  const { state, reason } = page.link.value;
  if (state !== "lost") return null;
  return (
    <div class="link-state" role="alert">
      <Icon name="plug" />
      <span class="grow">{reason} Trying again. What you type is kept.</span>
      <span class="small">If it has ended, run this again:</span>
      <CopyCommand command={page.store.facts.value?.isSandbox ? "npm start" : "portolan console"} />
    </div>
  );
}
