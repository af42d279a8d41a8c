import type { FindingRecord, LoginRecord, LoginStep, ReportRecord } from "../../api.ts";
import type { ConsoleBase } from "../base.ts";
import { ApiRefusal, messageOf, toPageText } from "../failure.ts";
import { maxFindings, maxKeptReports, maxRunningReports } from "../limits.ts";

/** Reports of doctor and check, and sign-ins: work of the command that goes on for a while. */
export class Reports {
  readonly #base: ConsoleBase;
  readonly #reports = new Map<string, ReportRecord>();
  readonly #logins = new Map<string, LoginRecord>();
  /** Do a step of a sign-in once more, by the ids of both. */
  readonly #again = new Map<string, Map<number, () => Promise<void>>>();
  /** Steps that are done once more: they change nothing but themselves. */
  readonly #repeated = new Set<string>();
  /** Ends the work, by the id of its record. */
  readonly #running = new Map<string, AbortController>();

  constructor(base: ConsoleBase) {
    this.#base = base;
  }

  get reports(): readonly ReportRecord[] {
    return [...this.#reports.values()];
  }

  get logins(): readonly LoginRecord[] {
    return [...this.#logins.values()];
  }

  start(server: string, of: ReportRecord["of"]): string {
    const { host, options } = this.#base;
    const { id, signal } = this.#begin();
    this.#showReport({ id, server, of, isRunning: true, findings: [] });
    const add = (finding: FindingRecord) => {
      const report = this.#reports.get(id);
      if (!report || report.findings.length >= maxFindings) return;
      // A finding of the same name is a newer version of it: a step that has ended.
      const others = report.findings.filter((one) => one.id !== finding.id);
      this.#showReport({ ...report, findings: [...others, finding] });
    };
    const work = async (): Promise<string | undefined> => {
      if (of === "check") return options.tools.grade(host, server, add, { signal });
      for await (const finding of options.tools.examine(host, server, { signal })) add(finding);
      return undefined;
    };
    this.#end(id, work(), (end) => {
      const report = this.#reports.get(id);
      if (report) this.#showReport({ ...report, isRunning: false, ...end });
    });
    return id;
  }

  login(server: string): string {
    const { host, options } = this.#base;
    const running = this.logins.find((login) => login.server === server && this.#running.has(login.id));
    if (running) return running.id;
    const { id, signal } = this.#begin();
    this.#showLogin({ id, server, state: "running", steps: [] });
    const change = (of: (login: LoginRecord) => LoginRecord) => {
      const login = this.#logins.get(id);
      if (login && this.#running.has(id)) this.#showLogin(of(login));
    };
    const watch = {
      visit: (address: string) => change((login) => ({ ...login, state: "waiting", address: checkAddress(address) })),
      step: (told: LoginStep, again?: () => Promise<void>) => {
        const step = again ? { ...told, isRepeatable: true } : told;
        if (again) this.#keepAgain(id, step.id, again);
        const login = this.#logins.get(id);
        if (login && this.#repeated.has(`${id} ${step.id}`)) {
          if (step.state !== "running") this.#repeated.delete(`${id} ${step.id}`);
          this.#showLogin({ ...login, steps: withStep(login.steps, step) });
          return;
        }
        change(({ address: _, steps, ...rest }) => ({ ...rest, state: "running", steps: withStep(steps, step) }));
      },
    };
    this.#end(id, options.tools.signIn(host, server, watch, { signal }), ({ error }) => {
      const login = this.#logins.get(id);
      if (!login) return;
      const { address: _, ...rest } = login;
      this.#showLogin({
        ...rest,
        ...(error === undefined ? { state: "done" } : { state: "failed", reason: toPageText(error) }),
      });
    });
    return id;
  }

  /** Does one step of a sign-in once more. */
  again(id: string, step: number): void {
    const again = this.#again.get(id)?.get(step);
    if (!again) {
      throw new ApiRefusal("not-found", "This step cannot be done again alone.", { next: "Start over." });
    }
    this.#repeated.add(`${id} ${step}`);
    again().catch(this.#base.onError);
  }

  cancel(id: string): void {
    const stop = this.#running.get(id);
    if (!stop) throw new ApiRefusal("not-found", "It has ended already.");
    stop.abort(new Error("cancelled by the user"));
  }

  close(): void {
    for (const stop of this.#running.values()) stop.abort(new Error("the console was closed"));
  }

  #begin(): { readonly id: string; readonly signal: AbortSignal } {
    if (this.#running.size >= maxRunningReports) {
      throw new ApiRefusal("busy", "Too many reports and sign-ins are running.", { next: "Cancel one of them." });
    }
    const id = crypto.randomUUID();
    const stop = new AbortController();
    this.#running.set(id, stop);
    return { id, signal: stop.signal };
  }

  #end(id: string, work: Promise<unknown>, show: (end: { summary?: string; error?: string }) => void): void {
    const end = (ended: { summary?: string; error?: string }) => {
      show(ended);
      this.#running.delete(id);
    };
    work.then(
      (summary) => end(typeof summary === "string" ? { summary } : {}),
      (reason) => end({ error: messageOf(reason) }),
    );
  }

  #showReport(report: ReportRecord): void {
    keep(this.#reports, report, this.#running);
    this.#base.publish({ kind: "report", report });
  }

  #keepAgain(id: string, step: number, again: () => Promise<void>): void {
    const steps = this.#again.get(id) ?? new Map();
    this.#again.set(id, steps.set(step, again));
  }

  #showLogin(login: LoginRecord): void {
    keep(this.#logins, login, this.#running);
    for (const id of this.#again.keys()) if (!this.#logins.has(id)) this.#again.delete(id);
    this.#base.publish({ kind: "login", login });
  }
}

/** Returns the steps with a new version of one, or with one more. */
function withStep(steps: readonly LoginStep[], step: LoginStep): readonly LoginStep[] {
  if (!steps.some(({ id }) => id === step.id)) return [...steps, step].slice(-maxFindings);
  return steps.map((one) => (one.id === step.id ? step : one));
}

/** Keeps a record, and forgets the oldest that have ended. */
function keep<R extends { readonly id: string }>(
  records: Map<string, R>,
  record: R,
  running: ReadonlyMap<string, unknown>,
): void {
  records.set(record.id, record);
  for (const id of records.keys()) {
    if (records.size <= maxKeptReports) return;
    if (!running.has(id)) records.delete(id);
  }
}

/** A page must never open anything but a web page. */
function checkAddress(address: string): string {
  const { protocol, href } = new URL(address);
  if (protocol !== "https:" && protocol !== "http:") throw new Error("The page of a sign-in must be a web page.");
  return href;
}
