import { useSignal } from "@preact/signals";
import type { Prompt } from "portolan";
import type { JSX } from "preact";
import type { ServerRecord, Verbs } from "../../../api.ts";
import { reasonOf } from "../../api/client.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Content } from "../../parts/content.tsx";
import { Bones, Empty, ReadFailure } from "../../parts/empty.tsx";
import { Quoted, ServerText } from "../../parts/quoted.tsx";
import { commandKey, isCommand } from "../../shell/keys.ts";
import { usePage } from "../../state/console.ts";
import { inspectState } from "../state.ts";
import { countText } from "../words.ts";
import { CompletedInput } from "./completed-input.tsx";
import type { TryItem } from "./items.ts";

/** One prompt: its arguments with the server's proposals, and the messages that it makes. */
export function PromptPane({ server, item }: { server: ServerRecord; item: TryItem }): JSX.Element {
  const page = usePage();
  const state = inspectState(page);
  const prompt = item.row as Prompt;
  const values = state.kept<{ readonly [name: string]: string }>(`prompt:${server.name}:${prompt.name}`, {});
  const given = state.kept<Verbs["prompt.get"]["gives"] | undefined>(
    `prompted:${server.name}:${prompt.name}`,
    undefined,
  );
  const isBusy = useSignal(false);
  const failure = useSignal<string | undefined>(undefined);
  const connection = state.chosenConnection(server.name).value;
  const get = async () => {
    isBusy.value = true;
    failure.value = undefined;
    try {
      given.value = await page.api.read("prompt.get", {
        server: server.name,
        name: prompt.name,
        args: values.value,
        ...(connection !== undefined && { connection }),
      });
    } catch (error) {
      // The messages before belong to other arguments.
      given.value = undefined;
      failure.value = reasonOf(error);
    }
    isBusy.value = false;
  };
  return (
    <>
      <section
        class="pane"
        aria-label={`Arguments of ${prompt.name}`}
        onKeyDown={(event) => {
          if (event.key === "Enter" && isCommand(event)) void get();
        }}
      >
        <div class="pane-head">
          <h2 class="tool cut">
            <ServerText text={prompt.name} />
          </h2>
          <Badge>prompt</Badge>
        </div>
        <div class="pane-body try-form">
          <div class="form">
            {prompt.description !== undefined && <Quoted by={server.name} text={prompt.description} />}
            {(prompt.arguments ?? []).map((argument) => (
              <CompletedInput
                key={argument.name}
                server={server.name}
                reference={{ type: "ref/prompt", name: prompt.name }}
                name={argument.name}
                value={values.value[argument.name] ?? ""}
                isRequired={argument.required === true}
                description={argument.description}
                known={values.value}
                onChange={(value) => {
                  const { [argument.name]: _, ...others } = values.value;
                  values.value = value === "" ? others : { ...others, [argument.name]: value };
                }}
              />
            ))}
            {(prompt.arguments ?? []).length === 0 && <p class="t3">This prompt takes no arguments.</p>}
          </div>
        </div>
        <div class="pane-foot">
          <Button tone="primary" icon="play" keys={`${commandKey} ⏎`} isBusy={isBusy.value} onClick={get}>
            Get messages
          </Button>
        </div>
      </section>
      <section class="pane result" aria-label="Messages">
        <div class="pane-head">
          <h3>Messages</h3>
          {given.value && <Badge tone="accent">{countText(given.value.tokens)} tokens</Badge>}
        </div>
        <div class="pane-body">
          {failure.value !== undefined ? (
            <div class="in-pane">
              <ReadFailure reason={failure.value} onRetry={() => void get()} />
            </div>
          ) : given.value === undefined && isBusy.value ? (
            <div class="in-pane">
              <Bones label="Asking for the messages" />
            </div>
          ) : given.value === undefined ? (
            <Empty icon="slash" title="Nothing was asked for yet">
              <p>The messages that this prompt puts into a conversation appear here.</p>
            </Empty>
          ) : (
            <div class="in-pane stack">
              {given.value.result.description !== undefined && (
                <Quoted by={server.name} text={given.value.result.description} />
              )}
              {given.value.result.messages.map((message, at) => (
                <div key={at} class="stack prompt-message">
                  <span class="label">{message.role}</span>
                  <Content block={message.content} label={`message ${at + 1}`} />
                </div>
              ))}
            </div>
          )}
        </div>
      </section>
    </>
  );
}
