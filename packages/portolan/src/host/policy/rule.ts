import type { JsonObject } from "../../jsonrpc/message.ts";
import type { Tool } from "../../protocol/types/index.ts";

/** What happens to a call. */
export type Effect = "allow" | "ask" | "deny";

/** A call as a policy sees it. */
export interface PolicyCall {
  readonly server: string;
  readonly tool: string;
  /** `server.tool`. */
  readonly name: string;
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  readonly openWorld: boolean;
  /** Whether the server's hints count. */
  readonly trusted: boolean;
  readonly definition: Tool;
  readonly args: JsonObject;
  /** Servers whose untrusted content is in the conversation. */
  readonly contentFrom: readonly string[];
  /** Servers whose resources are in the conversation. */
  readonly resourcesFrom: readonly string[];
}

/**
 * What one argument must be; all that is said must hold. An argument that is not there fails every test, and so does a
 * value with a `..` step in `startsWith` and `matches` of a rule that allows.
 */
export interface ArgumentTest {
  readonly equals?: unknown;
  readonly oneOf?: readonly unknown[];
  readonly startsWith?: string;
  /** `*` stands for any characters. */
  readonly matches?: string;
  readonly min?: number;
  readonly max?: number;
}

/** One rule: what it says about a call must hold, all of it; what it does not say does not matter. */
export interface Rule {
  /**
   * Names as `server.tool`, `*` for any characters; one of them must match. In a rule that allows, what stands before a
   * dot is the whole name of the server.
   */
  readonly match?: string | readonly string[];
  /** Names of servers, `*` for any characters: exact where names have dots. */
  readonly server?: string | readonly string[];
  readonly when?: (call: PolicyCall) => boolean;
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  readonly idempotent?: boolean;
  readonly openWorld?: boolean;
  /**
   * Tests by the path of an argument: `path`, `options.force`, `files.*.path`. Where `*` stands for several, a rule
   * that allows needs all of them, and any other needs one.
   */
  readonly args?: { readonly [path: string]: ArgumentTest };
  /** Allows even after untrusted content has entered the conversation. */
  readonly evenAfterUntrusted?: boolean;
  /** Allows even while resources of other servers are in the conversation. */
  readonly evenWithResources?: boolean;
  readonly then: Effect;
  /** Shown to the user, and told to the model when the call is denied. */
  readonly reason?: string;
}

/** Why a call that a rule allows is asked about, or what to know when it is asked about anyway. */
export interface Caution {
  /**
   * `untrusted-content`: what a server wrote may have led the model to this call. `data-flow`: data of one server may
   * go to another.
   */
  readonly kind: "untrusted-content" | "data-flow";
  readonly from: readonly string[];
}

/** What a policy says about a call; shared between calls, so not to be changed. */
export interface Decision {
  readonly effect: Effect;
  /** The place of the rule that decided; none when no rule did. */
  readonly rule?: number;
  readonly reason: string;
  readonly cautions: readonly Caution[];
}

/** Rules that were checked once and are quick to ask. */
export interface Policy {
  readonly rules: readonly Rule[];
  /** The first rule that matches decides; without one the user is asked. */
  decide(call: PolicyCall): Decision;
  /** Whether a tool is allowed whatever it is called with, outside of conversations: that need be asked only once. */
  allowsAlways(call: PolicyCall): boolean;
}
