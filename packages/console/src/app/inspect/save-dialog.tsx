import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useId } from "preact/hooks";
import type { CallResultHead, Expectation } from "../../api.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/popover.tsx";
import { usePage } from "../state/console.ts";
import { inspectState } from "./state.ts";

/** Saves a call with what is expected of its result. */
export function SaveDialog(props: {
  readonly server: string;
  readonly tool: string;
  readonly argumentsText: string;
  readonly result: CallResultHead | undefined;
  readonly onClose: () => void;
}): JSX.Element {
  const { server, tool, argumentsText, result, onClose } = props;
  const page = usePage();
  const id = useId();
  const name = useSignal(`${tool} of ${server}`);
  const checksError = useSignal(true);
  const checksSchema = useSignal(result !== undefined && result.schemaProblems.length === 0);
  const checksTime = useSignal(false);
  const under = useSignal("1000");
  const checksValue = useSignal(false);
  const path = useSignal("structuredContent");
  const value = useSignal("");
  const isBusy = useSignal(false);
  const problem = useSignal("");
  const save = async () => {
    const expect: Expectation[] = [];
    if (checksError.value) expect.push({ isError: result?.isError ?? false });
    if (checksSchema.value) expect.push({ schema: true });
    if (checksTime.value) expect.push({ underMs: Number(under.value) || 1_000 });
    if (checksValue.value) {
      try {
        expect.push({ path: path.value, is: JSON.parse(value.value) });
      } catch {
        problem.value = 'The value is not JSON. A text needs quotes, like "OSL".';
        return;
      }
    }
    isBusy.value = true;
    const done = await page.attempt(() =>
      page.api.change("saved.put", { call: { name: name.value, server, tool, argumentsText, expect } }),
    );
    isBusy.value = false;
    if (!done) return;
    inspectState(page).kept("saves", 0).value += 1;
    page.toast(`Saved as “${name.value}”.`, { tone: "ok" });
    onClose();
  };
  return (
    <Dialog
      title="Save this call"
      onClose={onClose}
      footer={
        <>
          <Button tone="primary" icon="save" isBusy={isBusy.value} onClick={save}>
            Save
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <div class="field">
        <label for={`${id}-n`}>Name</label>
        <input
          class="in"
          id={`${id}-n`}
          value={name.value}
          onInput={(event) => (name.value = event.currentTarget.value)}
        />
        <span class="hint">
          It is kept in <code>.portolan/calls.json</code> of your project, and <code>portolan test</code> runs it too.
        </span>
      </div>
      <fieldset class="picks">
        <legend class="label">What has to be true</legend>
        <label>
          <input
            type="checkbox"
            checked={checksError.value}
            onChange={() => (checksError.value = !checksError.value)}
          />
          {result?.isError ? "The tool reports an error" : "The tool reports no error"}
        </label>
        <label>
          <input
            type="checkbox"
            checked={checksSchema.value}
            onChange={() => (checksSchema.value = !checksSchema.value)}
          />
          The result fits the output schema
        </label>
        <label>
          <input type="checkbox" checked={checksTime.value} onChange={() => (checksTime.value = !checksTime.value)} />
          It takes less than
          <input
            class="in mono narrow"
            aria-label="Milliseconds"
            inputMode="numeric"
            value={under.value}
            onInput={(event) => (under.value = event.currentTarget.value)}
          />
          ms
        </label>
        <label>
          <input
            type="checkbox"
            checked={checksValue.value}
            onChange={() => (checksValue.value = !checksValue.value)}
          />
          A value in the result is
        </label>
        {checksValue.value && (
          <div class="row wrap">
            <input
              class="in mono"
              aria-label="Path in the result"
              placeholder="structuredContent.rows.0.price"
              value={path.value}
              onInput={(event) => (path.value = event.currentTarget.value)}
            />
            <input
              class="in mono"
              aria-label="Value as JSON"
              placeholder='128 or "OSL"'
              value={value.value}
              onInput={(event) => (value.value = event.currentTarget.value)}
            />
          </div>
        )}
        {problem.value !== "" && <span class="err">{problem.value}</span>}
      </fieldset>
    </Dialog>
  );
}
