import { useSignal } from "@preact/signals";
import type { Grant } from "portolan-host";
import type { JSX } from "preact";
import { whenText } from "../inspect/words.ts";
import { Badge, Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Empty } from "../parts/empty.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";
import { revokeGrants } from "./revoke.ts";

/** The grants: calls that are allowed, or refused, without a question. Each can be revoked. */
export function GrantsPane(): JSX.Element {
  const page = usePage();
  const grants = page.store.grants.value;
  const ofActions = grants.filter(({ kind }) => kind !== "trust");
  const ofTrust = grants.filter(({ kind }) => kind === "trust");
  const asksAll = useSignal(false);
  const revokeAll = async () => {
    asksAll.value = false;
    const ids = grants.map(({ id }) => id);
    await revokeGrants(page, ids, "All grants are revoked.");
  };
  return (
    <section class="pane grants" aria-label="Grants">
      <div class="pane-head">
        <h2>Grants</h2>
        <span class="t3 num">{grants.length}</span>
        <span class="grow" />
        {grants.length > 1 &&
          (asksAll.value ? (
            <>
              <Button size="small" tone="danger" onClick={revokeAll}>
                Revoke {grants.length}
              </Button>
              <Button size="small" tone="quiet" onClick={() => (asksAll.value = false)}>
                Keep
              </Button>
            </>
          ) : (
            <Button size="small" tone="quiet danger" onClick={() => (asksAll.value = true)}>
              Revoke all
            </Button>
          ))}
      </div>
      <div class="pane-body">
        {grants.length === 0 ? (
          <Empty icon="lock" title="No grants">
            <p>Each call is asked about. What you allow for longer appears here.</p>
          </Empty>
        ) : (
          <>
            {ofActions.length > 0 && <GrantList title="Without asking you" grants={ofActions} />}
            {ofTrust.length > 0 && <GrantList title="Trusted servers" grants={ofTrust} />}
          </>
        )}
      </div>
      <div class="pane-foot">
        <Note>A grant holds for one exact definition. When a server changes it, you are asked again.</Note>
      </div>
    </section>
  );
}

/** Grants of one kind, by server. */
function GrantList({ title, grants }: { title: string; grants: readonly Grant[] }): JSX.Element {
  const servers = [...new Set(grants.map(({ server }) => server))].sort();
  return (
    <section>
      <h3 class="label grant-kind">{title}</h3>
      {servers.map((server) => (
        <div key={server} class="grant-server">
          <h4>
            <ServerText text={server} />
          </h4>
          <ul>
            {grants
              .filter((grant) => grant.server === server)
              .map((grant) => (
                <GrantRow key={grant.id} grant={grant} />
              ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

function GrantRow({ grant }: { grant: Grant & { readonly uses?: number; readonly lastUsedAt?: number } }): JSX.Element {
  const page = usePage();
  const isBusy = useSignal(false);
  const { id, kind, allow, subject, scope, createdAt, expiresAt, uses } = grant;
  const name =
    kind !== "trust" ? subject || `every ${kind}` : subject === "hints" ? "its read-only labels" : "the server itself";
  const revoke = async () => {
    isBusy.value = true;
    await revokeGrants(page, [id], `${name} of ${grant.server} is revoked. You are asked again.`);
    isBusy.value = false;
  };
  const facts = [
    kind,
    `since ${whenText(createdAt)}`,
    // The call that was asked about is none of the uses, and a server that is trusted is used all the time.
    kind === "trust" || uses === undefined ? undefined : furtherUses(kind, uses),
    expiresAt === undefined
      ? scope === "session"
        ? "until the console ends"
        : undefined
      : `ends ${whenText(expiresAt)}`,
  ];
  return (
    <li class="grant">
      <div class="grow">
        <div class="row wrap">
          <code class="cut">
            <ServerText text={name} />
          </code>
          {allow ? (
            <Badge tone={scope === "always" ? "accent" : "plain"}>
              {scope === "always" ? "always" : "this session"}
            </Badge>
          ) : (
            <Badge tone="danger">never</Badge>
          )}
          {grant.args !== undefined && <Badge>these arguments</Badge>}
        </div>
        <div class="small t3">{facts.filter(Boolean).join(", ")}</div>
      </div>
      <Button size="small" isBusy={isBusy.value} label={`Revoke ${name} of ${grant.server}`} onClick={revoke}>
        Revoke
      </Button>
    </li>
  );
}

function furtherUses(kind: Grant["kind"], uses: number): string {
  const noun = kind === "tool" ? "call" : "use";
  return uses === 0 ? `no further ${noun} yet` : uses === 1 ? `1 further ${noun}` : `${uses} further ${noun}s`;
}
