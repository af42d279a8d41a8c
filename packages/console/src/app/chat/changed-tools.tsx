import { useSignal } from "@preact/signals";
import type { ChangedDefinition } from "portolan-host";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { ServerRecord } from "../../api.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Dialog } from "../parts/popover.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";
import { CatalogState } from "./catalog-state.tsx";
import { DefinitionChanges } from "./questions/definition-changes.tsx";
import { countText } from "./times.ts";

/** Says that servers changed what the person accepted: the model works without it until the person has looked. */
export function ChangedTools(): JSX.Element | null {
  const page = usePage();
  const shown = useSignal<string | undefined>(undefined);
  const servers = page.store.servers.all.value.filter(({ changed }) => changed > 0);
  const isOver = shown.value !== undefined && !servers.some(({ name }) => name === shown.value);
  useEffect(() => {
    // A later change must not open the dialog by itself.
    if (isOver) shown.value = undefined;
  }, [isOver]);
  return (
    <>
      {servers.map((server) => (
        <p key={server.name} class="changed-tools" role="status">
          <Icon name="warn" class="c-warn" />
          <span class="grow">
            <ServerText text={server.name} /> changed {countText(server.changed, "definition")} that you accepted. The
            model does not get {server.changed === 1 ? "it" : "them"} until you have looked.
          </span>
          <Button
            size="small"
            popup="dialog"
            onClick={() => {
              shown.value = server.name;
            }}
          >
            Look
          </Button>
        </p>
      ))}
      {servers.map((server) =>
        server.name === shown.value ? (
          <ChangesDialog
            key={server.name}
            server={server}
            onClose={() => {
              shown.value = undefined;
            }}
          />
        ) : null,
      )}
    </>
  );
}

function ChangesDialog({ server, onClose }: { server: ServerRecord; onClose: () => void }): JSX.Element {
  const page = usePage();
  const { name } = server;
  const catalog = page.catalogs.of(name).value;
  return (
    <Dialog
      title={`Changed by ${name}`}
      isWide
      onClose={onClose}
      footer={
        <Button keys="Esc" onClick={onClose}>
          Leave the rest switched off
        </Button>
      }
    >
      {catalog ? (
        catalog.changed.map((change) => <Change key={`${change.kind} ${change.name}`} server={name} change={change} />)
      ) : (
        <CatalogState server={name} label="Reading the changes" />
      )}
    </Dialog>
  );
}

function Change({ server, change }: { server: string; change: ChangedDefinition }): JSX.Element {
  const page = usePage();
  const { kind, name, digest, diff, acceptedAt } = change;
  const accept = () => page.api.change("server.accept", { server, kind, name, digest });
  return (
    <section class="stack">
      <div class="row wrap">
        <h3 class="grow">{kind === "tool" ? <ServerText class="tool" text={name} /> : "Instructions for the model"}</h3>
        {acceptedAt !== undefined && (
          <span class="small t3">accepted before on {new Date(acceptedAt).toLocaleDateString()}</span>
        )}
        <Button onClick={() => void page.attempt(accept)}>Accept the change</Button>
      </div>
      <DefinitionChanges server={server} diff={diff} />
    </section>
  );
}
