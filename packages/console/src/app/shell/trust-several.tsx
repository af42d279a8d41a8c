import { useSignal } from "@preact/signals";
import type { TrustSubject } from "portolan-host";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { reasonOf } from "../api/client.ts";
import { TrustFacts } from "../chat/questions/trust.tsx";
import { Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Bones } from "../parts/empty.tsx";
import { Dialog } from "../parts/popover.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";

/** A server that waits for trust, as it would be started; or why that cannot be read. */
type Candidate = { readonly name: string } & (
  | { readonly subject: TrustSubject; readonly digest: string }
  | { readonly failure: string }
);

/** Shows the exact command or address of each server that waits for trust, and trusts and starts the chosen ones. */
export function TrustSeveral({ names, onClose }: { names: readonly string[]; onClose: () => void }): JSX.Element {
  const page = usePage();
  const candidates = useSignal<readonly Candidate[] | undefined>(undefined);
  const chosen = useSignal<readonly string[]>([]);
  useEffect(() => {
    const read = (name: string): Promise<Candidate> =>
      page.api.read("server.subject", { server: name }).then(
        ({ subject, digest }) => ({ name, subject, digest }),
        (error: unknown) => ({ name, failure: reasonOf(error) }),
      );
    Promise.all(names.map(read)).then((read) => (candidates.value = read));
  }, []);
  const trust = async () => {
    const all = candidates.peek() ?? [];
    onClose();
    for (const name of chosen.peek()) {
      const candidate = all.find((each) => each.name === name);
      if (!candidate || !("digest" in candidate)) continue;
      const { digest } = candidate;
      await page.attempt(async () => {
        await page.api.change("server.trust", { server: name, allow: true, digest });
        await page.api.change("server.start", { server: name });
      });
    }
  };
  const count = chosen.value.length;
  return (
    <Dialog
      title="Trust several servers"
      onClose={onClose}
      footer={
        candidates.value && (
          <>
            <Button tone="primary" disabled={count === 0} onClick={trust}>
              {count === 0 ? "Choose servers" : `Trust and start ${count}`}
            </Button>
            <span class="grow" />
            <Button tone="quiet" onClick={onClose}>
              Cancel
            </Button>
          </>
        )
      }
    >
      <p class="t2">
        A server runs with your rights, or sees what you send to it. Choose those that you know where they come from.
      </p>
      {!candidates.value && <Bones label="Reading the configuration" rows={names.length} />}
      {candidates.value?.map((candidate) => (
        <section key={candidate.name} class="stack trust-one">
          <label class="row">
            <input
              type="checkbox"
              disabled={"failure" in candidate}
              checked={chosen.value.includes(candidate.name)}
              onChange={(event) => {
                const others = chosen.peek().filter((name) => name !== candidate.name);
                chosen.value = event.currentTarget.checked ? [...others, candidate.name] : others;
              }}
            />
            <b>
              <ServerText text={candidate.name} />
            </b>
          </label>
          {"failure" in candidate ? (
            <Note tone="danger">
              <ServerText text={candidate.failure} lines="keep" />
            </Note>
          ) : (
            <TrustFacts subject={candidate.subject} />
          )}
        </section>
      ))}
    </Dialog>
  );
}
