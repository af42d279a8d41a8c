import { createMemoryPair, type JsonObject } from "portolan";
import type { CustomTarget, ServerSettings } from "portolan-host";
import { isStateless, type RevisionDate } from "../kit/revisions.ts";
import { attach } from "../requirements/client/kit/endpoints.ts";
import { type Handler, refusal, ScriptedServer } from "../requirements/client/kit/scripted-server.ts";
import { question, stateOf, taskServer } from "../requirements/client/kit/tasks.ts";

/** One task of a test's server; the test says how it goes on. */
export interface Job {
  readonly id: string;
  readonly args: JsonObject;
  status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  message?: string;
  result?: JsonObject;
  inputRequests?: JsonObject;
}

/** A server whose tool `render` runs as tasks, which outlive its connections. */
export class TaskServer {
  readonly revision: RevisionDate;
  readonly server: ScriptedServer;
  readonly jobs = new Map<string, Job>();
  readonly target: CustomTarget & ServerSettings;
  /** The answers to questions. */
  readonly answers: unknown[] = [];
  /** Fails the next starts of the server. */
  isDown = false;
  immediateText: string | undefined;
  ttl: number | null = 3_600_000;
  #close: (() => void) | undefined;

  constructor(
    revision: RevisionDate,
    { support = "required", offers }: { support?: string; offers?: JsonObject } = {},
  ) {
    this.revision = revision;
    const isNew = isStateless(revision);
    const script = taskServer(revision, { steps: [], taskSupport: support, ...(offers && { offers }) });
    this.server = new ScriptedServer(revision, {
      ...script,
      on: {
        ...script.on,
        // Then the tasks are polled, every 250 ms.
        "subscriptions/listen": () => {
          throw refusal(-32601, "there are no changes");
        },
        "tools/call": ({ params }) => {
          if (!isNew && !params.task) return { content: [{ type: "text", text: "a plain result" }] };
          const job: Job = { id: `task-${this.jobs.size + 1}`, args: params.arguments, status: "working" };
          this.jobs.set(job.id, job);
          const immediate = { "io.modelcontextprotocol/model-immediate-response": this.immediateText };
          const _meta = this.immediateText === undefined ? {} : { _meta: immediate };
          return isNew ? { resultType: "task", ...this.#state(job), ..._meta } : { task: this.#state(job), ..._meta };
        },
        "tasks/get": ({ params }) => {
          const job = this.#job(params.taskId);
          const { status, inputRequests, result } = job;
          return {
            ...this.#state(job),
            ...(isNew && status === "input_required" && { inputRequests }),
            ...(isNew && status === "completed" && { result }),
          };
        },
        "tasks/update": ({ params }) => {
          const job = this.#job(params.taskId);
          this.answers.push(params.inputResponses);
          job.status = "working";
          return {};
        },
        "tasks/cancel": ({ params }) => {
          const job = this.#job(params.taskId);
          job.status = "cancelled";
          return isNew ? {} : this.#state(job);
        },
        ...(!isNew && {
          "tasks/result": (async ({ params }) => {
            const job = this.#job(params.taskId);
            if (job.status === "input_required") {
              const asked = job.inputRequests?.["q1"] as { params: JsonObject };
              const params = { ...asked.params, ...relatedTo(job) };
              const { result, error } = await this.server.ask("elicitation/create", params);
              this.answers.push(result ?? error);
              job.status = "working";
              return undefined as never;
            }
            return { ...job.result, ...relatedTo(job) };
          }) as Handler,
        }),
      },
    });
    this.target = { open: () => this.#open(), era: revision, trustContent: false };
  }

  job(id = "task-1"): Job {
    return this.#job(id);
  }

  /** Ends a task with a text. */
  finish(text: string, { id = "task-1", isError = false } = {}): void {
    const job = this.#job(id);
    job.result = { content: [{ type: "text", text }], ...(isError && { isError }) };
    job.status = isError && !isStateless(this.revision) ? "failed" : "completed";
  }

  /** Asks a question in a task. */
  ask(message: string, schema: JsonObject = {}, id = "task-1"): void {
    const job = this.#job(id);
    const { params, ...asked } = question(message) as { params: JsonObject };
    const requestedSchema = { ...(params["requestedSchema"] as JsonObject), ...schema };
    job.inputRequests = { q1: { ...asked, params: { ...params, requestedSchema } } };
    job.status = "input_required";
  }

  /** Ends the connection, as if the server was killed. */
  drop(): void {
    this.#close?.();
  }

  #open() {
    if (this.isDown) throw new Error("the server is down");
    const [near, far] = createMemoryPair({ serialize: true });
    attach(far, this.server);
    this.#close = () => far.close();
    return near;
  }

  #job(id: string): Job {
    const job = this.jobs.get(id);
    if (!job) throw refusal(-32602, "there is no such task");
    return job;
  }

  #state({ id, status, message }: Job): JsonObject {
    const isNew = isStateless(this.revision);
    const more = {
      taskId: id,
      ...(message !== undefined && { statusMessage: message }),
      [isNew ? "pollIntervalMs" : "pollInterval"]: 250,
      [isNew ? "ttlMs" : "ttl"]: this.ttl,
    };
    return stateOf(this.revision, { status, more });
  }
}

function relatedTo({ id }: Job): JsonObject {
  return { _meta: { "io.modelcontextprotocol/related-task": { taskId: id } } };
}
