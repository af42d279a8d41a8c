import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { ModelRecord } from "../../api.ts";
import { Badge } from "../parts/badge.tsx";
import { Icon } from "../parts/icon.tsx";
import { MenuButton, MenuItem } from "../parts/popover.tsx";
import { usePage } from "../state/console.ts";
import { AddModel } from "./add-model.tsx";

/** The name of a model for people. */
export function modelLabel({ id, label, isDemo }: ModelRecord): string {
  return isDemo && label === id ? "Demo model" : label;
}

/** Chooses the model that answers. */
export function ModelPicker(props: { model: string | undefined; onChange: (model: string) => void }): JSX.Element {
  const page = usePage();
  const isAdding = useSignal(false);
  const { model, onChange } = props;
  const models = page.store.models.value;
  const chosen = models.find(({ id }) => id === model);
  return (
    <>
      <MenuButton
        label="Model"
        button={{
          tone: "quiet",
          class: "model-button",
          children: (
            <>
              <span class="hidden">Model:</span>
              <span class="cut">{chosen ? modelLabel(chosen) : "No model"}</span>
              {chosen?.isDemo && <Badge>offline</Badge>}
              <Icon name="updown" />
            </>
          ),
        }}
      >
        {(close) => (
          <>
            {models.map((one) => (
              <MenuItem
                key={one.id}
                checked={one.id === model}
                icon={<Icon name="check" class={one.id === model ? "c-accent" : "invisible"} />}
                onClick={() => {
                  close();
                  onChange(one.id);
                }}
              >
                <span class="grow">
                  {modelLabel(one)}
                  {one.notice !== undefined && <span class="hint block">{one.notice}</span>}
                </span>
              </MenuItem>
            ))}
            <MenuItem
              icon={<Icon name="plus" />}
              onClick={() => {
                close();
                isAdding.value = true;
              }}
            >
              Add a model
            </MenuItem>
          </>
        )}
      </MenuButton>
      {isAdding.value && (
        <AddModel
          onAdded={onChange}
          onClose={() => {
            isAdding.value = false;
          }}
        />
      )}
    </>
  );
}
