import type { Host, HostAnswers, HostEvent, HostQuestion } from "portolan-host";
import { apps as appsExtension } from "portolan-host/apps";
import type { ConsoleEvent, ConsoleState, Verb } from "../api.ts";
import { ActivityRows } from "./activity/activity.ts";
import { activityVerbs } from "./activity/verbs.ts";
import { Apps } from "./apps/apps.ts";
import { appVerbs } from "./apps/verbs.ts";
import { type ConsoleBase, endAll } from "./base.ts";
import { CallRecords } from "./calls/calls.ts";
import { CallLabels } from "./calls/labels.ts";
import { callVerbs } from "./calls/verbs.ts";
import { Connections } from "./connections/connections.ts";
import { Lines } from "./connections/lines.ts";
import { connectionVerbs } from "./connections/verbs.ts";
import { Conversations } from "./conversations/conversations.ts";
import { conversationVerbs } from "./conversations/verbs.ts";
import { EventHub } from "./events.ts";
import { toPageText } from "./failure.ts";
import type { ConsoleOptions } from "./options.ts";
import { type QuestionPlace, QuestionRecords } from "./questions/questions.ts";
import { questionVerbs } from "./questions/verbs.ts";
import { Recordings } from "./recordings/recordings.ts";
import { recordingVerbs } from "./recordings/verbs.ts";
import { Reports } from "./reports/reports.ts";
import { reportVerbs } from "./reports/verbs.ts";
import { savedVerbs } from "./saved/verbs.ts";
import { ServerRecords } from "./servers/records.ts";
import { serverVerbs } from "./servers/verbs.ts";
import { SettingsRecords } from "./settings/settings.ts";
import { settingsVerbs } from "./settings/verbs.ts";
import { TaskRecords, taskVerbs } from "./tasks/tasks.ts";
import type { VerbTable } from "./verbs.ts";

/** The subjects of a console: what it holds, and the verbs that change it. */
export interface Subjects {
  readonly events: EventHub;
  readonly verbs: Partial<VerbTable<Verb>>;
  /** The sources of the frames of apps. */
  readonly frames: () => string;
  close(): Promise<void>;
}

export interface CreateConsoleOptions {
  readonly options: ConsoleOptions;
  readonly boot: string;
  readonly origin: string;
}

/** All questions wait for the page. */
const answers: HostAnswers = {
  trust: "later",
  approve: "later",
  elicit: "later",
  openUrl: "later",
  sample: "later",
  roots: "later",
  say: "later",
  changed: "later",
};

/** Creates the host, and everything that stands on it. */
export async function createConsole({ options, boot, origin }: CreateConsoleOptions): Promise<Subjects> {
  const closing = new AbortController();
  const { onError } = options;
  const events = new EventHub({
    boot,
    reset: () => ({ kind: "reset", state: state() }),
    wholeOf: (event) => wholeOf(event),
  });
  let created: Host | undefined;
  const base: ConsoleBase = {
    ...{ options, boot, onError, closing: closing.signal, publish: events.publish },
    get host() {
      if (!created) throw new Error("The host is not created yet");
      return created;
    },
  };
  const connections = new Connections(base, (label) => callOf(label));
  await connections.load();
  const host = await options.createHost({
    ...{ answers, model: options.models, tasks: true, tap: connections.tap },
    extensions: [appsExtension()],
  });
  created = host;
  const servers = new ServerRecords(base);
  const calls = new CallRecords(base, (record) => conversations.hearCall(record));
  const settings = new SettingsRecords(base);
  const conversations = new Conversations({
    ...{ base, calls },
    findModel: (id) => settings.findModel(id),
    defaultModel: () => settings.defaultModel,
    appsOf: (conversation) => apps.sessionsOf(conversation),
  });
  const labels = new CallLabels(base, calls, (run, callId) => conversations.callOf(run, callId));
  const callOf = (label: string) => labels.find(label);
  /** A call by hand that a question belongs to. */
  const placeOf = ({ call: label }: Pick<HostQuestion, "call">): QuestionPlace => {
    const record = label === undefined ? undefined : calls.find(callOf(label) ?? "");
    if (!record) return {};
    const { id, connection } = record;
    return { call: id, ...(connection !== undefined && { connection }) };
  };
  const questions = new QuestionRecords(base, {
    placeOf: (question) => ({ ...placeOf(question), ...conversations.placeOf(question) }),
    storedFor: (question) => conversations.storedFor(question),
    onChange: (question, ended) => {
      if (question.conversation !== undefined) conversations.hearQuestion(question, ended);
      else if (question.call !== undefined) calls.change(question.call, { waitsFor: ended ? "" : question.id });
    },
    onVisit: (call, page) => calls.change(call, { visits: page ?? "" }),
  });
  /** The reason is the person's to know, at the call that it spoiled: the server gets none. */
  const modelFailures = {
    hear(event: HostEvent) {
      if (event.kind !== "model-failed") return;
      const { call } = { ...placeOf(event), ...conversations.placeOf(event) };
      const { model, message } = event;
      if (call !== undefined) calls.modelFailed(call, { model, message: toPageText(message) });
    },
  };
  const activity = new ActivityRows(base);
  const reports = new Reports(base);
  const tasks = new TaskRecords(base);
  const lines = new Lines(base);
  const apps = new Apps(base, calls);
  await apps.listen(origin);
  const recordings = new Recordings(base, connections);
  await Promise.all([settings.load(), activity.load(), conversations.load()]);
  const wholeOf = (event: ConsoleEvent): ConsoleEvent | undefined => {
    if (event.kind !== "delta") return undefined;
    const { conversation, block: id } = event;
    const block = conversations.blockOf(conversation, id);
    return block && { kind: "block", conversation, block };
  };
  const state = (): ConsoleState => ({
    version: options.version,
    isSandbox: options.isSandbox === true,
    folder: options.project,
    servers: servers.all,
    questions: questions.all,
    conversations: conversations.heads,
    connections: connections.all,
    recordings: recordings.all,
    reports: reports.reports,
    logins: reports.logins,
    tasks: tasks.all,
    grants: settings.grants,
    models: settings.models,
    roots: settings.roots,
    apps: apps.all,
    settings: settings.settings,
    calls: calls.listed,
    activity: activity.head,
  });
  const subjects: readonly { hear(event: HostEvent): void }[] = [
    servers,
    labels,
    questions,
    modelFailures,
    settings,
    conversations,
    activity,
    tasks,
    connections,
    lines,
  ];
  const hear = (event: HostEvent) => {
    for (const subject of subjects) subject.hear(event);
  };
  recordings.load().catch(onError);
  const following = follow(host, hear, options.onError);
  return {
    events,
    verbs: {
      ...serverVerbs(base, servers),
      ...callVerbs(base, calls, connections),
      ...questionVerbs(questions),
      ...settingsVerbs(base, settings),
      ...conversationVerbs(conversations, (id) => settings.findModel(id) !== undefined),
      ...connectionVerbs(base, connections, lines),
      ...recordingVerbs(host, recordings, servers),
      ...savedVerbs(base, calls),
      ...appVerbs(apps),
      ...activityVerbs(base, activity, (run) => conversations.ofRun(run)),
      ...reportVerbs(base, reports),
      ...taskVerbs(base),
    },
    frames: () => apps.frames,
    async close() {
      closing.abort();
      reports.close();
      await endAll([
        () => apps.end(),
        () => recordings.close(),
        () => host.close(),
        () => conversations.close(),
        () => connections.end(),
        () => following,
      ]);
    },
  };
}

async function follow(host: Host, hear: (event: HostEvent) => void, onError: (error: unknown) => void): Promise<void> {
  for await (const event of host.events()) {
    try {
      hear(event);
    } catch (reason) {
      onError(reason);
    }
  }
}
