import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type Context, createContext } from "preact";
import { useContext } from "preact/hooks";
import { type ApiClient, ApiFailure, reasonOf } from "../api/client.ts";
import type { StreamState } from "../api/events.ts";
import { Catalogs } from "./catalogs.ts";
import { createClock } from "./clock.ts";
import { Drafts } from "./drafts.ts";
import type { PageRoute } from "./route.ts";
import { ConsoleStore } from "./store.ts";

/** A short message that goes by itself. */
export interface ToastMessage {
  readonly id: number;
  readonly text: string;
  readonly tone: "plain" | "ok" | "danger";
  readonly action?: { readonly label: string; readonly run: () => void };
}

const maxToasts = 4;

/** The parts that the whole page uses: the server, its state, the address, drafts, and ways to tell the person. */
export class ConsolePage {
  readonly api: ApiClient;
  readonly store: ConsoleStore = new ConsoleStore();
  readonly route: Signal<PageRoute>;
  /** Where the person was last on each side. */
  readonly places: Signal<{ readonly [S in PageRoute["side"]]?: string }> = signal({});
  readonly drafts: Drafts = new Drafts();
  readonly catalogs: Catalogs;
  readonly link: Signal<{ readonly state: StreamState; readonly reason?: string; readonly since: number }>;
  readonly toasts: Signal<readonly ToastMessage[]> = signal([]);
  /** The text that screen readers say next. */
  readonly said: Signal<string> = signal("");
  /** The time in tenths of a second, for what runs now. */
  readonly clock: ReadonlySignal<number> = createClock(100);
  /** The time in seconds, for what waits. */
  readonly slowClock: ReadonlySignal<number> = createClock(1_000);
  /** False after the console could not say what the model gets. */
  canPreview = true;
  readonly #woken = new Set<string>();
  #toastId = 0;

  constructor(api: ApiClient, route: Signal<PageRoute>) {
    this.api = api;
    this.route = route;
    this.catalogs = new Catalogs(api, this.store);
    route.subscribe(({ side }) => {
      this.places.value = { ...this.places.peek(), [side]: location.hash || "#/chat" };
    });
    this.link = signal({ state: "opening", since: Date.now() });
  }

  /** Says a sentence to screen readers. */
  say(text: string): void {
    // The same sentence twice in a row is said twice.
    this.said.value = this.said.peek() === text ? `${text}\u00a0` : text;
  }

  /** Shows a short message. Returns a function that removes it. */
  toast(text: string, options: Partial<Pick<ToastMessage, "tone" | "action">> = {}): () => void {
    this.#toastId += 1;
    const made: ToastMessage = { id: this.#toastId, text, tone: "plain", ...options };
    this.toasts.value = [...this.toasts.peek().slice(1 - maxToasts), made];
    this.say(text);
    return () => {
      this.toasts.value = this.toasts.peek().filter(({ id }) => id !== made.id);
    };
  }

  /** Shows why something failed, with what the person can do. */
  fail(error: unknown, action?: ToastMessage["action"]): void {
    if (error instanceof DOMException && error.name === "AbortError") return;
    const next = error instanceof ApiFailure ? error.details.next : undefined;
    const text = [reasonOf(error), next].filter(Boolean).join(" ");
    this.toast(text, { tone: "danger", ...(action ? { action } : {}) });
  }

  /** Starts the servers whose lists nobody has read yet. Why one does not start, its state says. */
  wake(): void {
    for (const { name, state, counts } of this.store.servers.all.peek()) {
      const isUnread = counts.tools + counts.prompts + counts.resources + counts.templates === 0;
      if (state !== "idle" || !isUnread || this.#woken.has(name)) continue;
      this.#woken.add(name);
      this.api.change("server.start", { server: name }).catch(() => {});
    }
  }

  /** Runs something whose failure the person must see. Returns undefined if it failed. */
  async attempt<T>(act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (error) {
      this.fail(error, { label: "Try again", run: () => void this.attempt(act) });
      return undefined;
    }
  }
}

/** Gives the page to all components below it. */
export const PageProvider: Context<ConsolePage | undefined> = createContext<ConsolePage | undefined>(undefined);

/** The page that a component is in. */
export function usePage(): ConsolePage {
  const page = useContext(PageProvider);
  if (!page) throw new Error("usePage: the component is outside of the page");
  return page;
}
