import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ServerRecord, ToolRow } from "../../../api.ts";
import { Badge, Note } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Diff } from "../../parts/diff.tsx";
import { Bones, ReadFailure } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icon.tsx";
import { JsonEditor } from "../../parts/json/editor.tsx";
import { focusProblem, SchemaForm } from "../../parts/json/form.tsx";
import { JsonText } from "../../parts/json/json-text.tsx";
import type { FormSchema } from "../../parts/json/schema.ts";
import { MenuButton, MenuItem } from "../../parts/popover.tsx";
import { Quoted, ServerText } from "../../parts/quoted.tsx";
import { commandKey, isCommand } from "../../shell/keys.ts";
import { usePage } from "../../state/console.ts";
import { SaveDialog } from "../save-dialog.tsx";
import { inspectState } from "../state.ts";
import { countOf, countText } from "../words.ts";
import { ResultPane } from "./result-pane.tsx";

/** One tool: its arguments as a form or as JSON, and the result of the last call. */
export function ToolPane({ server, tool }: { server: ServerRecord; tool: ToolRow }): JSX.Element {
  const page = usePage();
  const state = inspectState(page);
  const connection = state.chosenConnection(server.name).value;
  const loaded = state.definition(server.name, tool.name, tool.digest, connection).value;
  const place = `${server.name} ${tool.name}`;
  const schema = loaded.value?.definition.inputSchema as FormSchema | undefined;
  const document = useMemo(() => (schema === undefined ? undefined : state.document(place, schema)), [place, schema]);
  const view = state.kept<"form" | "json" | "definition">("try-view", "form");
  const showsProblems = useSignal(false);
  const isSaving = useSignal(false);
  const pane = useRef<HTMLElement>(null);
  const shown = state.shownCall(place);
  const call = state.call(shown.value);
  const isRunning = call !== undefined && call.end === undefined;
  const changed = state
    .catalog(server.name, server.catalog)
    .value.value?.changed.find((each) => each.kind === "tool" && each.name === tool.name);
  const problems = document?.problems.value ?? [];
  const error = document?.error.value;
  const wasRunning = useRef(isRunning);
  useEffect(() => {
    if (wasRunning.current && call?.end)
      page.say(`${tool.name} ${call.end.how === "done" && !call.end.result?.isError ? "has answered" : "failed"}`);
    wasRunning.current = isRunning;
  }, [isRunning]);

  const run = async () => {
    if (document === undefined) return;
    const found = document.check();
    const unsendable = document.unsendable();
    if (unsendable || (found.length > 0 && !showsProblems.value)) {
      showsProblems.value = true;
      page.say(unsendable ? unsendable.message : `${countOf(found.length, "problem")}. Run again to send it anyway.`);
      // The fields show their problems with the next drawing.
      requestAnimationFrame(() => {
        if (!pane.current || !focusProblem(pane.current))
          pane.current?.querySelector<HTMLElement>(".editor textarea")?.focus();
      });
      return;
    }
    await state.run(place, { server: server.name, tool: tool.name, argumentsText: document.text });
  };
  const startOver = () => {
    const before = document?.text;
    document?.restart();
    showsProblems.value = false;
    page.toast("The arguments are new.", {
      action: { label: "Undo", run: () => before !== undefined && document?.type(before) },
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && isCommand(event)) {
      event.preventDefault();
      void run();
    }
  };
  return (
    <>
      <section ref={pane} class="pane" aria-label={`Arguments of ${tool.name}`} onKeyDown={onKeyDown}>
        <div class="pane-head wrap">
          <h2 class="tool cut" title={tool.name}>
            <ServerText text={tool.name} />
          </h2>
          {tool.isReadOnly ? (
            <Badge>says it only reads</Badge>
          ) : tool.isUnmarked ? (
            <Badge>unmarked</Badge>
          ) : tool.isDestructive ? (
            <Badge tone="danger">may destroy</Badge>
          ) : (
            <Badge>changes something</Badge>
          )}
          <fieldset class="seg end" aria-label="View of the arguments">
            {(["form", "json", "definition"] as const).map((each) => (
              <button key={each} type="button" aria-pressed={view.value === each} onClick={() => (view.value = each)}>
                {each === "form" ? "Form" : each === "json" ? "JSON" : "Definition"}
              </button>
            ))}
          </fieldset>
        </div>
        <div class="pane-body try-form">
          {changed && (
            <div class="stack in-pane">
              <Note tone="warn">
                <b>This definition changed</b> since you accepted it. The model cannot use it until you accept it.{" "}
                <Button
                  size="small"
                  onClick={() =>
                    page.attempt(() =>
                      page.api.change("server.accept", {
                        server: server.name,
                        kind: changed.kind,
                        name: changed.name,
                        digest: changed.digest,
                      }),
                    )
                  }
                >
                  Accept
                </Button>
              </Note>
              <Diff
                lines={changed.diff.map(({ path, before, after }) => ({
                  path,
                  ...(before !== undefined && { before: plain(before) }),
                  ...(after !== undefined && { after: plain(after) }),
                }))}
              />
            </div>
          )}
          {loaded.reason !== undefined && (
            <div class="in-pane">
              <ReadFailure reason={loaded.reason} onRetry={loaded.retry} />
            </div>
          )}
          {document === undefined || loaded.value === undefined ? (
            loaded.isLoading && (
              <div class="in-pane">
                <Bones label="Reading the definition" rows={4} />
              </div>
            )
          ) : view.value === "definition" ? (
            <Definition
              definition={loaded.value.definition}
              modelName={loaded.value.modelName}
              tokens={loaded.value.tokens}
            />
          ) : view.value === "json" ? (
            <JsonEditor document={document} label={`Arguments of ${tool.name} as JSON`} />
          ) : (
            <form class="form" onSubmit={(event) => event.preventDefault()}>
              {loaded.value.definition.description !== undefined && (
                <Quoted by={server.name} text={loaded.value.definition.description} />
              )}
              <SchemaForm document={document} mode="try" showsProblems={showsProblems} />
            </form>
          )}
        </div>
        <div class="pane-foot">
          <Button tone="primary" icon="play" keys={`${commandKey} ⏎`} isBusy={isRunning} onClick={run}>
            {showsProblems.value && problems.length > 0 && !error ? "Run anyway" : "Run"}
          </Button>
          {isRunning && call ? (
            <Button icon="stop" onClick={() => page.attempt(() => page.api.change("cancel", { call: call.id }))}>
              Cancel
            </Button>
          ) : (
            call !== undefined && (
              <Button
                icon="replay"
                title="Send the last arguments again"
                onClick={() =>
                  state.run(place, { server: server.name, tool: tool.name, argumentsText: call.argumentsText })
                }
              >
                Repeat
              </Button>
            )
          )}
          <span class="grow" />
          {(error || (showsProblems.value && problems.length > 0)) && (
            <span class="small c-danger num nowrap">{error ? "not JSON" : countOf(problems.length, "problem")}</span>
          )}
          <MenuButton label="More" button={{ tone: "quiet", icon: "more", label: "More about this call" }}>
            {(close) => (
              <>
                <MenuItem
                  icon={<Icon name="save" />}
                  onClick={() => {
                    close();
                    isSaving.value = true;
                  }}
                >
                  Save this call
                </MenuItem>
                <MenuItem
                  icon={<Icon name="copy" />}
                  onClick={() => {
                    close();
                    void page
                      .attempt(() => navigator.clipboard.writeText(document?.text ?? ""))
                      .then(() => page.toast("Copied.", { tone: "ok" }));
                  }}
                >
                  Copy the arguments
                </MenuItem>
                <MenuItem
                  icon={<Icon name={tool.isVisible ? "lock" : "eye"} />}
                  onClick={() => {
                    close();
                    void page.attempt(() =>
                      page.api.change("server.show-tool", {
                        server: server.name,
                        tool: tool.name,
                        isVisible: !tool.isVisible,
                      }),
                    );
                  }}
                >
                  {tool.isVisible ? "Hide it from the model" : "Show it to the model"}
                </MenuItem>
                <MenuItem
                  icon={<Icon name="trash" />}
                  onClick={() => {
                    close();
                    startOver();
                  }}
                >
                  Start over with new arguments
                </MenuItem>
              </>
            )}
          </MenuButton>
        </div>
      </section>
      <ResultPane server={server} call={call} outputSchema={loaded.value?.definition.outputSchema !== undefined} />
      {isSaving.value && document && (
        <SaveDialog
          server={server.name}
          tool={tool.name}
          argumentsText={document.text}
          result={call?.end?.result}
          onClose={() => (isSaving.value = false)}
        />
      )}
    </>
  );
}

function Definition({
  definition,
  modelName,
  tokens,
}: {
  definition: object;
  modelName: string;
  tokens: number;
}): JSX.Element {
  const text = useMemo(() => JSON.stringify(definition, null, 2), [definition]);
  return (
    <>
      <p class="in-pane small t2">
        The model knows it as{" "}
        <code>
          <ServerText text={modelName} />
        </code>
        , {countText(tokens)} tokens.
      </p>
      <JsonText label="Definition" text={text} />
    </>
  );
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
