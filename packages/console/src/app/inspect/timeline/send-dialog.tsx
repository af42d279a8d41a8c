import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ConnectionRecord } from "../../../api.ts";
import { reasonOf } from "../../api/client.ts";
import { Note } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { parseJson, printJson } from "../../parts/json/document.ts";
import { EditedDocument } from "../../parts/json/edited-document.ts";
import { JsonEditor } from "../../parts/json/editor.tsx";
import { JsonText } from "../../parts/json/json-text.tsx";
import { Dialog } from "../../parts/popover.tsx";
import { ServerText } from "../../parts/quoted.tsx";
import { usePage } from "../../state/console.ts";
import { inspectState } from "../state.ts";

/** Sends any request again, as it is or changed. It goes over a connection of its own, never over that of the model. */
export function SendDialog(props: {
  readonly connection: ConnectionRecord;
  readonly method: string;
  readonly paramsText: string;
  /** "now" sends it at once, "after-asking" says first that it may act again. Without it the person edits and sends. */
  readonly replay?: "now" | "after-asking";
  readonly onClose: () => void;
}): JSX.Element {
  const { connection, paramsText, replay, onClose } = props;
  const page = usePage();
  const state = inspectState(page);
  const document = useMemo(() => new EditedDocument(true, { text: paramsText }), [paramsText]);
  const method = useSignal(props.method);
  const isBusy = useSignal(false);
  /** The connection that was opened for this dialog; the next request goes over it too. */
  const own = useRef<string | undefined>(undefined);
  const response = useSignal<string | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const send = async () => {
    if (document.unsendable()) return;
    isBusy.value = true;
    failure.value = undefined;
    try {
      if (own.current === undefined && !connection.isMain && connection.state === "open") own.current = connection.id;
      own.current ??= await state.open(connection.server, connection.revision);
      const id = own.current;
      const given = await page.api.change("request", {
        connection: id,
        method: method.value,
        paramsText: document.text,
      });
      const parsed = parseJson(given.responseText);
      response.value = "node" in parsed ? printJson(parsed.node) : given.responseText;
    } catch (error) {
      failure.value = reasonOf(error);
    }
    isBusy.value = false;
  };
  useEffect(() => {
    if (replay === "now") void send();
  }, []);
  return (
    <Dialog
      title={replay === undefined ? "Send a request" : "Replay a request"}
      isWide
      onClose={onClose}
      footer={
        <>
          <Button tone="primary" icon="send" isBusy={isBusy.value} onClick={send}>
            Send
          </Button>
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      {replay === "after-asking" && response.value === undefined && (
        <Note tone="warn">This call may change something, and would do so again. Send it if you want that.</Note>
      )}
      {connection.isMain && (
        <Note>It goes over a second connection, so that the conversation of the model is not disturbed.</Note>
      )}
      <div class="field">
        <label for="send-method">Method</label>
        <input
          id="send-method"
          class="in mono"
          spellcheck={false}
          value={method.value}
          onInput={(event) => (method.value = event.currentTarget.value)}
        />
      </div>
      <div class="field">
        <span class="cap">Parameters</span>
        <div class="boxed-editor">
          <JsonEditor document={document} label="Parameters as JSON" />
        </div>
      </div>
      {failure.value !== undefined && (
        <Note tone="danger">
          <ServerText text={failure.value} lines="keep" />
        </Note>
      )}
      {response.value !== undefined && (
        <div class="field">
          <span class="cap">Response</span>
          <JsonText label="Response" text={response.value} />
        </div>
      )}
    </Dialog>
  );
}
