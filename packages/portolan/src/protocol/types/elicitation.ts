import type { Meta, NotificationParams } from "./base.ts";
import type { TaskAugmentedParams } from "./tasks.ts";

/** A field for text. */
export interface StringSchema {
  type: "string";
  title?: string;
  description?: string;
  minLength?: number;
  maxLength?: number;
  format?: "email" | "uri" | "date" | "date-time";
  /** Checked if present, but never sent: the text of 2025-11-25 shows it, its schema lacks it. */
  pattern?: string;
  /** Since 2025-11-25. */
  default?: string;
}

/** A field for a number. */
export interface NumberSchema {
  type: "number" | "integer";
  title?: string;
  description?: string;
  minimum?: number;
  maximum?: number;
  /** Since 2025-11-25. */
  default?: number;
}

/** A field for yes or no. */
export interface BooleanSchema {
  type: "boolean";
  title?: string;
  description?: string;
  default?: boolean;
}

/** A value to choose, and its label. */
export interface TitledOption {
  const: string;
  title: string;
}

/** A choice of one value, without labels. */
export interface UntitledSingleSelectEnumSchema {
  type: "string";
  title?: string;
  description?: string;
  enum: string[];
  /** Since 2025-11-25. */
  default?: string;
}

/** A choice of one value, with labels. Since 2025-11-25. */
export interface TitledSingleSelectEnumSchema {
  type: "string";
  title?: string;
  description?: string;
  oneOf: TitledOption[];
  default?: string;
}

/** A choice of several values, without labels. Since 2025-11-25. */
export interface UntitledMultiSelectEnumSchema {
  type: "array";
  title?: string;
  description?: string;
  minItems?: number;
  maxItems?: number;
  items: { type: "string"; enum: string[] };
  default?: string[];
}

/** A choice of several values, with labels. Since 2025-11-25. */
export interface TitledMultiSelectEnumSchema {
  type: "array";
  title?: string;
  description?: string;
  minItems?: number;
  maxItems?: number;
  items: { anyOf: TitledOption[] };
  default?: string[];
}

/** A choice of one value, with labels as 2025-06-18 writes them. Later revisions still accept it. */
export interface LegacyTitledEnumSchema {
  type: "string";
  title?: string;
  description?: string;
  enum: string[];
  /** One label for each value of `enum`, in the same order. */
  enumNames: string[];
  /** Since 2025-11-25. */
  default?: string;
}

/** A choice of one value. */
export type SingleSelectEnumSchema = UntitledSingleSelectEnumSchema | TitledSingleSelectEnumSchema;

/** A choice of several values. */
export type MultiSelectEnumSchema = UntitledMultiSelectEnumSchema | TitledMultiSelectEnumSchema;

/** A choice. `type` distinguishes one from several; `enumNames`, `enum` or `oneOf` the form. */
export type EnumSchema = SingleSelectEnumSchema | MultiSelectEnumSchema | LegacyTitledEnumSchema;

/** One field of a form. */
export type PrimitiveSchema = StringSchema | NumberSchema | BooleanSchema | EnumSchema;

/** A form: an object of simple fields, without nesting. */
export interface FormSchema {
  $schema?: string;
  type: "object";
  properties: { [name: string]: PrimitiveSchema };
  required?: string[];
}

/** The params of `elicitation/create` for a form. */
export interface ElicitFormParams extends TaskAugmentedParams {
  /** Default: "form". Since 2025-11-25. */
  mode?: "form";
  message: string;
  requestedSchema: FormSchema;
}

/** The params of `elicitation/create` for a URL that the user opens. Since 2025-11-25. */
export interface ElicitUrlParams extends TaskAugmentedParams {
  mode: "url";
  message: string;
  url: string;
  /** The id for `notifications/elicitation/complete`. Required in 2025-11-25, absent in later revisions. */
  elicitationId?: string;
}

/** The params of `elicitation/create`. */
export type ElicitParams = ElicitFormParams | ElicitUrlParams;

/** The user's decision about a question. */
export type ElicitAction = "accept" | "decline" | "cancel";

/** The value of one field. A choice of several values gives a list of strings. */
export type ElicitValue = string | number | boolean | string[];

/** The result of `elicitation/create`. */
export interface ElicitResult {
  action: ElicitAction;
  /** The values of the form by field. Only with the action "accept". */
  content?: { [name: string]: ElicitValue };
  _meta?: Meta;
}

/** The params of `notifications/elicitation/complete`. 2025-11-25 only. */
export interface ElicitationCompleteParams extends NotificationParams {
  elicitationId: string;
}

/** The `data` of the error that requires URL elicitations before the request can succeed. 2025-11-25 only. */
export interface UrlElicitationRequiredData {
  elicitations: ElicitUrlParams[];
}
