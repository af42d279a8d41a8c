import { useEffect } from "preact/hooks";
import type { QuestionRecord } from "../../api.ts";
import { newestCall } from "../chat/tool-card.tsx";
import { type ConsolePage, usePage } from "../state/console.ts";
import { goTo, hrefOf } from "../state/route.ts";
import { isCommand } from "./keys.ts";

/** The places that F6 goes round. */
const places = [".rail", ".main .scroll, .main", "[data-composer]", ".side"] as const;

/** The keys that work everywhere: find, the oldest question, cancel the newest call, the next part of the page. */
export function useShortcuts(onFind: () => void, onWaiting: () => void): void {
  const page = usePage();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "F6") {
        event.preventDefault();
        goRound(event.shiftKey ? -1 : 1);
        return;
      }
      if (!isCommand(event)) return;
      const act = { k: onFind, j: () => showOldest(page, onWaiting), ".": () => cancelNewest(page) }[
        event.key.toLowerCase()
      ];
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

function cancelNewest(page: ConsolePage): void {
  const call = newestCall(page);
  if (call) void page.attempt(() => page.api.change("cancel", { call: call.id }));
}

/** Goes to the question that waits longest, wherever it is. */
export function showOldest(page: ConsolePage, onWaiting: () => void): void {
  const [oldest] = [...page.store.questions.all.peek()].sort((a, b) => a.askedAt - b.askedAt);
  if (!oldest) {
    page.say("No question waits");
    return;
  }
  showQuestion(page, oldest, onWaiting);
}

/** Gives the focus to the card of a question. One without a conversation is shown by `onWaiting`. */
export function showQuestion(_page: ConsolePage, { id, conversation }: QuestionRecord, onWaiting: () => void): void {
  if (focusCard(id)) return;
  if (conversation === undefined) onWaiting();
  else goTo(hrefOf("chat", conversation));
  // The card appears when the conversation was read.
  const observer = new MutationObserver(() => {
    if (focusCard(id)) observer.disconnect();
  });
  observer.observe(document.body, { childList: true, subtree: true });
  setTimeout(() => observer.disconnect(), focusMs);
}

const focusMs = 3_000;

function focusCard(id: string): boolean {
  const card = document.querySelector<HTMLElement>(`[data-question="${CSS.escape(id)}"]`);
  card?.scrollIntoView({ block: "center" });
  card?.focus({ preventScroll: true });
  return card !== null;
}

function goRound(step: 1 | -1): void {
  const found = places.flatMap((selector) => document.querySelector<HTMLElement>(selector) ?? []);
  const shown = found.filter((element) => element.offsetParent !== null);
  const at = shown.findIndex((element) => element.contains(document.activeElement));
  const next = shown[(at + step + shown.length) % shown.length];
  const inside = next?.matches("textarea, .scroll")
    ? next
    : next?.querySelector<HTMLElement>("a[href], button, input, textarea");
  inside?.focus();
}
