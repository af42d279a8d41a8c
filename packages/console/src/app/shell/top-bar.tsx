import type { JSX } from "preact";
import type { Settings } from "../../api.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";
import { hrefOf } from "../state/route.ts";
import { commandKey } from "./keys.ts";
import { Rose } from "./rose.tsx";
import { Sides } from "./sides.tsx";
import { TasksTray } from "./tasks-tray.tsx";

/** The bar over both sides. */
export function TopBar(props: {
  isMenuOpen: boolean;
  onMenu: () => void;
  onFind: () => void;
  onWaiting: () => void;
  onSettings: () => void;
}): JSX.Element {
  const page = usePage();
  const { theme } = page.store.settings.value;
  const next = nextTheme[theme];
  const { side, path } = page.route.value;
  const conversation = side === "chat" ? page.store.conversations.get(path[0] ?? "").value : undefined;
  const title =
    conversation?.title ?? (side === "inspect" ? (path[0] ?? "Inspect") : side === "chat" ? "Portolan" : "Activity");
  return (
    <header class="top">
      <Button
        class="burger"
        tone="quiet"
        icon="menu"
        label="Servers and conversations"
        expanded={props.isMenuOpen}
        onClick={props.onMenu}
      />
      <a class="brand" href={hrefOf("chat")} aria-label="Portolan">
        <Rose />
        <span>Portolan</span>
      </a>
      <Sides />
      <span class="narrow-title cut">
        <ServerText text={title} />
      </span>
      <button type="button" class="find-button" onClick={props.onFind}>
        <Icon name="search" />
        <span class="grow cut">Find a server, tool, message or action</span>
        <kbd aria-hidden="true">{commandKey} K</kbd>
      </button>
      <WaitingButton onWaiting={props.onWaiting} />
      <TasksTray />
      <Button
        tone="quiet"
        icon={theme === "dark" ? "moon" : theme === "light" ? "sun" : "contrast"}
        label={`Look: ${theme === "system" ? "as the system" : theme}. Change to ${next === "system" ? "that of the system" : next}`}
        class="wide-only"
        onClick={() => void page.attempt(() => page.api.change("settings.change", { theme: next }))}
      />
      <Button tone="quiet" icon="sliders" label="Settings" popup="dialog" onClick={props.onSettings} />
    </header>
  );
}

const nextTheme: { readonly [T in Settings["theme"]]: Settings["theme"] } = {
  system: "dark",
  dark: "light",
  light: "system",
};

/** Says that questions wait which are not in the conversation that is shown. */
function WaitingButton({ onWaiting }: { onWaiting: () => void }): JSX.Element | null {
  const page = usePage();
  const { side, path } = page.route.value;
  const here = side === "chat" ? path[0] : undefined;
  const others = page.store.questions.all.value.filter(
    ({ conversation }) => conversation === undefined || conversation !== here,
  ).length;
  if (others === 0) return null;
  return (
    <Button icon="ask" class="waiting-button" title="Questions elsewhere" onClick={onWaiting}>
      <span class="num">{others}</span>
      <span class="n-text">{others === 1 ? "question" : "questions"}</span>
    </Button>
  );
}
