import { type Context, type FullResult, ToolError } from "portolan/server";
import { ConsentedEffects, maxShownLength } from "../consent.ts";
import type { Service } from "./service.ts";

/** Makes changes at a service after the user has agreed, each at most once for a yes. */
export class ConfirmedChanges {
  readonly #service: Service;
  readonly #asks: boolean;
  readonly #consents: ConsentedEffects<FullResult<unknown>> = new ConsentedEffects();

  /** With `asks: false` changes are made at once. */
  constructor(service: Service, { asks }: { readonly asks: boolean }) {
    this.#service = service;
    this.#asks = asks;
  }

  /** Asks and makes a change. Throws a `ToolError` with advice if the client cannot ask. */
  async run<T>(ctx: Context, question: string, change: () => Promise<FullResult<T>>): Promise<FullResult<T>> {
    if (!this.#asks) return change();
    if (!ctx.mayAsk("elicitation.form")) {
      throw new ToolError(
        `This client cannot ask the user, and a change at ${this.#service.name} needs the user's consent. Nothing was changed; ask the user to do it, or to start the server with --yes`,
      );
    }
    if (question.length > maxShownLength) {
      throw new ToolError(
        `The change is too long for the user to review, so nothing was changed; use less than ${maxShownLength} characters in all`,
      );
    }
    const done = await this.#consents.run(ctx, question, change);
    return (done?.result as FullResult<T> | undefined) ?? ctx.cancelled("The user declined: nothing was changed.");
  }
}
