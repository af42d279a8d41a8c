import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { CallRecord, CatalogRecord, ConnectionFacts, ConnectionRecord, Verbs } from "../../api.ts";
import { reasonOf } from "../api/client.ts";
import { EditedDocument } from "../parts/json/edited-document.ts";
import type { FormSchema } from "../parts/json/schema.ts";
import type { ConsolePage } from "../state/console.ts";
import { Timeline } from "./timeline/timeline-rows.ts";

/** Something that is loaded: not yet, there, or failed with a reason. The last value stays while it is loaded again. */
export interface Loaded<T> {
  readonly value?: T;
  readonly reason?: string;
  /** Loads it once more after it has failed. */
  readonly retry?: () => void;
  readonly isLoading: boolean;
}

export type ToolDefinition = Verbs["definition"]["gives"];

const maxDefinitions = 200;
const maxDocuments = 200;

const states = new WeakMap<ConsolePage, InspectState>();

/** Returns what Inspect keeps of a page while a person goes to other sides of it. */
export function inspectState(page: ConsolePage): InspectState {
  const known = states.get(page) ?? new InspectState(page);
  states.set(page, known);
  return known;
}

/** The state of Inspect: catalogs, definitions, typed arguments, chosen connections, and the rows of timelines. */
export class InspectState {
  readonly #page: ConsolePage;
  readonly #catalogs = new Map<string, Signal<Loaded<CatalogRecord>>>();
  readonly #catalogDigests = new Map<string, string>();
  readonly #definitions = new Map<string, Signal<Loaded<ToolDefinition>>>();
  readonly #skills = new Map<string, Signal<Loaded<Verbs["skills"]["gives"]>>>();
  readonly #documents = new Map<string, EditedDocument>();
  readonly #chosen = new Map<string, Signal<string | undefined>>();
  readonly #runs = new Map<string, Signal<string | undefined>>();
  readonly #timelines = new Map<string, Timeline>();
  readonly #facts = new Map<string, Signal<Loaded<ConnectionFacts>>>();
  readonly #kept = new Map<string, Signal<unknown>>();

  constructor(page: ConsolePage) {
    this.#page = page;
    page.store.listen((event) => {
      if (event.kind === "messages") this.#timelines.get(event.connection)?.add(event.rows);
      // A reader that was away, or too slow, has gaps: the newest rows are read again.
      if (event.kind === "reset" || event.kind === "lost") for (const each of this.#timelines.values()) each.refresh();
    });
  }

  /** A small state of a part of the page, such as what is folded. */
  kept<T>(place: string, initial: T): Signal<T> {
    const known = (this.#kept.get(place) as Signal<T> | undefined) ?? signal(initial);
    this.#kept.set(place, known as Signal<unknown>);
    return known;
  }

  /** The catalog of a server. `digest` is the one that its record names: another one is loaded again. */
  catalog(server: string, digest: string): ReadonlySignal<Loaded<CatalogRecord>> {
    const known = this.#catalogs.get(server) ?? signal<Loaded<CatalogRecord>>({ isLoading: false });
    this.#catalogs.set(server, known);
    if (this.#catalogDigests.get(server) !== digest) {
      this.#catalogDigests.set(server, digest);
      void load(known, () => this.#page.api.read("catalog", { server }));
    }
    return known;
  }

  /** The skills of a server, read again when its lists change. */
  skills(server: string, digest: string): ReadonlySignal<Loaded<Verbs["skills"]["gives"]>> {
    const key = JSON.stringify([server, digest]);
    const known = this.#skills.get(key);
    if (known) return known;
    const made = signal<Loaded<Verbs["skills"]["gives"]>>({ isLoading: true });
    remember(this.#skills, key, made, 50);
    void load(made, () => this.#page.api.read("skills", { server }));
    return made;
  }

  definition(
    server: string,
    tool: string,
    digest: string,
    connection?: string,
  ): ReadonlySignal<Loaded<ToolDefinition>> {
    const key = JSON.stringify([server, tool, digest, connection]);
    const known = this.#definitions.get(key);
    if (known) return known;
    const made = signal<Loaded<ToolDefinition>>({ isLoading: true });
    remember(this.#definitions, key, made, maxDefinitions);
    void load(made, () => this.#page.api.read("definition", { server, tool, ...(connection && { connection }) }));
    return made;
  }

  /** The arguments of a tool or prompt as a person left them. */
  document(place: string, schema: FormSchema): EditedDocument {
    const known = this.#documents.get(place);
    if (known && JSON.stringify(known.schema) === JSON.stringify(schema)) return known;
    const draft = this.#page.drafts.get<string | undefined>(`try:${place}`, undefined);
    const text = known?.text ?? draft.peek();
    const made = new EditedDocument(schema, text === undefined ? {} : { text });
    let isFirst = true;
    made.changes.subscribe(() => {
      if (!isFirst) draft.value = made.text.length > 200_000 ? undefined : made.text;
      isFirst = false;
    });
    remember(this.#documents, place, made, maxDocuments);
    return made;
  }

  /** Forgets the arguments of a tool in this tab, so that its draft is read again. */
  forgetDocument(place: string): void {
    this.#documents.delete(place);
  }

  /** The connection that was opened for a server and is used. Undefined: that of the host. */
  chosenConnection(server: string): Signal<string | undefined> {
    const known = this.#chosen.get(server) ?? signal<string | undefined>(undefined);
    this.#chosen.set(server, known);
    return known;
  }

  /** The call that is shown for a tool. */
  shownCall(place: string): Signal<string | undefined> {
    const known = this.#runs.get(place) ?? signal<string | undefined>(undefined);
    this.#runs.set(place, known);
    return known;
  }

  timeline(connection: string): Timeline {
    const known = this.#timelines.get(connection);
    if (known) return known;
    const made = new Timeline(this.#page.api, connection);
    // Timelines are large: only the last few are kept.
    remember(this.#timelines, connection, made, 4);
    return made;
  }

  /** The capabilities of both sides of a connection. */
  facts(connection: ConnectionRecord): ReadonlySignal<Loaded<ConnectionFacts>> {
    const key = `${connection.id} ${connection.state} ${connection.revision}`;
    const known = this.#facts.get(key);
    if (known) return known;
    const made = signal<Loaded<ConnectionFacts>>({ isLoading: true });
    remember(this.#facts, key, made, 50);
    void load(made, () => this.#page.api.read("connection.facts", { id: connection.id }));
    return made;
  }

  /** The connection whose messages are shown for a server: the chosen one, else that of the host. */
  connectionOf(server: string): ConnectionRecord | undefined {
    const { connections } = this.#page.store;
    const chosen = this.chosenConnection(server).value;
    const record = chosen === undefined ? undefined : connections.get(chosen).value;
    return record ?? connections.all.value.find((each) => each.server === server && each.isMain);
  }

  /** Opens a connection of its own to a server. Resolves when it is open, rejects with the reason if it fails. */
  async open(server: string, revision: string | undefined): Promise<string> {
    const { api, store } = this.#page;
    const { id } = await api.change("connection.open", { server, ...(revision !== undefined && { revision }) });
    await new Promise<void>((resolve, reject) => {
      let stop: (() => void) | undefined;
      let isOver = false;
      const look = (record: ConnectionRecord | undefined) => {
        if (record === undefined || record.state === "opening" || isOver) return;
        isOver = true;
        stop?.();
        if (record.state === "open") resolve();
        else reject(new Error(record.reason ?? "The connection failed."));
      };
      stop = store.connections.get(id).subscribe(look);
      if (isOver) stop();
    });
    return id;
  }

  /** Calls a tool by hand and shows the call. */
  async run(place: string, takes: { server: string; tool: string; argumentsText: string }): Promise<void> {
    const connection = this.chosenConnection(takes.server).peek();
    const given = await this.#page.attempt(() =>
      this.#page.api.change("call", { ...takes, ...(connection !== undefined && { connection }) }),
    );
    if (given) this.shownCall(place).value = given.id;
  }

  call(id: string | undefined): CallRecord | undefined {
    return id === undefined ? undefined : this.#page.store.calls.get(id).value;
  }
}

/** Loads something into a signal. The old value stays until the new one is there. */
export async function load<T>(into: Signal<Loaded<T>>, read: () => Promise<T>): Promise<void> {
  const { value: known } = into.peek();
  into.value = { ...(known !== undefined && { value: known }), isLoading: true };
  try {
    into.value = { value: await read(), isLoading: false };
  } catch (error) {
    const { value } = into.peek();
    const retry = () => void load(into, read);
    into.value = { ...(value !== undefined && { value }), reason: reasonOf(error), retry, isLoading: false };
  }
}

/** Keeps an entry, and at most so many. */
function remember<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
