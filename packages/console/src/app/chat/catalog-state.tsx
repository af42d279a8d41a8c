import type { JSX } from "preact";
import { Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Bones } from "../parts/empty.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";

/** Stands where the lists of a server are not there yet: they are being read, or could not be. */
export function CatalogState({ server, label }: { server: string; label: string }): JSX.Element {
  const page = usePage();
  const failure = page.catalogs.failureOf(server).value;
  if (failure === undefined) return <Bones label={label} rows={2} />;
  return (
    <Note tone="danger">
      <p>
        <ServerText text={server} />: <ServerText text={failure} />
      </p>
      <Button size="small" icon="replay" onClick={() => page.catalogs.refresh(server)}>
        Try again
      </Button>
    </Note>
  );
}
