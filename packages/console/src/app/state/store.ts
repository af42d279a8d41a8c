import { batch, type Signal, signal } from "@preact/signals";
import type { Grant, HostTask } from "portolan-host";
import type {
  AppRecord,
  CallRecord,
  ConnectionRecord,
  ConsoleEvent,
  ConsoleState,
  ConversationHead,
  LoginRecord,
  ModelRecord,
  QuestionRecord,
  RecordingHead,
  ReportRecord,
  RootRecord,
  SavedVerdict,
  ServerRecord,
  Settings,
} from "../../api.ts";
import { SignalRecords } from "./records.ts";

/** How a question ended. */
export type QuestionEnd = Extract<ConsoleEvent, { readonly kind: "answered" }>;

/** Facts that do not change while a console runs. */
export type ConsoleFacts = Pick<ConsoleState, "version" | "isSandbox" | "folder">;

const maxEndedCalls = 200;
const maxEndedQuestions = 200;

/** The state of the console as this page knows it. Only events change it. */
export class ConsoleStore {
  /** Undefined before the first state. */
  readonly facts: Signal<ConsoleFacts | undefined> = signal(undefined);
  readonly servers: SignalRecords<ServerRecord> = new SignalRecords(({ name }) => name);
  readonly questions: SignalRecords<QuestionRecord> = new SignalRecords(({ id }) => id);
  /** How the last questions ended. */
  readonly ended: SignalRecords<QuestionEnd> = new SignalRecords(({ id }) => id);
  readonly conversations: SignalRecords<ConversationHead> = new SignalRecords(({ id }) => id);
  readonly calls: SignalRecords<CallRecord> = new SignalRecords(({ id }) => id);
  readonly connections: SignalRecords<ConnectionRecord> = new SignalRecords(({ id }) => id);
  readonly recordings: SignalRecords<RecordingHead> = new SignalRecords(({ id }) => id);
  readonly reports: SignalRecords<ReportRecord> = new SignalRecords(({ id }) => id);
  readonly logins: SignalRecords<LoginRecord> = new SignalRecords(({ id }) => id);
  readonly tasks: SignalRecords<HostTask> = new SignalRecords(({ id }) => id);
  readonly apps: SignalRecords<AppRecord> = new SignalRecords(({ id }) => id);
  readonly grants: Signal<readonly Grant[]> = signal([]);
  readonly models: Signal<readonly ModelRecord[]> = signal([]);
  readonly roots: Signal<readonly RootRecord[]> = signal([]);
  readonly settings: Signal<Settings> = signal({ theme: "system" });
  readonly verdicts: Signal<readonly SavedVerdict[]> = signal([]);
  /** Sealed entries of the activity log. */
  readonly activity: Signal<number> = signal(0);
  readonly #listeners = new Set<(event: ConsoleEvent) => void>();

  /** Calls `listener` with each event after the state has changed. Returns a function that ends this. */
  listen(listener: (event: ConsoleEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  apply(events: readonly ConsoleEvent[]): void {
    batch(() => {
      for (const event of events) {
        this.#apply(event);
        for (const listener of this.#listeners) listener(event);
      }
    });
  }

  #apply(event: ConsoleEvent): void {
    switch (event.kind) {
      case "reset":
        this.#reset(event.state);
        break;
      case "server":
        this.servers.put(event.server);
        break;
      case "server-gone":
        this.servers.remove(event.name);
        break;
      case "question":
        this.questions.put(event.question);
        break;
      case "answered":
        this.questions.remove(event.id);
        this.ended.put(event);
        this.ended.trim(maxEndedQuestions, () => false);
        break;
      case "conversation":
        this.conversations.put(event.conversation);
        break;
      case "conversation-gone":
        this.conversations.remove(event.id);
        break;
      case "call":
        this.calls.put(event.call);
        this.calls.trim(maxEndedCalls, ({ end }) => end === undefined);
        break;
      case "connection":
        this.connections.put(event.connection);
        break;
      case "recording":
        this.recordings.put(event.recording);
        break;
      case "recording-gone":
        this.recordings.remove(event.id);
        break;
      case "report":
        this.reports.put(event.report);
        break;
      case "login":
        this.logins.put(event.login);
        break;
      case "task":
        this.tasks.put(event.task);
        break;
      case "task-gone":
        this.tasks.remove(event.id);
        break;
      case "app":
        this.apps.put(event.app);
        break;
      case "grants":
        this.grants.value = event.grants;
        break;
      case "models":
        this.models.value = event.models;
        break;
      case "roots":
        this.roots.value = event.roots;
        break;
      case "settings":
        this.settings.value = event.settings;
        break;
      case "activity":
        this.activity.value = event.head;
        break;
      case "saved":
        this.verdicts.value = event.verdicts;
        break;
      default:
      // Rows and texts go to the parts of the page that show them. Kinds of a later version are ignored.
    }
  }

  #reset(state: ConsoleState): void {
    const { version, isSandbox, folder } = state;
    this.facts.value = { version, isSandbox, folder };
    this.servers.reset(state.servers);
    this.questions.reset(state.questions);
    this.conversations.reset(state.conversations);
    this.calls.reset(state.calls);
    this.connections.reset(state.connections);
    this.recordings.reset(state.recordings);
    this.reports.reset(state.reports);
    this.logins.reset(state.logins);
    this.tasks.reset(state.tasks);
    this.apps.reset(state.apps);
    this.grants.value = state.grants;
    this.models.value = state.models;
    this.roots.value = state.roots;
    this.settings.value = state.settings;
    this.activity.value = state.activity;
  }
}
