import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { RootRecord } from "../../api.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Dialog } from "../parts/popover.tsx";
import { usePage } from "../state/console.ts";

/** The last two parts of a folder, for a narrow place. */
function shortName({ uri, name }: RootRecord): string {
  if (name !== undefined) return name;
  return decodeURI(uri)
    .replace(/^file:\/\//, "")
    .split("/")
    .filter(Boolean)
    .slice(-2)
    .join("/");
}

/** The folders that servers may know, and a way to change them. */
export function Folders(): JSX.Element {
  const page = usePage();
  const isEditing = useSignal(false);
  const roots = page.store.roots.value;
  return (
    <section>
      <div class="side-head">
        <h2>Folders shared</h2>
        <Button
          class="end"
          tone="quiet"
          size="small"
          icon="edit"
          label="Change the folders"
          popup="dialog"
          onClick={() => {
            isEditing.value = true;
          }}
        />
      </div>
      {roots.length === 0 && <p class="hint">Servers know no folder of yours.</p>}
      <ul>
        {roots.map((root) => (
          <li key={root.uri} title={root.uri}>
            <Icon name="folder" class="t3" />
            <span class="grow cut">{shortName(root)}</span>
            <span class="small t3 cut">{root.for?.join(", ") ?? "all servers"}</span>
          </li>
        ))}
      </ul>
      {isEditing.value && (
        <FolderDialog
          onClose={() => {
            isEditing.value = false;
          }}
        />
      )}
    </section>
  );
}

/** Adds and removes folders. Each server still needs the person's consent to see them. */
export function FolderDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const page = usePage();
  const path = useSignal("");
  const only = useSignal("");
  const roots = page.store.roots.value;
  const set = (next: readonly RootRecord[]) => page.attempt(() => page.api.change("roots.set", { roots: next }));
  const add = async (event: Event) => {
    event.preventDefault();
    const typed = path.peek().trim();
    if (typed === "") return;
    const uri = typed.startsWith("file:") ? typed : `file://${encodeURI(typed.startsWith("/") ? typed : `/${typed}`)}`;
    const isAdded = await set([...roots, { uri, ...(only.peek() === "" ? {} : { for: [only.peek()] }) }]);
    if (isAdded) path.value = "";
  };
  return (
    <Dialog title="Folders that servers may know" onClose={onClose}>
      <p class="t2">
        A server learns the names of these folders after you agree. They are suggestions: they do not lock a server in.
      </p>
      <ul class="stack">
        {roots.map((root) => (
          <li key={root.uri} class="row">
            <Icon name="folder" class="t3" />
            <span class="grow cut mono" title={root.uri}>
              {root.uri}
            </span>
            <span class="small t3">{root.for?.join(", ") ?? "all servers"}</span>
            <Button
              tone="quiet"
              size="small"
              icon="x"
              label={`Remove ${root.uri}`}
              onClick={() => void set(roots.filter(({ uri }) => uri !== root.uri))}
            />
          </li>
        ))}
      </ul>
      <form class="row wrap" onSubmit={(event) => void add(event)}>
        <input
          class="in mono grow"
          aria-label="Path of the folder"
          placeholder="/home/you/project"
          value={path.value}
          onInput={(event) => {
            path.value = event.currentTarget.value;
          }}
        />
        <select
          class="in narrow"
          aria-label="For which servers"
          value={only.value}
          onChange={(event) => {
            only.value = event.currentTarget.value;
          }}
        >
          <option value="">all servers</option>
          {page.store.servers.all.value.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <button type="submit" class="btn large">
          Add
        </button>
      </form>
    </Dialog>
  );
}
