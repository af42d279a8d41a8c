import type { JSX } from "preact";
import type { QuestionRecord } from "../../../api.ts";
import { Note } from "../../parts/badge.tsx";
import { safeAddress } from "../../parts/link.ts";
import { Quoted, ServerText } from "../../parts/quoted.tsx";
import { useAnswering } from "./answering.ts";
import { type AnswerChoice, QuestionFrame } from "./frame.tsx";

type Question = Extract<QuestionRecord, { readonly kind: "openUrl" }>;

/** Will the person open this address? */
export function AddressCard({ question }: { question: Question }): JSX.Element {
  const answering = useAnswering(question);
  const { server, params, address } = question;
  const href = safeAddress(address.href);
  const say = (name: string, action: string) => () => void answering.send(name, { action });
  const open: AnswerChoice[] =
    href === undefined
      ? []
      : [
          {
            name: "open",
            label: "Open page",
            icon: "out",
            key: "o",
            tone: "primary",
            href,
            act: say("open", "accept"),
          },
        ];
  const choices: AnswerChoice[] = [
    ...open,
    { name: "decline", label: "Decline", key: "d", act: say("decline", "decline") },
    {
      name: "cancel",
      label: "Cancel the call",
      key: "Escape",
      tone: "quiet",
      isLast: true,
      act: say("cancel", "cancel"),
    },
  ];
  return (
    <QuestionFrame
      question={question}
      answering={answering}
      icon="globe"
      isCaution={address.warnings.length > 0}
      title={
        <>
          <ServerText text={server} /> <span class="t2">asks you to open a page</span>
        </>
      }
      spoken={`${server} asks you to open a page of ${address.host}`}
      choices={choices}
    >
      <div class="body stack">
        <Quoted by={server} text={params.message} />
        <Address href={address.href} host={address.host} />
        {address.warnings.length > 0 && (
          <Note tone="warn">
            {address.warnings.map((warning) => (
              <p key={warning}>{warning}</p>
            ))}
          </Note>
        )}
        <p class="hint">
          It opens in a new tab, which does not learn where you came from. Do not enter a password that belongs to
          another site.
        </p>
      </div>
    </QuestionFrame>
  );
}

/** The whole address with its host in the foreground. */
function Address({ href, host }: { href: string; host: string }): JSX.Element {
  const at = href.indexOf(`//${host}`);
  const start = at === -1 ? -1 : at + 2;
  return (
    <p class="address" dir="ltr">
      {start === -1 ? (
        <ServerText text={href} />
      ) : (
        <>
          <span class="t3">{href.slice(0, start)}</span>
          <strong>{host}</strong>
          <span class="t3">
            <ServerText text={href.slice(start + host.length)} />
          </span>
        </>
      )}
    </p>
  );
}
