import { useSignal } from "@preact/signals";
import type { Resource, ResourceTemplate } from "portolan";
import { parseUriTemplate } from "portolan-host";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { ServerRecord, Verbs } from "../../../api.ts";
import { Badge, Note } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { BlobContent, TextContent } from "../../parts/content.tsx";
import { Bones, Empty, ReadFailure } from "../../parts/empty.tsx";
import { Quoted, ServerText } from "../../parts/quoted.tsx";
import { usePage } from "../../state/console.ts";
import { inspectState, type Loaded, load } from "../state.ts";
import { countText, sizeText } from "../words.ts";
import { CompletedInput } from "./completed-input.tsx";
import type { TryItem } from "./items.ts";

/** One resource or template: its address, and what is there. */
export function ResourcePane({ server, item }: { server: ServerRecord; item: TryItem }): JSX.Element {
  const page = usePage();
  const state = inspectState(page);
  const isTemplate = item.kind === "template";
  const row = item.row as Resource & ResourceTemplate;
  const values = state.kept<{ readonly [name: string]: string }>(`template:${server.name}:${item.id}`, {});
  const template = useMemo(() => (isTemplate ? readTemplate(item.id) : undefined), [item.id]);
  const uri = template === undefined ? item.id : template.expand(values.value);
  const read = useSignal<Loaded<Verbs["resource.read"]["gives"]>>({ isLoading: false });
  const isFollowed = state.kept(`followed:${server.name}:${item.id}`, false);
  const connection = state.chosenConnection(server.name).value;
  const names = template?.names ?? [];
  const isComplete = names.every((name) => values.value[name]);
  const get = () =>
    load(read, () =>
      page.api.read("resource.read", { server: server.name, uri, ...(connection !== undefined && { connection }) }),
    );
  useEffect(() => {
    if (!isTemplate && server.state === "ready") void get();
  }, []);
  return (
    <>
      <section class="pane" aria-label={`Resource ${item.name}`}>
        <div class="pane-head">
          <h2 class="tool cut">
            <ServerText text={item.name} />
          </h2>
          <Badge>{isTemplate ? "template" : "resource"}</Badge>
        </div>
        <div class="pane-body try-form">
          <div class="form">
            {row.description !== undefined && <Quoted by={server.name} text={row.description} />}
            {names.map((name) => (
              <CompletedInput
                key={name}
                server={server.name}
                reference={{ type: "ref/resource", uri: item.id }}
                name={name}
                value={values.value[name] ?? ""}
                isRequired
                known={values.value}
                onChange={(value) => (values.value = { ...values.value, [name]: value })}
              />
            ))}
            {isTemplate && template === undefined && (
              <Note tone="warn">This template cannot be read as RFC 6570 says.</Note>
            )}
            <dl class="facts">
              <dt>address</dt>
              <dd>
                <code>
                  <ServerText text={uri} />
                </code>
              </dd>
              {row.mimeType !== undefined && (
                <>
                  <dt>type</dt>
                  <dd>
                    <ServerText text={row.mimeType} />
                  </dd>
                </>
              )}
              {row.size !== undefined && (
                <>
                  <dt>size</dt>
                  <dd class="num">{sizeText(row.size)}</dd>
                </>
              )}
            </dl>
          </div>
        </div>
        <div class="pane-foot">
          <Button tone="primary" icon="eye" isBusy={read.value.isLoading} disabled={!isComplete} onClick={get}>
            Read
          </Button>
          {!isTemplate && (
            <Button
              pressed={isFollowed.value}
              onClick={async () => {
                const isOn = !isFollowed.value;
                const done = await page.attempt(() =>
                  page.api.change("resource.follow", { server: server.name, uri, isOn }),
                );
                if (done) isFollowed.value = isOn;
              }}
            >
              {isFollowed.value ? "Following" : "Follow"}
            </Button>
          )}
        </div>
      </section>
      <section class="pane result" aria-label="Content">
        <div class="pane-head">
          <h3>Content</h3>
          {read.value.value && <Badge tone="accent">{countText(read.value.value.tokens)} tokens</Badge>}
        </div>
        <div class="pane-body">
          {read.value.reason !== undefined && (
            <div class="in-pane">
              <ReadFailure reason={read.value.reason} onRetry={read.value.retry} />
            </div>
          )}
          {read.value.value ? (
            read.value.value.result.contents.map((content, at) => (
              <div key={at} class="in-pane stack">
                {content.uri !== uri && (
                  <code class="small t3">
                    <ServerText text={content.uri} />
                  </code>
                )}
                {"text" in content ? (
                  <TextContent text={content.text} label={content.uri} />
                ) : (
                  <BlobContent data={content.blob} type={content.mimeType ?? ""} label={content.uri} />
                )}
              </div>
            ))
          ) : read.value.isLoading ? (
            <div class="in-pane">
              <Bones label="Reading the resource" />
            </div>
          ) : (
            read.value.reason === undefined && (
              <Empty icon="file" title="Nothing was read yet">
                <p>
                  {isTemplate
                    ? "Fill in the template and read what is there."
                    : "Read it to see what a model would get."}
                </p>
              </Empty>
            )
          )}
        </div>
      </section>
    </>
  );
}

interface ReadTemplate {
  readonly names: readonly string[];
  expand(values: { readonly [name: string]: string }): string;
}

function readTemplate(text: string): ReadTemplate | undefined {
  try {
    const template = parseUriTemplate(text);
    const names = [...text.matchAll(/\{[+#./;?&]?([^}]+)\}/g)].flatMap(([, list = ""]) =>
      list.split(",").map((name) => name.replace(/[*]|:\d+$/g, "")),
    );
    return { names: [...new Set(names)], expand: (values) => template.expand(values) };
  } catch {
    return undefined;
  }
}
