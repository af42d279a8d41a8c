import {
  type Attributes,
  type Context,
  createNoopMeter,
  type Histogram,
  type Meter,
  type MeterProvider,
  metrics,
  ProxyTracerProvider,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { PortolanError } from "../errors.ts";
import { type JsonObject, type RequestId, RpcError } from "../jsonrpc/message.ts";
import { checkOptions, type OptionNames } from "../options.ts";
import { maxAttributeCharacters, maxContentCharacters, maxMeasuredNames } from "./limits.ts";
import { attribute, durationBounds, metric, toolError } from "./names.ts";

/** Where metrics go. */
export interface MeasureOptions {
  /** Default: the provider that is registered globally. */
  readonly meterProvider?: MeterProvider;
}

/** Where spans and metrics go, and what they contain. */
export interface TraceOptions extends MeasureOptions {
  /** Default: the provider that is registered globally. */
  readonly tracerProvider?: TracerProvider;
  /** Records arguments, results and messages of errors, which may be sensitive. Default: false. */
  readonly recordContent?: boolean;
}

const traceOptionNames = { tracerProvider: 1, meterProvider: 1, recordContent: 1 } satisfies OptionNames<TraceOptions>;
const measureOptionNames = { meterProvider: 1 } satisfies OptionNames<MeasureOptions>;

/** The name of this library among those that make spans and metrics. */
const scope = "portolan";

export function meterOf({ meterProvider }: MeasureOptions): Meter {
  return (meterProvider ?? metrics.getMeterProvider()).getMeter(scope);
}

/**
 * Returns whether there is nothing that would take spans and durations, nor send a context: then a request needs no work.
 * Asked for each request, because an SDK may be registered later.
 */
export function isOff({ tracerProvider, meterProvider }: TraceOptions): boolean {
  if (tracerProvider || meterProvider) return false;
  const provider = trace.getTracerProvider();
  if (!(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== absentProvider) return false;
  return metrics.getMeterProvider().getMeter(scope) === absentMeter && propagation.fields().length === 0;
}

/** The provider and the meter that the API uses while no SDK is registered. */
const absentProvider = new ProxyTracerProvider().getDelegate();
const absentMeter = createNoopMeter();

export function checkTraceOptions(options: TraceOptions, where: string): void {
  checkOptions(options, traceOptionNames, where);
}

export function checkMeasureOptions(options: MeasureOptions, where: string): void {
  checkOptions(options, measureOptionNames, where);
}

/** A histogram of durations in seconds, of the provider that is registered when one is recorded. */
export class Durations {
  readonly #name: string;
  readonly #description: string;
  readonly #options: MeasureOptions;
  #provider: MeterProvider | undefined;
  #histogram: Histogram | undefined;

  constructor(name: string, description: string, options: MeasureOptions) {
    this.#name = name;
    this.#description = description;
    this.#options = options;
  }

  /** Records the time that has passed since `begunAt` of `performance.now()`. */
  record(begunAt: number, attributes: Attributes, context?: Context): void {
    // The API has no proxy for meters: one that was made before a provider is registered measures nothing.
    const provider = this.#options.meterProvider ?? metrics.getMeterProvider();
    if (provider !== this.#provider) {
      this.#provider = provider;
      this.#histogram = provider.getMeter(scope).createHistogram(this.#name, {
        description: this.#description,
        unit: "s",
        advice: { explicitBucketBoundaries: durationBounds },
      });
    }
    this.#histogram?.record((performance.now() - begunAt) / 1_000, attributes, context);
  }
}

/** The facts of a request that its span and its metric begin with. */
export interface OperationFacts {
  readonly method: string;
  readonly params: JsonObject;
  /** Undefined where only the transport knows it. */
  readonly id: RequestId | undefined;
  /** Attributes of the span and the metric: few values for each. Owned by the operation, which adds more. */
  readonly shared: Attributes;
  readonly sessionId: string | undefined;
}

/** The end of a request: its result, or the type of its error. */
export interface OperationEnd {
  readonly result?: JsonObject | undefined;
  readonly errorType?: string | undefined;
  /** The JSON-RPC code of an error response. */
  readonly code?: number | undefined;
  readonly message?: string | undefined;
}

/** Returns the end of a request that this side has sent. The error is an `RpcError` if the other side sent it. */
export function endOfSent(outcome: { readonly result: JsonObject } | { readonly error: unknown }): OperationEnd {
  if ("result" in outcome) return outcome;
  const { error } = outcome;
  if (error instanceof RpcError) return { errorType: String(error.code), code: error.code, message: error.message };
  return { errorType: errorTypeOf(error), message: error instanceof Error ? error.message : undefined };
}

/** Returns the name of an error of this side. */
export function errorTypeOf(error: unknown): string {
  if (error instanceof PortolanError) return error.code;
  return error instanceof Error ? error.name : "_OTHER";
}

/** Makes the spans and the metric of the requests of one direction. */
export class Operations {
  readonly #kind: SpanKind;
  readonly #options: TraceOptions;
  readonly #durations: Durations;
  /** Names of tools and prompts that exist, because a request for them has succeeded. */
  readonly #names = new Set<string>();
  #tracerProvider: TracerProvider | undefined;
  #tracer: Tracer | undefined;

  constructor(kind: SpanKind.CLIENT | SpanKind.SERVER, options: TraceOptions) {
    this.#kind = kind;
    this.#options = options;
    const name = kind === SpanKind.CLIENT ? metric.clientDuration : metric.serverDuration;
    this.#durations = new Durations(name, "Duration of MCP requests", options);
  }

  // Hot path: attributes are written into few objects.
  begin({ method, params, id, shared, sessionId }: OperationFacts, parent: Context, linked?: Span): Operation {
    shared[attribute.method] = method;
    const target = targetOf(method, params);
    if (target) shared[target.attribute] = target.name;
    if (method === "tools/call") shared[attribute.operation] = "execute_tool";
    const attributes: Attributes = { ...shared };
    if (id !== undefined) attributes[attribute.requestId] = String(id).slice(0, maxAttributeCharacters);
    if (sessionId !== undefined) attributes[attribute.sessionId] = sessionId;
    const { uri } = params;
    if (typeof uri === "string") attributes[attribute.resourceUri] = uri.slice(0, maxAttributeCharacters);
    if (this.#options.recordContent && method === "tools/call") {
      attributes[attribute.toolArguments] = textOf(params["arguments"] ?? {});
    }
    const span = this.#tracerNow().startSpan(
      target ? `${method} ${target.name}` : method,
      linked
        ? { kind: this.#kind, attributes, links: [{ context: linked.spanContext() }] }
        : { kind: this.#kind, attributes },
      parent,
    );
    return new Operation(this, span, trace.setSpan(parent, span), method, shared, target);
  }

  /** Returns whether metrics may have a name. A name that a caller invented would be a series of its own. */
  mayMeasure(name: string, hasSucceeded: boolean): boolean {
    if (hasSucceeded && this.#names.size < maxMeasuredNames) this.#names.add(name);
    return this.#names.has(name);
  }

  get recordsContent(): boolean {
    return this.#options.recordContent === true;
  }

  record(begunAt: number, attributes: Attributes, context: Context): void {
    this.#durations.record(begunAt, attributes, context);
  }

  /**
   * Returns a tracer of the provider that is registered now. One that was made before the SDK is registered would find it
   * only if both use the same copy of the API.
   */
  #tracerNow(): Tracer {
    const provider = this.#options.tracerProvider ?? trace.getTracerProvider();
    if (!this.#tracer || provider !== this.#tracerProvider) {
      this.#tracerProvider = provider;
      this.#tracer = provider.getTracer(scope);
    }
    return this.#tracer;
  }
}

/** One request with its span. */
export class Operation {
  readonly #operations: Operations;
  readonly #span: Span;
  /** The context in which the span is active. */
  readonly context: Context;
  readonly #method: string;
  readonly #shared: Attributes;
  readonly #target: Target | undefined;
  readonly #begunAt = performance.now();

  constructor(
    operations: Operations,
    span: Span,
    context: Context,
    method: string,
    shared: Attributes,
    target: Target | undefined,
  ) {
    this.#operations = operations;
    this.#span = span;
    this.context = context;
    this.#method = method;
    this.#shared = shared;
    this.#target = target;
  }

  end({ result, errorType, code, message }: OperationEnd): void {
    const span = this.#span;
    const shared = this.#shared;
    const isTool = this.#method === "tools/call";
    const type = errorType ?? (isTool && result?.["isError"] === true ? toolError : undefined);
    const { recordsContent } = this.#operations;
    if (type !== undefined) {
      shared[attribute.errorType] = type;
      span.setAttribute(attribute.errorType, type);
      const status = { code: SpanStatusCode.ERROR };
      const shown = recordsContent ? message?.slice(0, maxContentCharacters) : undefined;
      span.setStatus(shown === undefined ? status : { ...status, message: shown });
    }
    if (code !== undefined) {
      shared[attribute.statusCode] = String(code);
      span.setAttribute(attribute.statusCode, String(code));
    }
    const target = this.#target;
    if (target && !this.#operations.mayMeasure(target.name, errorType === undefined)) delete shared[target.attribute];
    if (recordsContent && isTool && result) span.setAttribute(attribute.toolResult, textOf(result));
    span.end();
    this.#operations.record(this.#begunAt, shared, this.context);
  }
}

/** A tool or prompt that a request names, and the attribute for it. */
interface Target {
  readonly attribute: string;
  readonly name: string;
}

/** Returns the tool or prompt that a request names. */
function targetOf(method: string, { name }: JsonObject): Target | undefined {
  if (typeof name !== "string") return undefined;
  const short = name.slice(0, maxAttributeCharacters);
  if (method === "tools/call") return { attribute: attribute.toolName, name: short };
  return method === "prompts/get" ? { attribute: attribute.promptName, name: short } : undefined;
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value).slice(0, maxContentCharacters);
  } catch {
    // Values in memory may have no JSON form.
    return "";
  }
}
