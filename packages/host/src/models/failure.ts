import { PortolanError } from "portolan";

export interface ModelFailureOptions extends ErrorOptions {
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly mayPass?: boolean;
}

/** A provider that did not answer, or not as it should. */
export class ModelFailure extends PortolanError {
  override name = "ModelFailure";
  /** The status of its answer; undefined when there was none. */
  readonly status: number | undefined;
  /** How long it asks to be left alone; undefined when it does not say. */
  readonly retryAfterMs: number | undefined;
  /** Whether the same request may succeed later: the provider was busy, down or out of reach. */
  readonly mayPass: boolean;

  constructor(message: string, options: ModelFailureOptions = {}) {
    super("model-failed", message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.mayPass = options.mayPass ?? false;
  }
}
