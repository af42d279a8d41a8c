import type { JsonObject } from "../../jsonrpc/message.ts";
import { type ParamPlan, planParamHeaders, problemOfParamHeaders } from "../../transport/param-headers.ts";
import type { HttpRequest } from "./adapter.ts";

/** Made once for a schema: definitions do not change. */
const plans = new WeakMap<object, ParamPlan | undefined>();

/** Why the headers that repeat arguments do not say what the body says; undefined when they do. */
export function problemOfParams(schema: JsonObject, args: JsonObject, request: HttpRequest): string | undefined {
  if (!plans.has(schema)) {
    const plan = planParamHeaders(schema);
    plans.set(schema, "problem" in plan ? undefined : plan);
  }
  const plan = plans.get(schema);
  return plan && problemOfParamHeaders(plan, args, (prefix) => request.headersUnder(prefix));
}
