import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useId } from "preact/hooks";
import { Button } from "../button.tsx";
import { ServerText } from "../quoted.tsx";
import { variantOf } from "./check.ts";
import {
  booleanNode,
  type JsonNode,
  type JsonPath,
  numberNode,
  parseJson,
  printJson,
  sameValue,
  stringNode,
  withValue,
} from "./document.ts";
import { Field, Members, useForm } from "./form.tsx";
import { blankValue, choiceOf, type FieldShape, type FormSchema, firstValue, shapeOf } from "./schema.ts";

interface ControlProps {
  readonly id: string;
  /** Ids of the elements that describe the control. */
  readonly about: string;
  readonly path: JsonPath;
  readonly shape: FieldShape;
  readonly schema: FormSchema;
  readonly node: JsonNode | undefined;
  readonly isInvalid: boolean;
  readonly isRequired: boolean;
  readonly onChange: (node: JsonNode | undefined) => void;
}

/** The control for a value. A value of another kind than the schema wants is shown as JSON, so that it is not lost. */
export function FieldControl(props: ControlProps): JSX.Element {
  const { shape, node } = props;
  switch (shape.kind) {
    case "string":
      return node === undefined || node.kind === "string" ? <TextControl {...props} /> : <AnyControl {...props} />;
    case "number":
    case "integer":
      return node === undefined || node.kind === "number" ? <NumberControl {...props} /> : <AnyControl {...props} />;
    case "boolean":
      return node === undefined || node.kind === "boolean" ? <BooleanControl {...props} /> : <AnyControl {...props} />;
    case "choice":
      return <ChoiceControl {...props} />;
    case "choices":
      return node === undefined || node.kind === "array" ? <ChoicesControl {...props} /> : <AnyControl {...props} />;
    case "array":
      return node === undefined || node.kind === "array" ? <ArrayControl {...props} /> : <AnyControl {...props} />;
    case "object":
      return node === undefined || node.kind === "object" ? <ObjectControl {...props} /> : <AnyControl {...props} />;
    case "union":
      return <UnionControl {...props} />;
    case "null":
      return <p class="t3 mono">null</p>;
    default:
      return <AnyControl {...props} />;
  }
}

const dateType = { type: "date" } as const;
const textType = { type: "text" } as const;

/** A longer text is not edited in a field: a field of a megabyte takes seconds for every key. */
const longestField = 20_000;

function shared({ id, about, isInvalid, isRequired }: ControlProps) {
  return {
    id,
    "aria-describedby": about || undefined,
    "aria-invalid": isInvalid ? ("true" as const) : undefined,
    "aria-required": isRequired || undefined,
    spellcheck: false,
    autocomplete: "off",
  };
}

function TextControl(props: ControlProps): JSX.Element {
  const { shape, node, isRequired, onChange } = props;
  const { mode } = useForm();
  const text = node?.kind === "string" ? node.value : "";
  const { format, maxLength } = shape.schema;
  if (text.length > longestField) {
    return (
      <div class="row in mono">
        <span class="cut grow">
          <ServerText text={text.slice(0, 200)} />
        </span>
        <span class="nowrap t3">{text.length.toLocaleString("en")} characters, edit in JSON</span>
      </div>
    );
  }
  const type = (value: string) => {
    // An optional answer that is emptied is not given.
    if (value === "" && mode === "answer" && !isRequired) onChange(undefined);
    else onChange(stringNode(value));
  };
  const example = shape.default === undefined ? placeholders[String(format)] : undefined;
  if (text.includes("\n") || (typeof maxLength === "number" && maxLength > 300)) {
    return (
      <textarea
        {...shared(props)}
        class="in mono"
        rows={Math.min(12, Math.max(3, text.split("\n").length))}
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
      />
    );
  }
  const isDate = mode === "answer" && format === "date" && (text === "" || /^\d{4}-\d\d-\d\d$/.test(text));
  return (
    <>
      <input
        {...shared(props)}
        class="in mono"
        {...(isDate ? dateType : textType)}
        inputMode={format === "email" ? "email" : format === "uri" ? "url" : "text"}
        placeholder={example}
        dir="auto"
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !event.shiftKey) return;
          event.preventDefault();
          type(`${text}\n`);
        }}
        onPaste={(event) => {
          // A field of one line would drop the line ends.
          const pasted = event.clipboardData?.getData("text/plain") ?? "";
          if (!pasted.includes("\n")) return;
          event.preventDefault();
          const { selectionStart, selectionEnd } = event.currentTarget;
          type(text.slice(0, selectionStart ?? 0) + pasted + text.slice(selectionEnd ?? text.length));
        }}
      />
      {format === "date-time" && <LocalTime text={text} />}
    </>
  );
}

const placeholders: { readonly [format: string]: string | undefined } = {
  date: "like 2026-11-19",
  "date-time": "like 2026-11-19T13:00:00Z",
  time: "like 13:00:00Z",
  email: "like name@example.com",
  uri: "https://",
};

/** Says in words which moment a text names. */
function LocalTime({ text }: { text: string }): JSX.Element | null {
  const time = Date.parse(text);
  if (Number.isNaN(time)) return null;
  const words = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "short" }).format(time);
  return <span class="hint">{words}, your time</span>;
}

function NumberControl(props: ControlProps): JSX.Element {
  const { node, shape, isRequired, onChange } = props;
  const { mode } = useForm();
  return (
    <input
      {...shared(props)}
      class="in mono"
      type="text"
      inputMode={shape.kind === "integer" ? "numeric" : "decimal"}
      value={node?.kind === "number" ? node.text : ""}
      onInput={(event) => {
        const text = event.currentTarget.value.trim();
        onChange(text === "" && (mode === "answer" || isRequired) ? undefined : numberNode(text));
      }}
    />
  );
}

function BooleanControl({ id, about, node, isInvalid, isRequired, onChange }: ControlProps): JSX.Element {
  const { mode } = useForm();
  const words = mode === "answer" ? ["Yes", "No"] : ["true", "false"];
  // A second press takes an optional answer back.
  const isChosen = (value: boolean) => node?.kind === "boolean" && node.text === String(value);
  return (
    <fieldset
      class="seg"
      id={id}
      tabIndex={-1}
      aria-labelledby={`${id}-l`}
      aria-describedby={about || undefined}
      aria-invalid={isInvalid ? "true" : undefined}
    >
      {[true, false].map((value, at) => (
        <button
          key={at}
          type="button"
          aria-pressed={isChosen(value)}
          onClick={() => onChange(mode === "answer" && !isRequired && isChosen(value) ? undefined : booleanNode(value))}
        >
          {words[at]}
        </button>
      ))}
    </fieldset>
  );
}

/** Few short choices are all visible; more stand in a list. */
const maxVisibleChoices = 4;

function ChoiceControl(props: ControlProps): JSX.Element {
  const { id, about, shape, node, isInvalid, isRequired, onChange } = props;
  const { mode } = useForm();
  const { choices } = shape;
  const canClear = mode === "answer" && !isRequired;
  const at = choiceOf(shape, node);
  const width = choices.reduce((sum, { label }) => sum + label.length, 0);
  if (choices.length <= maxVisibleChoices && width <= 36 && (node === undefined || at !== -1)) {
    return (
      <fieldset
        class="seg wrap"
        id={id}
        tabIndex={-1}
        aria-labelledby={`${id}-l`}
        aria-describedby={about || undefined}
        aria-invalid={isInvalid ? "true" : undefined}
      >
        {choices.map((choice, index) => (
          <button
            key={choice.label}
            type="button"
            aria-pressed={index === at}
            onClick={() => onChange(canClear && index === at ? undefined : choice.node)}
          >
            <ServerText text={choice.label} />
          </button>
        ))}
      </fieldset>
    );
  }
  const other = node !== undefined && at === -1;
  return (
    <select
      {...shared(props)}
      class="in"
      value={other ? "other" : at === -1 ? "" : String(at)}
      onChange={(event) => {
        const { value } = event.currentTarget;
        if (value !== "other") onChange(value === "" ? undefined : choices[Number(value)]?.node);
      }}
    >
      {(node === undefined || !isRequired) && (
        <option value="">{isRequired ? "Choose…" : mode === "answer" ? "no answer" : "not sent"}</option>
      )}
      {other && <option value="other">{printJson(node).slice(0, 60)} (not in the list)</option>}
      {choices.slice(0, 2_000).map((choice, index) => (
        <option key={choice.label} value={String(index)}>
          {choice.label.slice(0, 200)}
        </option>
      ))}
    </select>
  );
}

function ChoicesControl({ id, about, shape, node, isInvalid, isRequired, onChange }: ControlProps): JSX.Element {
  const { mode } = useForm();
  const items = node?.kind === "array" ? node.items : [];
  const others = items.filter((item) => choiceOf(shape, item) === -1);
  return (
    <fieldset
      class="picks"
      id={id}
      tabIndex={-1}
      aria-labelledby={`${id}-l`}
      aria-describedby={about || undefined}
      aria-invalid={isInvalid ? "true" : undefined}
    >
      {shape.choices.map((choice) => {
        const isOn = items.some((item) => sameValue(item, choice.node));
        return (
          <label key={choice.label}>
            <input
              type="checkbox"
              checked={isOn}
              onChange={() => {
                const rest = items.filter((item) => !sameValue(item, choice.node));
                const chosen = isOn ? rest : [...items, choice.node];
                const isGiven = chosen.length > 0 || mode !== "answer" || isRequired;
                onChange(isGiven ? { kind: "array", items: chosen, start: -1, end: -1 } : undefined);
              }}
            />
            <ServerText text={choice.label} />
          </label>
        );
      })}
      {others.length > 0 && <span class="hint">and {others.length} outside the list, see JSON</span>}
    </fieldset>
  );
}

/** Items that are shown at first, and more at each press. */
const itemStep = 20;

function ArrayControl({ id, path, shape, node }: ControlProps): JSX.Element {
  const { document, root } = useForm();
  const shown = useSignal(itemStep);
  const items = node?.kind === "array" ? node.items : [];
  const schema = shape.items ?? true;
  return (
    <fieldset class="nest" id={id} tabIndex={-1} aria-labelledby={`${id}-l`}>
      {items.slice(0, shown.value).map((_, at) => (
        <Field key={at} path={path} step={at} schema={schema} isExtra />
      ))}
      <div class="row wrap">
        {items.length > shown.value && (
          <Button size="small" onClick={() => (shown.value += itemStep)}>
            Show {Math.min(itemStep, items.length - shown.value)} more of {items.length}
          </Button>
        )}
        <Button
          size="small"
          icon="plus"
          onClick={() => {
            document.set([...path, items.length], blankValue(schema, root));
            if (items.length >= shown.value) shown.value = items.length + 1;
          }}
        >
          Add an item
        </Button>
      </div>
    </fieldset>
  );
}

function ObjectControl({ id, path, schema, node, isRequired, onChange }: ControlProps): JSX.Element {
  const { root } = useForm();
  if (node === undefined && !isRequired) {
    return (
      <button type="button" class="in ghost mono t3" id={id} onClick={() => onChange(blankValue(schema, root))}>
        not sent
      </button>
    );
  }
  return (
    <fieldset class="nest" id={id} tabIndex={-1} aria-labelledby={`${id}-l`}>
      <Members path={path} schema={schema} />
    </fieldset>
  );
}

function UnionControl(props: ControlProps): JSX.Element {
  const { id, shape, node, onChange } = props;
  const { root } = useForm();
  const label = useId();
  const chosen = useSignal(-1);
  const fitting = variantOf(node, shape, root);
  // A person's choice holds as long as nothing else fits better.
  const at = node === undefined ? -1 : chosen.value !== -1 ? chosen.value : Math.max(0, fitting);
  const variant = shape.variants[at];
  const choose = (next: number) => {
    chosen.value = next;
    const schema = shape.variants[next]?.schema ?? true;
    const first = firstValue(schema, root, true) ?? blankValue(schema, root);
    if (node?.kind !== "object" || first.kind !== "object") {
      onChange(first);
      return;
    }
    // Members with the same name are kept, but not those that tell the variants apart.
    const { properties } = shapeOf(schema, root);
    const kept = properties.reduce<JsonNode>((made, [name, member]) => {
      const old = node.members.find((each) => each.name === name)?.value;
      return old === undefined || shapeOf(member, root).kind === "choice"
        ? made
        : (withValue(made, [name], old) ?? made);
    }, first);
    onChange(kept);
  };
  if (shape.variants.length === 0) return <AnyControl {...props} />;
  const inner = variant && shapeOf(variant.schema, root);
  return (
    <div class="nest">
      <select
        class="in"
        id={inner === undefined || inner.kind === "object" ? id : label}
        aria-label="Form of the value"
        value={String(at)}
        onChange={(event) => choose(Number(event.currentTarget.value))}
      >
        {variant === undefined && <option value="-1">Choose…</option>}
        {shape.variants.map((each, index) => (
          <option key={index} value={String(index)}>
            {each.label.slice(0, 100)}
          </option>
        ))}
      </select>
      {inner === undefined || variant === undefined ? null : inner.kind === "union" ? (
        <AnyControl {...props} shape={inner} />
      ) : inner.kind === "object" ? (
        <Members path={props.path} schema={variant.schema} />
      ) : (
        <FieldControl {...props} shape={inner} schema={variant.schema} />
      )}
    </div>
  );
}

/** A value of any kind, as JSON. */
function AnyControl(props: ControlProps): JSX.Element {
  const { node, onChange } = props;
  const typed = useSignal<string | undefined>(undefined);
  const parsed = typed.value === undefined ? undefined : parseJson(typed.value);
  const isOurs = parsed !== undefined && "node" in parsed && node !== undefined && sameValue(parsed.node, node);
  const isBroken = parsed !== undefined && "error" in parsed && typed.value !== "";
  const text = isOurs || isBroken ? (typed.value ?? "") : node === undefined ? "" : printJson(node);
  return (
    <>
      <textarea
        {...shared(props)}
        class="in mono"
        rows={Math.min(10, Math.max(1, text.split("\n").length))}
        value={text}
        placeholder='JSON, for example "text" or 1'
        aria-invalid={props.isInvalid || isBroken ? "true" : undefined}
        onInput={(event) => {
          const { value } = event.currentTarget;
          typed.value = value;
          const next = parseJson(value);
          if ("node" in next) onChange(next.node);
          else if (value.trim() === "") onChange(undefined);
        }}
      />
      {parsed !== undefined && "error" in parsed && typed.value !== "" && (
        <span class="err">{parsed.error.message}</span>
      )}
    </>
  );
}
