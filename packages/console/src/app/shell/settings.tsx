import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Settings } from "../../api.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/popover.tsx";
import { Segments } from "../parts/tabs.tsx";
import { usePage } from "../state/console.ts";
import { AddModel } from "./add-model.tsx";
import { FolderDialog } from "./folders.tsx";
import { commandKey } from "./keys.ts";
import { modelLabel } from "./model-picker.tsx";

const keys: readonly (readonly [key: string, does: string])[] = [
  [`${commandKey} K`, "Find anything"],
  [`${commandKey} J`, "Go to the oldest question"],
  [`${commandKey} .`, "Cancel the newest running call"],
  ["F6", "Next part of the page"],
  ["/ · @", "Prompts · resources, in the message"],
  ["Y · S · A", "Allow once · this session · always, on a question"],
  ["N · Esc", "Never · not now, on a question"],
  [`${commandKey} ⏎`, "Send a form"],
];

/** The look, models, folders and keys. */
export function SettingsDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const page = usePage();
  const isAdding = useSignal(false);
  const isEditingFolders = useSignal(false);
  const { settings, models, facts, roots } = page.store;
  const change = (changed: Partial<Settings>) => void page.attempt(() => page.api.change("settings.change", changed));
  return (
    <Dialog title="Settings" onClose={onClose}>
      <section class="setting">
        <h3>Look</h3>
        <Segments<Settings["theme"]>
          label="Look"
          choices={[
            { name: "system", label: "As the system" },
            { name: "light", label: "Light" },
            { name: "dark", label: "Dark" },
          ]}
          value={settings.value.theme}
          onChange={(theme) => change({ theme })}
        />
      </section>
      <section class="setting">
        <h3>Model of new conversations</h3>
        <ul class="stack">
          {models.value.map((model) => (
            <li key={model.id}>
              <label class="row">
                <input
                  type="radio"
                  name="model"
                  checked={model.id === (settings.value.model ?? models.value[0]?.id)}
                  onChange={() => change({ model: model.id })}
                />
                <span>{modelLabel(model)}</span>
                {model.isDemo && <Badge>offline</Badge>}
                {model.notice !== undefined && <span class="hint">{model.notice}</span>}
              </label>
            </li>
          ))}
        </ul>
        <div>
          <Button
            size="small"
            icon="plus"
            onClick={() => {
              isAdding.value = true;
            }}
          >
            Add a model
          </Button>
        </div>
      </section>
      <section class="setting">
        <h3>Folders</h3>
        <p class="t2">
          {roots.value.length === 0
            ? "Servers know no folder of yours."
            : `Servers may ask for ${roots.value.length} of your folders.`}
        </p>
        <div>
          <Button
            size="small"
            icon="folder"
            onClick={() => {
              isEditingFolders.value = true;
            }}
          >
            Change the folders
          </Button>
        </div>
      </section>
      <section class="setting">
        <h3>Keys</h3>
        <dl class="keys">
          {keys.map(([key, does]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
      </section>
      <p class="hint">
        Portolan {facts.value?.version}. Calls are saved in <code>{facts.value?.folder}</code>.
      </p>
      {isAdding.value && (
        <AddModel
          onAdded={(model) => change({ model })}
          onClose={() => {
            isAdding.value = false;
          }}
        />
      )}
      {isEditingFolders.value && (
        <FolderDialog
          onClose={() => {
            isEditingFolders.value = false;
          }}
        />
      )}
    </Dialog>
  );
}
