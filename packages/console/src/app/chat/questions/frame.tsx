import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { QuestionRecord } from "../../../api.ts";
import { Note } from "../../parts/badge.tsx";
import { Button, type ButtonProps } from "../../parts/button.tsx";
import { Icon, type IconName } from "../../parts/icon.tsx";
import { ServerText } from "../../parts/quoted.tsx";
import { commandKey, isCommand } from "../../shell/keys.ts";
import { usePage } from "../../state/console.ts";
import { waitText } from "../times.ts";
import type { Answering } from "./answering.ts";

/** One way to answer a question. */
export interface AnswerChoice {
  readonly name: string;
  readonly label: string;
  readonly icon?: IconName;
  /** The key while the card has the focus: a letter, "Escape", or "Enter" with the command key, which fields take too. */
  readonly key: string;
  readonly tone?: ButtonProps["tone"];
  /** Stands at the other end: answers that refuse. */
  readonly isLast?: boolean;
  readonly href?: string;
  readonly act: () => void;
}

/** Typing must not answer a card that has just come into view. */
const settleMs = 400;

/** The card of a question: who asks what, and the answers. It never takes the focus by itself. */
export function QuestionFrame(props: {
  readonly question: QuestionRecord;
  readonly answering: Answering;
  readonly icon: IconName;
  readonly title: ComponentChildren;
  /** The title for screen readers. */
  readonly spoken: string;
  readonly aside?: ComponentChildren;
  /** A question that needs special care. */
  readonly isCaution?: boolean;
  readonly choices: readonly AnswerChoice[];
  readonly children: ComponentChildren;
}): JSX.Element {
  const page = usePage();
  const { question, answering, icon, title, spoken, aside, isCaution, choices, children } = props;
  const card = useRef<HTMLElement>(null);
  const seenAt = useRef(Number.POSITIVE_INFINITY);
  /** The element that had the focus before the card. */
  const before = useRef<HTMLElement | undefined>(undefined);
  const failure = answering.failure.value;
  const busy = answering.busy.value;
  useEffect(() => {
    page.say(`${spoken}. ${commandKey} J`);
  }, [question.id, question.digest]);
  useEffect(() => {
    const element = card.current;
    if (!element) return;
    const observer = new IntersectionObserver(
      (entries) => {
        const isSeen = entries.at(-1)?.isIntersecting === true;
        if (isSeen && seenAt.current === Number.POSITIVE_INFINITY) seenAt.current = Date.now();
        if (!isSeen) seenAt.current = Number.POSITIVE_INFINITY;
      },
      { threshold: 0 },
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      // The card goes with its answer: the person goes on where they were, else where the next question or the text is.
      if (!element.contains(document.activeElement) && document.activeElement !== document.body) return;
      const next = [...document.querySelectorAll<HTMLElement>("[data-question]")].find((other) => other !== element);
      const from = before.current?.isConnected ? before.current : undefined;
      (from ?? next ?? document.querySelector<HTMLElement>("[data-composer]"))?.focus({ preventScroll: true });
    };
  }, []);
  const onFocusIn = ({ relatedTarget }: FocusEvent) => {
    if (!(relatedTarget instanceof HTMLElement) || card.current?.contains(relatedTarget)) return;
    before.current = relatedTarget;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing || Date.now() - seenAt.current < settleMs) return;
    const isOnCard = event.target === event.currentTarget;
    const choice = choices.find(({ key }) => {
      if (key === "Enter") return event.key === "Enter" && isCommand(event);
      const isPlain = !event.metaKey && !event.ctrlKey && !event.altKey;
      return isOnCard && isPlain && event.key.toLowerCase() === key.toLowerCase();
    });
    if (!choice) return;
    event.preventDefault();
    event.stopPropagation();
    if (choice.href !== undefined) open(choice.href, "_blank", "noopener,noreferrer");
    choice.act();
  };
  const firsts = choices.filter(({ isLast }) => !isLast);
  const lasts = choices.filter(({ isLast }) => isLast);
  const button = (choice: AnswerChoice) => (
    <Button
      key={choice.name}
      keys={keyText(choice.key)}
      isBusy={busy === choice.name}
      disabled={busy !== undefined && busy !== choice.name}
      onClick={choice.act}
      {...(choice.icon ? { icon: choice.icon } : {})}
      {...(choice.tone ? { tone: choice.tone } : {})}
      {...(choice.href === undefined ? {} : { href: choice.href, isElsewhere: true })}
    >
      {choice.label}
    </Button>
  );
  return (
    <article
      ref={card}
      class="card asks"
      data-caution={isCaution || undefined}
      data-question={question.id}
      aria-label={spoken}
      tabIndex={0}
      onFocusIn={onFocusIn}
      onKeyDown={onKeyDown}
    >
      <header>
        <Icon name={icon} class={isCaution ? "c-warn" : "c-accent"} />
        <h3 class="grow title">{title}</h3>
        {aside}
        <kbd class="way" aria-hidden="true">
          {commandKey} J
        </kbd>
        <span class="small t3 num nowrap">{waitText(page.slowClock.value - question.askedAt)}</span>
      </header>
      {children}
      {failure && (
        <div class="body" role="alert">
          <Note tone="danger">
            <p>
              <ServerText text={failure.message} lines="keep" />
            </p>
            {failure.next !== undefined && <p>{failure.next}</p>}
            <ul>
              {failure.paths.map(({ path, message }) => (
                <li key={path}>
                  <ServerText text={`${path}: ${message}`} />
                </li>
              ))}
            </ul>
          </Note>
        </div>
      )}
      <footer class="answers">
        {firsts.map(button)}
        {lasts.length > 0 && <span class="grow" />}
        {lasts.map(button)}
      </footer>
    </article>
  );
}

function keyText(key: string): string {
  if (key === "Enter") return `${commandKey} ⏎`;
  return key === "Escape" ? "Esc" : key.toUpperCase();
}

/** The answers of a yes or no that can be kept. */
export function consentChoices(
  answering: Answering,
  verdict: (allow: boolean, scope: "once" | "session" | "always") => unknown,
  labels: {
    readonly yes: string;
    readonly isOnce?: boolean;
    /** True if no answer outlives the app that the question is about. */
    readonly endsWithApp?: boolean;
  },
): AnswerChoice[] {
  const say = (name: string, allow: boolean, scope: "once" | "session" | "always") => () =>
    void answering.send(name, verdict(allow, scope));
  const once: AnswerChoice = {
    name: "once",
    label: labels.yes,
    key: "y",
    tone: "primary",
    act: say("once", true, "once"),
  };
  const notNow: AnswerChoice = {
    name: "not-now",
    label: "Not now",
    key: "Escape",
    tone: "quiet",
    isLast: true,
    act: say("not-now", false, "once"),
  };
  if (labels.isOnce) return [once, notNow];
  if (labels.endsWithApp) {
    return [
      once,
      { name: "session", label: "While the app is open", key: "s", act: say("session", true, "session") },
      notNow,
      {
        name: "never",
        label: "Not while it is open",
        key: "n",
        tone: "quiet danger",
        isLast: true,
        act: say("never", false, "session"),
      },
    ];
  }
  return [
    once,
    { name: "session", label: "This session", key: "s", act: say("session", true, "session") },
    { name: "always", label: "Always", key: "a", act: say("always", true, "always") },
    notNow,
    {
      name: "never",
      label: "Never",
      key: "n",
      tone: "quiet danger",
      isLast: true,
      act: say("never", false, "always"),
    },
  ];
}
