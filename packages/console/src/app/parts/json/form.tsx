import { computed, type ReadonlySignal, type Signal, signal, useComputed, useSignal } from "@preact/signals";
import { createContext, type JSX } from "preact";
import { useContext, useId, useMemo } from "preact/hooks";
import { Note } from "../badge.tsx";
import { Button } from "../button.tsx";
import { Icon } from "../icon.tsx";
import { ServerText } from "../quoted.tsx";
import type { JsonProblem } from "./check.ts";
import {
  emptyArray,
  emptyObject,
  type JsonNode,
  type JsonPath,
  type JsonStep,
  nullNode,
  pathText,
  stringNode,
} from "./document.ts";
import type { EditedDocument } from "./edited-document.ts";
import { FieldControl } from "./field-controls.tsx";
import { blankValue, type FieldShape, type FormSchema, shapeOf } from "./schema.ts";

/** Options of a form over a document. */
export interface SchemaFormProps {
  readonly document: EditedDocument;
  /** "try" offers everything that can be sent, "answer" only what the schema asks for. */
  readonly mode: "try" | "answer";
  /** True shows the problems of all fields, not only of those that were left. */
  readonly showsProblems: ReadonlySignal<boolean>;
}

/** The members that all fields of one form share. */
export interface FormContent {
  readonly document: EditedDocument;
  readonly root: FormSchema;
  readonly mode: "try" | "answer";
  readonly isShown: (path: JsonPath) => boolean;
  readonly leave: (path: JsonPath) => void;
  readonly problems: ReadonlySignal<ReadonlyMap<string, JsonProblem>>;
}

const FormContext = createContext<FormContent | undefined>(undefined);

export function useForm(): FormContent {
  const form = useContext(FormContext);
  if (!form) throw new Error("useForm: the field is outside of a form");
  return form;
}

/** A form of a schema over a document. It loses nothing: what the schema does not know stays in the document. */
export function SchemaForm({ document, mode, showsProblems }: SchemaFormProps): JSX.Element {
  const content = useMemo((): FormContent => {
    const left: Signal<ReadonlySet<string>> = signal(new Set());
    return {
      document,
      mode,
      root: document.schema,
      isShown: (path) => showsProblems.value || left.value.has(keyOf(path)),
      leave: (path) => {
        if (!left.peek().has(keyOf(path))) left.value = new Set([...left.peek(), keyOf(path)]);
      },
      problems: computed(
        () =>
          new Map(
            document.problems.value.map((problem) => [keyOf(problem.path), problem]).reverse() as [
              string,
              JsonProblem,
            ][],
          ),
      ),
    };
  }, [document, mode, showsProblems]);
  const error = document.error.value;
  if (error) {
    return (
      <Note tone="danger">
        The JSON has an error in line {error.line}. Repair it there, then the form has all values again.
      </Note>
    );
  }
  return (
    <FormContext.Provider value={content}>
      <Members path={[]} schema={document.schema} />
    </FormContext.Provider>
  );
}

/** Gives the focus to the first field with a problem. Returns false if none is shown. */
export function focusProblem(form: HTMLElement): boolean {
  const field = form.querySelector<HTMLElement>('[aria-invalid="true"]');
  for (let fold = field?.closest("details"); fold; fold = fold.parentElement?.closest("details")) fold.open = true;
  field?.focus();
  return field !== null;
}

function keyOf(path: JsonPath): string {
  return JSON.stringify(path);
}

/** The members of an object. */
export function Members({ path, schema }: { path: JsonPath; schema: FormSchema }): JSX.Element {
  const { root, document, mode } = useForm();
  const shape = shapeOf(schema, root);
  const order = useMemo(() => shape.properties.map(([name]) => name), [shape]);
  const node = useComputed(() => document.at(path));
  const names = useMemo(() => new Set(order), [order]);
  const others = node.value?.kind === "object" ? node.value.members.filter(({ name }) => !names.has(name)) : [];
  const isMap = typeof shape.additional === "object" || (shape.additional === true && order.length === 0);
  return (
    <>
      {shape.properties.map(([name, member]) => (
        <Field key={name} path={path} step={name} schema={member} isRequired={shape.required.has(name)} order={order} />
      ))}
      {shape.properties.length === 0 && !isMap && others.length === 0 && path.length === 0 && (
        <p class="t3">{mode === "try" ? "This tool takes no arguments." : "Nothing has to be filled in."}</p>
      )}
      {isMap ? (
        <>
          {others.map(({ name }) => (
            <Field key={name} path={path} step={name} schema={shape.additional ?? true} isExtra />
          ))}
          <AddMember
            path={path}
            schema={shape.additional ?? true}
            taken={(name) => names.has(name) || others.some((other) => other.name === name)}
          />
        </>
      ) : (
        others.length > 0 && (
          <Note>
            <b>{others.length === 1 ? "1 member" : `${others.length} members`} outside the schema</b>{" "}
            {others.length === 1 ? "is" : "are"} kept:{" "}
            {others.slice(0, 5).map(({ name }, at) => (
              <>
                {at > 0 && ", "}
                <code>
                  <ServerText text={name} />
                </code>
              </>
            ))}
            {others.length > 5 && ", …"}. See JSON.
          </Note>
        )
      )}
    </>
  );
}

interface FieldProps {
  readonly path: JsonPath;
  readonly step: JsonStep;
  readonly schema: FormSchema;
  readonly isRequired?: boolean;
  /** True for a member that a person added, and for an item: it can be removed. */
  readonly isExtra?: boolean;
  readonly order?: readonly string[];
}

/** One value: its name, whether it is sent and as what, the control, and what is wrong with it. */
export function Field({
  path: outer,
  step,
  schema,
  isRequired = false,
  isExtra = false,
  order = none,
}: FieldProps): JSX.Element {
  const { root, document, mode, isShown, leave, problems } = useForm();
  const path = useMemo(() => [...outer, step], [keyOf(outer), step]);
  const shape = shapeOf(schema, root);
  const id = useId();
  const node = useComputed(() => document.at(path));
  const problem = useComputed(() => (isShown(path) ? problems.value.get(keyOf(path)) : undefined));
  const set = (value: JsonNode | undefined) => document.set(path, value, order);
  const isGroup = ["object", "array", "union", "choices", "any"].includes(shape.kind);
  const name = typeof step === "number" ? `Item ${step + 1}` : step;
  const title = shape.title !== undefined && shape.title !== name ? shape.title : undefined;
  const about = [problem.value ? `${id}-e` : "", shape.description ? `${id}-d` : ""].filter(Boolean).join(" ");
  const presences = presencesOf(shape, { isRequired, isExtra, mode, node: node.value });
  const words = mode === "answer" && title !== undefined ? title : name;
  const caption = (
    <>
      <ServerText text={words} />
      {isRequired && (
        <span class="c-danger" title="needed">
          *
        </span>
      )}
      {mode === "try" && (
        <span class="type">
          <ServerText text={shape.type} />
        </span>
      )}
      {mode === "answer" && !isRequired && !isExtra && <span class="type">optional</span>}
    </>
  );
  return (
    <div class="field" data-kind={shape.kind} onFocusOut={() => leave(path)}>
      <div class="cap">
        {isGroup ? (
          <span id={`${id}-l`}>{caption}</span>
        ) : (
          <label for={id} id={`${id}-l`}>
            {caption}
          </label>
        )}
        {presences.length > 1 && (
          <Presence name={words} presences={presences} node={node.value} shape={shape} onChange={set} />
        )}
        {isExtra && (
          <Button
            tone="quiet"
            size="small"
            icon="x"
            class={presences.length > 1 ? "" : "end"}
            label={`Remove ${words}`}
            onClick={() => set(undefined)}
          />
        )}
      </div>
      {node.value === undefined && presences.length > 1 && shape.kind !== "choice" && !isGroup ? (
        <button
          type="button"
          class="in ghost mono t3"
          id={id}
          aria-describedby={about}
          aria-invalid={problem.value ? "true" : undefined}
          onClick={() => set(blankValue(schema, root))}
        >
          not sent{shape.default === undefined ? "" : `, default ${short(shape.default)}`}
        </button>
      ) : node.value?.kind === "null" && shape.kind !== "null" && shape.kind !== "any" ? (
        <button
          type="button"
          class="in ghost mono t3"
          id={id}
          aria-describedby={about}
          aria-invalid={problem.value ? "true" : undefined}
          onClick={() => set(blankValue(schema, root))}
        >
          null
        </button>
      ) : (
        <FieldControl
          id={id}
          about={about}
          path={path}
          shape={shape}
          schema={schema}
          node={node.value}
          isInvalid={problem.value !== undefined}
          isRequired={isRequired}
          onChange={set}
        />
      )}
      {shape.description !== undefined && (
        <div class="hint words" id={`${id}-d`} dir="auto">
          {title !== undefined && mode === "try" && (
            <b>
              <ServerText text={title} />:{" "}
            </b>
          )}
          <ServerText text={shape.description} lines="keep" />
        </div>
      )}
      {problem.value && (
        <div class="err" id={`${id}-e`}>
          <Icon name="warn" small />
          <span>
            <ServerText text={pathText([step])} /> <ServerText text={problem.value.message} />
          </span>
        </div>
      )}
    </div>
  );
}

const none: readonly string[] = [];

type PresenceName = "value" | "empty" | "null" | "absent";

/** Returns the ways in which a value can be sent or left out. One way needs no switch. */
function presencesOf(
  shape: FieldShape,
  about: {
    readonly isRequired: boolean;
    readonly isExtra: boolean;
    readonly mode: "try" | "answer";
    readonly node: JsonNode | undefined;
  },
): readonly PresenceName[] {
  const { isRequired, isExtra, mode, node } = about;
  if (mode === "answer") {
    // A control that can be emptied needs no switch: an empty answer is not given.
    const canClear = !isRequired && !isExtra && ["object", "array", "union"].includes(shape.kind);
    return [
      "value",
      ...(shape.isNullable ? (["null"] as const) : []),
      ...(canClear || (shape.isNullable && !isRequired) ? (["absent"] as const) : []),
    ];
  }
  const hasEmpty = ["string", "array", "choices"].includes(shape.kind);
  const isOdd = node === undefined || node.kind === "null" || isEmpty(node);
  if (isExtra) return ["value", ...(shape.isNullable || node?.kind === "null" ? (["null"] as const) : [])];
  // A required field is simply filled in; the switch appears when it tells something that the field does not show.
  if (
    isRequired &&
    !shape.isNullable &&
    !(isOdd && shape.kind === "string" && node !== undefined) &&
    node?.kind !== "null"
  )
    return ["value"];
  return [
    "value",
    ...(hasEmpty ? (["empty"] as const) : []),
    ...(shape.isNullable || !isRequired || node?.kind === "null" ? (["null"] as const) : []),
    "absent",
  ];
}

/** Returns the value for a person who asks for one that is not empty: a list has an item then. */
function firstFilled(shape: FieldShape, root: FormSchema): JsonNode {
  const blank = blankValue(shape.schema, root);
  if (blank.kind !== "array" || blank.items.length > 0) return blank;
  const item = shape.choices[0]?.node ?? blankValue(shape.items ?? true, root);
  return { ...emptyArray, items: [item] };
}

function isEmpty(node: JsonNode): boolean {
  if (node.kind === "string") return node.value === "";
  if (node.kind === "array") return node.items.length === 0;
  return node.kind === "object" && node.members.length === 0;
}

function presenceOf(node: JsonNode | undefined): PresenceName {
  if (node === undefined) return "absent";
  if (node.kind === "null") return "null";
  return isEmpty(node) ? "empty" : "value";
}

function Presence(props: {
  readonly name: string;
  readonly presences: readonly PresenceName[];
  readonly node: JsonNode | undefined;
  readonly shape: FieldShape;
  readonly onChange: (node: JsonNode | undefined) => void;
}): JSX.Element {
  const { name, presences, node, shape, onChange } = props;
  const { root } = useForm();
  const last = useSignal<JsonNode | undefined>(undefined);
  const found = presenceOf(node);
  const now = presences.includes(found) ? found : "value";
  const choose = (presence: PresenceName) => {
    if (now === "value" && node !== undefined) last.value = node;
    if (presence === "absent") onChange(undefined);
    else if (presence === "null") onChange(nullNode);
    else if (presence === "empty")
      onChange(
        shape.kind === "object"
          ? emptyObject
          : shape.kind === "string" || shape.kind === "any"
            ? stringNode("")
            : emptyArray,
      );
    // The value that was typed before comes back.
    else onChange(last.value ?? firstFilled(shape, root));
  };
  return (
    <fieldset class="presence" aria-label={`How ${name} is sent`}>
      {presences.map((presence) => (
        <button key={presence} type="button" aria-pressed={presence === now} onClick={() => choose(presence)}>
          {presence}
        </button>
      ))}
    </fieldset>
  );
}

function AddMember({
  path,
  schema,
  taken,
}: {
  path: JsonPath;
  schema: FormSchema;
  taken: (name: string) => boolean;
}): JSX.Element {
  const { document, root } = useForm();
  const name = useSignal("");
  const id = useId();
  const add = () => {
    if (name.value === "" || taken(name.value)) return;
    document.set([...path, name.value], blankValue(schema, root));
    name.value = "";
  };
  return (
    <div class="row">
      <input
        class="in mono"
        id={id}
        placeholder="name of a member"
        aria-label="Name of a new member"
        value={name.value}
        onInput={(event) => (name.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            add();
          }
        }}
      />
      <Button icon="plus" onClick={add}>
        Add
      </Button>
    </div>
  );
}

function short(node: JsonNode): string {
  const text =
    node.kind === "string" ? node.raw : node.kind === "object" ? "{…}" : node.kind === "array" ? "[…]" : node.text;
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
