import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { reasonOf } from "../api/client.ts";
import { Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/popover.tsx";
import { Segments } from "../parts/tabs.tsx";
import { usePage } from "../state/console.ts";

type Provider = "anthropic" | "openai";

/** Adds a model of a provider. Its key stays in the memory of the console. */
export function AddModel(props: { onAdded: (id: string) => void; onClose: () => void }): JSX.Element {
  const page = usePage();
  const provider = useSignal<Provider>("anthropic");
  const failure = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const value = (name: string) => String(form.get(name) ?? "").trim();
    isBusy.value = true;
    failure.value = undefined;
    try {
      const address = value("address");
      const { id } = await page.api.change("model.add", {
        provider: provider.value,
        model: value("model"),
        key: value("key"),
        ...(address === "" ? {} : { address }),
      });
      props.onAdded(id);
      props.onClose();
    } catch (error) {
      failure.value = reasonOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <Dialog title="Add a model" onClose={props.onClose}>
      <form class="stack" onSubmit={(event) => void submit(event)}>
        <Segments<Provider>
          label="Provider"
          choices={[
            { name: "anthropic", label: "Anthropic" },
            { name: "openai", label: "OpenAI or compatible" },
          ]}
          value={provider.value}
          onChange={(name) => {
            provider.value = name;
          }}
        />
        <label class="field">
          <span class="cap">Model</span>
          <input
            class="in mono"
            name="model"
            required
            placeholder={provider.value === "anthropic" ? "claude-…" : "gpt-…"}
          />
        </label>
        {provider.value === "openai" && (
          <label class="field">
            <span class="cap">
              Address <span class="type">optional</span>
            </span>
            <input class="in mono" name="address" type="url" placeholder="http://127.0.0.1:11434/v1" />
            <span class="hint">For a model on this machine or of another provider.</span>
          </label>
        )}
        <label class="field">
          <span class="cap">Key</span>
          <input
            class="in mono"
            name="key"
            type="password"
            autocomplete="off"
            required={provider.value === "anthropic"}
          />
          <span class="hint">It is kept in the memory of the console until it ends, and written nowhere.</span>
        </label>
        {failure.value !== undefined && <Note tone="danger">{failure.value}</Note>}
        <div class="row">
          <button type="submit" class="btn primary" aria-busy={isBusy.value}>
            {isBusy.value && <span class="spin" />}
            Add the model
          </button>
          <Button tone="quiet" onClick={props.onClose}>
            Cancel
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
