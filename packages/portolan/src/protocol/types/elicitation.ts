import type { Meta, NotificationParams } from "./base.ts";
import type { TaskAugmentedParams } from "./tasks.ts";

/** A line of text. */
export interface StringSchema {
  type: "string";
  title?: string;
  description?: string;
  minLength?: number;
  maxLength?: number;
  format?: "email" | "uri" | "date" | "date-time";
  /** Read and obeyed but never sent: the text of 2025-11-25 shows it, no schema has it. */
  pattern?: string;
  /** Since 2025-11-25. */
  default?: string;
}

/** A number. */
export interface NumberSchema {
  type: "number" | "integer";
  title?: string;
  description?: string;
  minimum?: number;
  maximum?: number;
  /** Since 2025-11-25. */
  default?: number;
}

/** Yes or no. */
export interface BooleanSchema {
  type: "boolean";
  title?: string;
  description?: string;
  default?: boolean;
}

/** A value to choose and the words that stand for it. */
export interface TitledOption {
  const: string;
  title: string;
}

/** One of several values, each shown as it is. */
export interface UntitledSingleSelectEnumSchema {
  type: "string";
  title?: string;
  description?: string;
  enum: string[];
  /** Since 2025-11-25. */
  default?: string;
}

/** One of several values, each with a title; since 2025-11-25. */
export interface TitledSingleSelectEnumSchema {
  type: "string";
  title?: string;
  description?: string;
  oneOf: TitledOption[];
  default?: string;
}

/** Any of several values, each shown as it is; since 2025-11-25. */
export interface UntitledMultiSelectEnumSchema {
  type: "array";
  title?: string;
  description?: string;
  minItems?: number;
  maxItems?: number;
  items: { type: "string"; enum: string[] };
  default?: string[];
}

/** Any of several values, each with a title; since 2025-11-25. */
export interface TitledMultiSelectEnumSchema {
  type: "array";
  title?: string;
  description?: string;
  minItems?: number;
  maxItems?: number;
  items: { anyOf: TitledOption[] };
  default?: string[];
}

/** One of several values with the titles beside them: the older way, which later revisions still read. */
export interface LegacyTitledEnumSchema {
  type: "string";
  title?: string;
  description?: string;
  enum: string[];
  /** As many as `enum`, in the same order; without them the schema is the untitled one. */
  enumNames: string[];
  /** Since 2025-11-25. */
  default?: string;
}

/** A choice of one. */
export type SingleSelectEnumSchema = UntitledSingleSelectEnumSchema | TitledSingleSelectEnumSchema;

/** A choice of several. */
export type MultiSelectEnumSchema = UntitledMultiSelectEnumSchema | TitledMultiSelectEnumSchema;

/** A choice, told apart by `type` and then by which of `enumNames`, `enum` and `oneOf` is there. */
export type EnumSchema = SingleSelectEnumSchema | MultiSelectEnumSchema | LegacyTitledEnumSchema;

/** One field of a form. */
export type PrimitiveSchema = StringSchema | NumberSchema | BooleanSchema | EnumSchema;

/** A form: a flat object of simple fields. */
export interface FormSchema {
  $schema?: string;
  type: "object";
  properties: { [name: string]: PrimitiveSchema };
  required?: string[];
}

/** Asks the user to fill in a form. */
export interface ElicitFormParams extends TaskAugmentedParams {
  /** Absent means the same; 2025-06-18 knows no modes. */
  mode?: "form";
  message: string;
  requestedSchema: FormSchema;
}

/** Asks the user to visit a page; since 2025-11-25. */
export interface ElicitUrlParams extends TaskAugmentedParams {
  mode: "url";
  message: string;
  url: string;
  /** Names the visit for the notification that it is over; required on 2025-11-25, gone after. */
  elicitationId?: string;
}

/** The params of `elicitation/create`. */
export type ElicitParams = ElicitFormParams | ElicitUrlParams;

/** What the user did about a question. */
export type ElicitAction = "accept" | "decline" | "cancel";

/** What the user entered into one field; a list of strings answers a choice of several. */
export type ElicitValue = string | number | boolean | string[];

/** The answer to `elicitation/create`. */
export interface ElicitResult {
  action: ElicitAction;
  /** What a form holds, when it was accepted. */
  content?: { [name: string]: ElicitValue };
  _meta?: Meta;
}

/** The params of `notifications/elicitation/complete`: the visit is over; 2025-11-25 only. */
export interface ElicitationCompleteParams extends NotificationParams {
  elicitationId: string;
}

/** The `data` of the error that asks for visits before a request can succeed; 2025-11-25 only. */
export interface UrlElicitationRequiredData {
  elicitations: ElicitUrlParams[];
}
