import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { HostEvent, HostQuestion } from "portolan-host";
import type { AppSession } from "portolan-host/apps";
import { estimateTokens, type Model } from "portolan-host/models";
import type { Block, CallRecord, ConversationHead, QuestionRecord } from "../../api.ts";
import type { ConsoleBase } from "../base.ts";
import type { CallRecords } from "../calls/calls.ts";
import { ApiRefusal } from "../failure.ts";
import { makePrivateFolder } from "../files.ts";
import { maxConversations, maxKnownRuns, maxOpenConversations } from "../limits.ts";
import type { AnsweredQuestion, QuestionPlace } from "../questions/questions.ts";
import { fromLines, newContent } from "./content.ts";
import { Conversation } from "./conversation.ts";
import { readJournal } from "./journal.ts";

/** The parts of other subjects that conversations use. */
export interface ConversationsParts {
  readonly base: ConsoleBase;
  readonly calls: CallRecords;
  readonly findModel: (id: string) => Model | undefined;
  readonly defaultModel: () => Model | undefined;
  /** Returns the apps that are open beside a conversation. */
  readonly appsOf: (conversation: string) => readonly AppSession[];
}

/** The conversations of the folder. The heads of all are in memory, the contents of a few. */
export class Conversations {
  readonly #parts: ConversationsParts;
  readonly #folder: string;
  readonly #heads = new Map<string, ConversationHead>();
  /** The one that was used last stands at the end. */
  readonly #open = new Map<string, Conversation>();
  /** Ends the following of an attached resource, by server and address. */
  readonly #followed = new Map<string, Promise<(() => Promise<void>) | undefined>>();
  readonly #opening = new Map<string, Promise<Conversation>>();
  /** Conversations by the ids of their runs. */
  readonly #runs = new Map<string, Conversation>();
  /** The ids of conversations by the ids of their runs, also of those that have ended. */
  readonly #ofRuns = new Map<string, string>();

  constructor(parts: ConversationsParts) {
    this.#parts = parts;
    this.#folder = join(parts.base.options.folder, "conversations");
  }

  async load(): Promise<void> {
    await makePrivateFolder(this.#folder);
    const names = await readdir(this.#folder);
    for (const name of names.filter((one) => one.endsWith(".jsonl")).sort()) {
      if (this.#heads.size >= maxConversations) {
        this.#parts.base.onError(new Error(`More than ${maxConversations} conversations are in ${this.#folder}`));
        return;
      }
      try {
        const conversation = await this.#read(name.slice(0, -".jsonl".length));
        this.#heads.set(conversation.id, conversation.head);
      } catch (reason) {
        // The others are shown; this file is left as it is.
        this.#parts.base.onError(
          new Error(`The conversation ${join(this.#folder, name)} is not shown`, { cause: reason }),
        );
      }
    }
  }

  get heads(): readonly ConversationHead[] {
    for (const [id, conversation] of this.#open) this.#heads.set(id, conversation.head);
    return [...this.#heads.values()];
  }

  async create(model: string | undefined): Promise<string> {
    if (this.#heads.size >= maxConversations) {
      throw new ApiRefusal("busy", "There are too many conversations.", { next: "Remove some of them." });
    }
    const chosen = model === undefined ? this.#parts.defaultModel() : this.#parts.findModel(model);
    if (!chosen)
      throw new ApiRefusal("not-found", model === undefined ? "There is no model." : "There is no such model.");
    const id = crypto.randomUUID();
    const content = newContent(id, { title: "", model: chosen.id, off: [], attached: [] });
    const conversation = new Conversation(content, this.#partsOf(id));
    this.#open.set(id, conversation);
    this.#heads.set(id, conversation.head);
    await conversation.create();
    await this.#closeOld();
    return id;
  }

  /** Returns a conversation with its content. */
  async get(id: string): Promise<Conversation> {
    const open = this.#open.get(id);
    if (open) {
      this.#open.delete(id);
      this.#open.set(id, open);
      return open;
    }
    if (!this.#heads.has(id)) throw new ApiRefusal("not-found", "There is no such conversation.");
    let opening = this.#opening.get(id);
    if (!opening) {
      opening = this.#read(id).finally(() => this.#opening.delete(id));
      this.#opening.set(id, opening);
    }
    const conversation = await opening;
    this.#open.set(id, conversation);
    await this.#closeOld();
    return conversation;
  }

  async remove(id: string): Promise<void> {
    const conversation = await this.get(id);
    this.#open.delete(id);
    this.#heads.delete(id);
    this.#parts.base.publish({ kind: "conversation-gone", id });
    await conversation.remove();
  }

  /** Returns what a question, or another event of a run, belongs to. */
  placeOf({ run, call: of, callId }: Pick<HostQuestion, "run" | "call"> & { readonly callId?: string }): QuestionPlace {
    const conversation = run === undefined ? undefined : this.#runs.get(run);
    if (!conversation) return {};
    const call = conversation.callOf(callId ?? this.#callIdOf(of));
    return { conversation: conversation.id, ...(call !== undefined && { call }) };
  }

  hearCall(record: CallRecord): void {
    if (record.end && record.conversation !== undefined) this.#open.get(record.conversation)?.callEnded(record);
  }

  /** Returns the id of the conversation that a run belongs to. */
  ofRun(run: string): string | undefined {
    const id = this.#ofRuns.get(run);
    return id !== undefined && this.#heads.has(id) ? id : undefined;
  }

  #noteRun(run: unknown, conversation: string): void {
    if (typeof run !== "string") return;
    this.#ofRuns.set(run, conversation);
    for (const oldest of this.#ofRuns.keys()) {
      if (this.#ofRuns.size <= maxKnownRuns) break;
      this.#ofRuns.delete(oldest);
    }
  }

  /** Returns the record of a call of a run. */
  callOf(run: string, callId: string): string | undefined {
    return this.#runs.get(run)?.callOf(callId);
  }

  /** Resolves when the card that a question belongs to would survive a crash; undefined if it has none. */
  storedFor({ conversation }: QuestionRecord): Promise<void> | undefined {
    return conversation === undefined ? undefined : this.#open.get(conversation)?.stored;
  }

  hearQuestion(question: QuestionRecord, ended?: AnsweredQuestion): void {
    const { id, conversation, call } = question;
    const found = conversation === undefined ? undefined : this.#open.get(conversation);
    if (!found) return;
    if (ended) found.answered(id, ended, subjectOf(question), call);
    else found.asked(id, call);
  }

  hear(event: HostEvent): void {
    if (event.kind !== "resource") return;
    for (const conversation of this.#open.values()) {
      conversation.noteAttached(event.server, event.uri, { isChanged: true });
    }
  }

  /** Returns the block that text was appended to, for readers that lost it. */
  blockOf(conversation: string, block: string): Block | undefined {
    return this.#open.get(conversation)?.block(block);
  }

  /** Measures resources that were attached, and follows their changes. */
  measure(conversation: Conversation): void {
    const { host } = this.#parts.base;
    this.#follow();
    for (const { server, uri, tokens } of conversation.head.attached) {
      if (tokens !== undefined) continue;
      const read = host.readResource(server, uri, { by: "user" });
      read.then(
        ({ contents }) => {
          const texts = contents.map((one) => ("text" in one && typeof one.text === "string" ? one.text : ""));
          conversation.noteAttached(server, uri, { tokens: estimateTokens(texts) });
        },
        // Its message shows the reason when it is sent.
        () => {},
      );
    }
  }

  /** Follows the resources that are attached somewhere, and no others. */
  #follow(): void {
    const { host } = this.#parts.base;
    const attached = new Map<string, { readonly server: string; readonly uri: string }>();
    for (const { head } of this.#open.values()) {
      for (const { server, uri } of head.attached) attached.set(JSON.stringify([server, uri]), { server, uri });
    }
    for (const [key, end] of this.#followed) {
      if (attached.has(key)) continue;
      this.#followed.delete(key);
      end.then((stop) => stop?.()).catch(() => {});
    }
    for (const [key, { server, uri }] of attached) {
      if (this.#followed.has(key)) continue;
      // A server that tells no changes is no reason to complain.
      this.#followed.set(
        key,
        host.follow(server, uri).catch(() => undefined),
      );
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((conversation) => conversation.close()));
  }

  #callIdOf(call: string | undefined): string | undefined {
    return this.#parts.base.host.calls.find((one) => one.id === call)?.callId;
  }

  #partsOf(id: string) {
    const { base, calls, findModel, appsOf } = this.#parts;
    return {
      ...{ base, calls, findModel },
      // Read before each turn of the model, so that an app that is opened or closed meanwhile counts.
      apps: { [Symbol.iterator]: () => appsOf(id)[Symbol.iterator]() },
      file: join(this.#folder, `${id}.jsonl`),
      onRun: (run: { readonly id: string }, isRunning: boolean) => {
        const conversation = this.#open.get(id);
        this.#noteRun(run.id, id);
        if (isRunning && conversation) this.#runs.set(run.id, conversation);
        else this.#runs.delete(run.id);
      },
    };
  }

  async #read(id: string): Promise<Conversation> {
    const parts = this.#partsOf(id);
    const lines = await readJournal(parts.file);
    const content = fromLines(lines);
    if (content?.id !== id) throw new Error("Its file was written by another version, or is damaged");
    for (const { begun } of lines) if (isRecord(begun)) this.#noteRun(begun["run"], id);
    if (content.state) this.#noteRun(content.state.id, id);
    return new Conversation(content, parts);
  }

  /** Closes conversations that nobody used for the longest time. Their heads stay. */
  async #closeOld(): Promise<void> {
    for (const [id, conversation] of this.#open) {
      if (this.#open.size <= maxOpenConversations) return;
      const { state } = conversation.head;
      if (state === "running" || state === "waiting") continue;
      this.#heads.set(id, conversation.head);
      this.#open.delete(id);
      await conversation.close();
    }
  }
}

function isRecord(value: unknown): value is { readonly [member: string]: unknown } {
  return typeof value === "object" && value !== null;
}

/** Returns what a question is about, in a few words. */
function subjectOf(question: QuestionRecord): string {
  if (question.kind === "approve") {
    const { action, server } = question;
    if (action.kind !== "tool") return action.uri;
    return action.app === undefined ? `${server} ${action.tool}` : `app of ${server} ${action.tool}`;
  }
  if (question.kind === "changed") return `${question.server} ${question.change.name}`;
  return question.kind === "openUrl" ? question.address.host : question.server;
}
