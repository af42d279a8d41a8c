import { useSignal } from "@preact/signals";
import type { ToolAnnotations } from "portolan";
import type { Action, ApprovalQuestion } from "portolan-host";
import type { JSX } from "preact";
import type { QuestionRecord } from "../../../api.ts";
import { Badge, Note } from "../../parts/badge.tsx";
import { Quoted, ServerText } from "../../parts/quoted.tsx";
import { ArgumentList } from "../arguments.tsx";
import { useAnswering } from "./answering.ts";
import { consentChoices, QuestionFrame } from "./frame.tsx";

type Question = Extract<QuestionRecord, { readonly kind: "approve" }>;

/** May the model, or an app, do this? */
export function ApprovalCard({ question }: { question: Question }): JSX.Element {
  const answering = useAnswering(question);
  const onlyThese = useSignal(false);
  const { server, action, reason, cautions, findings, resembles, by, isOnce } = question;
  const hasCare = findings.length > 0 || resembles !== undefined || cautions.length > 0;
  const verdict = (allow: boolean, scope: string) => ({
    allow,
    for: scope,
    ...(onlyThese.value ? { onlyTheseArguments: true } : {}),
  });
  return (
    <QuestionFrame
      question={question}
      answering={answering}
      icon="ask"
      isCaution={findings.length > 0 || resembles !== undefined}
      title={<Title server={server} action={action} by={by} />}
      spoken={spokenTitle(server, action, by)}
      aside={action.kind === "tool" && <EffectBadge annotations={action.definition.annotations} />}
      choices={consentChoices(answering, verdict, {
        yes: "Allow once",
        isOnce: isOnce === true,
        endsWithApp: action.kind === "tool" && action.app !== undefined,
      })}
    >
      <div class="ask">
        <section>
          <Subject action={action} />
        </section>
        <section>
          <h4 class="label">Why you are asked</h4>
          <p>
            <ServerText text={reason} lines="keep" />
          </p>
          {hasCare && <Care question={question} />}
          {action.kind === "tool" && action.definition.description !== undefined && (
            <Quoted by={server} text={action.definition.description} />
          )}
          {action.kind === "tool" && isOnce !== true && (
            <label class="row small t2">
              <input
                type="checkbox"
                checked={onlyThese.value}
                onChange={(event) => {
                  onlyThese.value = event.currentTarget.checked;
                }}
              />
              Keep my answer only for exactly these arguments
            </label>
          )}
        </section>
      </div>
    </QuestionFrame>
  );
}

function Title({ server, action, by }: { server: string; action: Action; by?: "app" | undefined }): JSX.Element {
  if (action.kind === "tool") {
    return (
      <>
        {by === "app" ? (
          <>
            An app of <ServerText text={server} />
          </>
        ) : (
          "The model"
        )}{" "}
        <span class="t2">wants to use {action.app !== undefined && "the app of"}</span> <ServerText text={server} />{" "}
        <ServerText class="tool" text={action.tool} />
      </>
    );
  }
  if (action.kind === "resource") {
    return (
      <>
        Give the model a resource of <ServerText text={server} />
      </>
    );
  }
  if (action.kind === "skill") {
    return (
      <>
        Give the model instructions of <ServerText text={server} />
      </>
    );
  }
  return (
    <>
      Show an app of <ServerText text={server} />
    </>
  );
}

function spokenTitle(server: string, action: Action, by?: "app"): string {
  if (action.kind === "tool") {
    const whose = action.app === undefined ? server : `the app of ${server}`;
    return `${by === "app" ? `An app of ${server}` : "The model"} wants to use ${whose} ${action.tool}`;
  }
  if (action.kind === "resource") return `${server}: may the model read ${action.uri}?`;
  return action.kind === "skill" ? `${server}: may the model load instructions?` : `${server}: may its app be shown?`;
}

function Subject({ action }: { action: Action }): JSX.Element {
  if (action.kind === "tool") {
    return (
      <>
        {action.app !== undefined && (
          <>
            <h4 class="label">The app</h4>
            <p class="mono">
              <ServerText text={action.app} />
            </p>
          </>
        )}
        <h4 class="label">With these arguments</h4>
        <ArgumentList text={JSON.stringify(action.args)} />
      </>
    );
  }
  if (action.kind === "resource") {
    return (
      <>
        <h4 class="label">The resource</h4>
        <p class="mono">
          <ServerText text={action.uri} />
        </p>
      </>
    );
  }
  if (action.kind === "skill") {
    return (
      <>
        <h4 class="label">The instructions</h4>
        <p class="mono">
          <ServerText text={action.uri} />
        </p>
        {action.changes && action.changes.length > 0 && (
          <ul class="plain-list">
            {action.changes.map(({ uri, how }) => (
              <li key={uri}>
                <Badge tone="warn">{how}</Badge> <ServerText text={uri} />
              </li>
            ))}
          </ul>
        )}
      </>
    );
  }
  return (
    <>
      <h4 class="label">The app</h4>
      <p class="mono">
        <ServerText text={action.uri} />
      </p>
      <ul class="plain-list">
        {action.warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </>
  );
}

/** The effect of a tool as its server declares it. A declaration proves nothing, so it is never shown as safe. */
export function EffectBadge({ annotations = {} }: { annotations?: ToolAnnotations | undefined }): JSX.Element {
  const { readOnlyHint, destructiveHint } = annotations;
  if (readOnlyHint) return <Badge>says it only reads</Badge>;
  if (destructiveHint) return <Badge tone="danger">can destroy</Badge>;
  if (readOnlyHint === undefined && destructiveHint === undefined) return <Badge>unmarked</Badge>;
  return <Badge tone="warn">changes something</Badge>;
}

/** Reasons for special care, each as one sentence. */
function Care({ question }: { question: Pick<ApprovalQuestion, "cautions" | "findings" | "resembles"> }): JSX.Element {
  const { cautions, findings, resembles } = question;
  return (
    <Note tone="warn">
      {resembles !== undefined && (
        <p>
          Its name looks like <ServerText text={resembles} />, which is another tool.
        </p>
      )}
      {cautions.map(({ kind, from }) => (
        <p key={kind}>
          {kind === "untrusted-content" ? "Text from " : "Data of "}
          <ServerText text={from.join(", ")} />
          {kind === "untrusted-content" ? " may have caused this call." : " may go to this server."}
        </p>
      ))}
      <Findings findings={findings} />
    </Note>
  );
}

/** Suspicious words of a server, with the reason and the place. */
export function Findings({ findings }: Pick<ApprovalQuestion, "findings">): JSX.Element {
  return (
    <>
      {findings.map(({ why, excerpt, at }) => (
        <p key={at}>
          {why} <ServerText class="mono" text={excerpt} />
        </p>
      ))}
    </>
  );
}
