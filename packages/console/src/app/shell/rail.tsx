import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { ConversationHead } from "../../api.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Dialog, MenuButton, MenuItem } from "../parts/popover.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";
import { goTo, hrefOf } from "../state/route.ts";
import { ServerRow } from "./server-row.tsx";
import { Sides } from "./sides.tsx";
import { TrustSeveral } from "./trust-several.tsx";

/** Servers and conversations, beside both sides. */
export function Rail({ onSettings, onAddServer }: { onSettings: () => void; onAddServer: () => void }): JSX.Element {
  const page = usePage();
  const { store } = page;
  const toTrust = useSignal<readonly string[] | undefined>(undefined);
  const untrusted = store.servers.all.value.filter(({ state }) => state === "untrusted").map(({ name }) => name);
  const { side, path } = page.route.value;
  const conversations = [...store.conversations.all.value].sort((a, b) => b.changedAt - a.changedAt);
  const isReady = store.facts.value !== undefined;
  return (
    <nav class="rail" aria-label="Servers and conversations">
      <div class="drawer-sides">
        <Sides />
        <Button icon="sliders" popup="dialog" onClick={onSettings}>
          Settings
        </Button>
      </div>
      <section>
        <div class="rail-head">
          <h2 class="label">Servers</h2>
          <Button
            class="end"
            tone="quiet"
            size="small"
            icon="plus"
            label="Add a server"
            popup="dialog"
            onClick={onAddServer}
          />
        </div>
        <ul>
          {store.servers.all.value.map((server) => (
            <ServerRow key={server.name} server={server} />
          ))}
        </ul>
        {untrusted.length > 1 && (
          <div class="rail-more">
            <Button
              size="small"
              icon="shield"
              popup="dialog"
              onClick={() => {
                toTrust.value = untrusted;
              }}
            >
              Trust several of {untrusted.length}
            </Button>
          </div>
        )}
        {isReady && store.servers.ids.value.length === 0 && (
          <p class="rail-hint hint">No server yet. Add one with +.</p>
        )}
      </section>
      <section>
        <div class="rail-head">
          <h2 class="label">Conversations</h2>
          <Button class="end" tone="quiet" size="small" icon="edit" label="New conversation" href={hrefOf("chat")} />
        </div>
        <ul>
          {side === "chat" && path[0] === undefined && (
            <li class="rail-item conversation" data-current>
              <a class="cut" href={hrefOf("chat")} aria-current="page">
                New conversation
              </a>
            </li>
          )}
          {conversations.map((conversation) => (
            <ConversationRow key={conversation.id} conversation={conversation} />
          ))}
        </ul>
      </section>
      <div class="rail-foot">
        <div class="rail-item" data-current={side === "activity" || undefined}>
          <Icon name="shield" />
          <a href={hrefOf("activity")} aria-current={side === "activity" ? "page" : undefined}>
            Activity
          </a>
          <span class="extra small t3 num">{store.activity.value.toLocaleString("en")} sealed</span>
        </div>
      </div>
      {toTrust.value && (
        <TrustSeveral
          names={toTrust.value}
          onClose={() => {
            toTrust.value = undefined;
          }}
        />
      )}
    </nav>
  );
}

function ConversationRow({ conversation }: { conversation: ConversationHead }): JSX.Element {
  const page = usePage();
  const { side, path } = page.route.value;
  const isRenaming = useSignal(false);
  const { id, title, state } = conversation;
  const isHere = side === "chat" && path[0] === id;
  const remove = async () => {
    await page.api.change("conversation.remove", { id });
    if (isHere) goTo(hrefOf("chat"));
    page.toast("The conversation was removed.", { tone: "ok" });
  };
  return (
    <li class="rail-item conversation" data-current={isHere || undefined}>
      <a class="cut" href={hrefOf("chat", id)} title={title} aria-current={isHere ? "page" : undefined}>
        <ServerText text={title} />
      </a>
      <span class="extra">
        {state === "running" && <span class="spin" role="img" aria-label="Running" />}
        {state === "waiting" && (
          <span role="img" aria-label="Waits for you">
            <Icon name="ask" class="c-accent" />
          </span>
        )}
        {(state === "failed" || state === "interrupted") && (
          <span role="img" aria-label={state === "failed" ? "Failed" : "Interrupted"}>
            <Icon name="warn" class="c-danger" />
          </span>
        )}
        <MenuButton
          label={`Actions for ${title}`}
          button={{ tone: "quiet", size: "small", icon: "more", label: `Actions for ${title}`, class: "on-hover" }}
        >
          {(close) => (
            <>
              <MenuItem
                icon={<Icon name="edit" />}
                onClick={() => {
                  close();
                  isRenaming.value = true;
                }}
              >
                Rename
              </MenuItem>
              <MenuItem
                icon={<Icon name="trash" />}
                isDanger
                onClick={() => {
                  close();
                  void page.attempt(remove);
                }}
              >
                Remove
              </MenuItem>
            </>
          )}
        </MenuButton>
      </span>
      {isRenaming.value && (
        <RenameDialog
          conversation={conversation}
          onClose={() => {
            isRenaming.value = false;
          }}
        />
      )}
    </li>
  );
}

function RenameDialog({ conversation, onClose }: { conversation: ConversationHead; onClose: () => void }): JSX.Element {
  const page = usePage();
  const title = useSignal(conversation.title);
  const save = (event: Event) => {
    event.preventDefault();
    void page.attempt(async () => {
      await page.api.change("conversation.change", { id: conversation.id, title: title.peek().trim() });
      onClose();
    });
  };
  return (
    <Dialog title="Rename the conversation" onClose={onClose}>
      <form class="stack" onSubmit={save}>
        <input
          class="in"
          aria-label="Title"
          dir="auto"
          required
          maxLength={200}
          value={title.value}
          onInput={(event) => {
            title.value = event.currentTarget.value;
          }}
        />
        <div class="row">
          <button type="submit" class="btn primary">
            Rename
          </button>
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
