import { useSignal } from "@preact/signals";
import type { ReadResourceResult, Resource, ResourceTemplate } from "portolan";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { AttachedResource, ServerRecord } from "../../api.ts";
import { reasonOf } from "../api/client.ts";
import { Badge, Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { BlobContent } from "../parts/content.tsx";
import { Bones, Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { Dialog } from "../parts/popover.tsx";
import { Quoted, ServerText } from "../parts/quoted.tsx";
import { commandKey, isCommand } from "../shell/keys.ts";
import { usePage } from "../state/console.ts";
import { CatalogState } from "./catalog-state.tsx";
import { CompletedField } from "./completion.tsx";
import { type FuzzyMatch, fuzzyMatch } from "./match.ts";
import { Matched } from "./matched.tsx";
import { QuestionsOf } from "./questions/card.tsx";
import type { Talk } from "./talk.ts";
import { expandTemplate, variablesOf } from "./templates.ts";
import { countText } from "./times.ts";

type Shown =
  | { readonly kind: "resource"; readonly server: string; readonly resource: Resource }
  | { readonly kind: "template"; readonly server: string; readonly template: ResourceTemplate };

/** Rows of one server; more are found by searching. */
const mostRows = 100;

/** Chooses resources of all servers for the next message. */
export function ResourcePicker({ talk, onClose }: { talk: Talk; onClose: () => void }): JSX.Element {
  const page = usePage();
  const query = useSignal("");
  const chosen = useSignal<readonly AttachedResource[]>(talk.attached);
  const shown = useSignal<Shown | undefined>(undefined);
  const search = useRef<HTMLInputElement>(null);
  const servers = page.store.servers.all.value.filter(({ counts }) => counts.resources + counts.templates > 0);
  const isStarting = page.store.servers.all.value.some(({ state }) => state === "starting");
  const isNothing =
    query.value !== "" &&
    servers.length > 0 &&
    servers.every(({ name }) => {
      const catalog = page.catalogs.of(name).value;
      if (!catalog) return false;
      const fits = (title: string, uri: string) => matchOf(query.value, title, uri) !== undefined;
      return !(
        catalog.resources.some((one) => fits(one.title ?? one.name, one.uri)) ||
        catalog.templates.some((one) => fits(one.title ?? one.name, one.uriTemplate))
      );
    });
  useEffect(() => {
    page.wake();
    search.current?.focus();
  }, []);
  const attach = () =>
    void page.attempt(async () => {
      await talk.change({ attached: chosen.peek() });
      onClose();
    });
  const toggle = (server: string, uri: string, name: string) => {
    const others = chosen.peek().filter((one) => one.server !== server || one.uri !== uri);
    chosen.value = others.length < chosen.peek().length ? others : [...others, { server, uri, name }];
  };
  const isChosen = (server: string, uri: string) =>
    chosen.value.some((one) => one.server === server && one.uri === uri);
  return (
    <Dialog
      title="Attach resources"
      isWide
      onClose={onClose}
      footer={
        <>
          <span class="small t2 num">{countText(chosen.value.length, "resource")} selected</span>
          <span class="grow" />
          <Button tone="quiet" keys="Esc" onClick={onClose}>
            Cancel
          </Button>
          <Button tone="primary" keys={`${commandKey} ⏎`} onClick={attach}>
            {chosen.value.length === 0 ? "Done" : `Attach ${chosen.value.length}`}
          </Button>
        </>
      }
    >
      <div
        class="picker"
        onKeyDown={(event) => {
          if (event.key === "Enter" && isCommand(event)) {
            event.preventDefault();
            attach();
          }
        }}
      >
        <div class="picker-list">
          <input
            ref={search}
            class="in"
            type="search"
            aria-label="Search resources"
            placeholder="Search resources"
            value={query.value}
            onInput={(event) => {
              query.value = event.currentTarget.value;
            }}
          />
          {isStarting && <Bones label="The servers are starting" />}
          {servers.length === 0 && !isStarting && (
            <Empty icon="file" title="No resources yet">
              <p>None of your servers offers files or pages.</p>
            </Empty>
          )}
          {isNothing && (
            <Empty icon="search" title="Nothing fits the search">
              <p>Fewer letters find more.</p>
            </Empty>
          )}
          <div class="picker-rows">
            {servers.map((server) => (
              <ServerResources
                key={server.name}
                server={server}
                query={query.value}
                shown={shown.value}
                isChosen={isChosen}
                onShow={(next) => {
                  shown.value = next;
                }}
                onToggle={toggle}
              />
            ))}
          </div>
        </div>
        <div class="picker-preview">
          {shown.value === undefined ? (
            <Empty icon="eye" title="Look before you attach">
              <p>Choose a resource to see what the model would read.</p>
            </Empty>
          ) : shown.value.kind === "resource" ? (
            <ResourcePreview
              server={shown.value.server}
              uri={shown.value.resource.uri}
              name={shown.value.resource.name}
            />
          ) : (
            <TemplateForm
              key={shown.value.template.uriTemplate}
              server={shown.value.server}
              template={shown.value.template}
              isChosen={isChosen}
              onToggle={toggle}
            />
          )}
        </div>
      </div>
    </Dialog>
  );
}

function ServerResources(props: {
  server: ServerRecord;
  query: string;
  shown: Shown | undefined;
  isChosen: (server: string, uri: string) => boolean;
  onShow: (shown: Shown) => void;
  onToggle: (server: string, uri: string, name: string) => void;
}): JSX.Element | null {
  const page = usePage();
  const { server, query, shown, isChosen, onShow, onToggle } = props;
  const { name } = server;
  const catalog = page.catalogs.of(name).value;
  const resources = (catalog?.resources ?? []).flatMap((resource) => {
    const match = matchOf(query, resource.title ?? resource.name, resource.uri);
    return match ? [{ resource, match }] : [];
  });
  const templates = (catalog?.templates ?? []).flatMap((template) => {
    const match = matchOf(query, template.title ?? template.name, template.uriTemplate);
    return match ? [{ template, match }] : [];
  });
  if (catalog && resources.length + templates.length === 0) return null;
  return (
    <section>
      <h3 class="row picker-server">
        <Icon name="plug" class="t3" />
        <span class="grow cut">
          <ServerText text={name} />
        </span>
        <span class="small t3 num">{resources.length}</span>
      </h3>
      {!catalog && <CatalogState server={name} label={`Reading the resources of ${name}`} />}
      <ul>
        {resources.slice(0, mostRows).map(({ resource, match }) => (
          <li
            key={resource.uri}
            class="picker-row"
            data-current={(shown?.kind === "resource" && shown.resource === resource) || undefined}
          >
            <input
              type="checkbox"
              aria-label={`Attach ${resource.title ?? resource.name}`}
              checked={isChosen(name, resource.uri)}
              onChange={() => onToggle(name, resource.uri, resource.title ?? resource.name)}
            />
            <button
              type="button"
              class="picker-name"
              title={resource.uri}
              onClick={() => onShow({ kind: "resource", server: name, resource })}
            >
              <Icon name={resource.mimeType?.startsWith("image/") ? "image" : "file"} class="t3" />
              <span class="grow cut">
                <Matched text={resource.title ?? resource.name} match={match} />
              </span>
              {resource.size !== undefined && <span class="small t3 num">{sizeText(resource.size)}</span>}
            </button>
          </li>
        ))}
        {templates.slice(0, mostRows).map(({ template, match }) => (
          <li
            key={template.uriTemplate}
            class="picker-row"
            data-current={(shown?.kind === "template" && shown.template === template) || undefined}
          >
            <button
              type="button"
              class="picker-name is-template"
              title={template.uriTemplate}
              onClick={() => onShow({ kind: "template", server: name, template })}
            >
              <Icon name="code" class="t3" />
              <span class="grow cut">
                <Matched text={template.title ?? template.name} match={match} />
              </span>
              <Badge tone="accent">template</Badge>
            </button>
          </li>
        ))}
      </ul>
      {resources.length > mostRows && <p class="hint">{resources.length - mostRows} more: search for them.</p>}
    </section>
  );
}

/** Finds a resource or template by its title or by its address. */
function matchOf(query: string, title: string, uri: string): FuzzyMatch | undefined {
  if (query === "") return { score: 0, at: [] };
  return fuzzyMatch(query, title) ?? (fuzzyMatch(query, uri) && { score: 0, at: [] });
}

/** A size as a person reads it. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(bytes < 10_000 ? 1 : 0)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

const maxPreviewChars = 6_000;

function ResourcePreview({ server, uri, name }: { server: string; uri: string; name: string }): JSX.Element {
  const page = usePage();
  const shown = useSignal<{ readonly result: ReadResourceResult; readonly tokens: number } | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const load = (signal?: AbortSignal) => {
    shown.value = undefined;
    failure.value = undefined;
    page.api.read("resource.read", { server, uri }, signal).then(
      (reply) => {
        shown.value = reply;
      },
      (error: unknown) => {
        if (!signal?.aborted) failure.value = reasonOf(error);
      },
    );
  };
  useEffect(() => {
    const ended = new AbortController();
    load(ended.signal);
    return () => ended.abort();
  }, [server, uri]);
  return (
    <div class="stack">
      <div class="row wrap">
        <b class="cut grow">
          <ServerText text={name} />
        </b>
        {shown.value && <Badge>{countText(shown.value.tokens, "token")}</Badge>}
      </div>
      <p class="mono t3 small wrap-any">
        <ServerText text={uri} />
      </p>
      {failure.value !== undefined && (
        <>
          <Note tone="danger">{failure.value}</Note>
          <Button size="small" icon="replay" onClick={() => load()}>
            Try again
          </Button>
        </>
      )}
      {!shown.value && failure.value === undefined && (
        <>
          <QuestionsOf server={server} />
          <Bones label="Reading the resource" rows={5} />
        </>
      )}
      {shown.value?.result.contents.map((content, index) =>
        "text" in content && typeof content.text === "string" ? (
          <Quoted key={index} by={server} says="has" text={content.text.slice(0, maxPreviewChars)} />
        ) : (
          <BlobContent
            key={index}
            data={"blob" in content ? content.blob : ""}
            type={content.mimeType ?? ""}
            label={content.uri}
          />
        ),
      )}
    </div>
  );
}

function TemplateForm(props: {
  server: string;
  template: ResourceTemplate;
  isChosen: (server: string, uri: string) => boolean;
  onToggle: (server: string, uri: string, name: string) => void;
}): JSX.Element {
  const { server, template, isChosen, onToggle } = props;
  const values = useSignal<{ readonly [name: string]: string }>({});
  const variables = variablesOf(template.uriTemplate);
  const isComplete = variables.every((name) => (values.value[name] ?? "") !== "");
  const uri = isComplete ? expandTemplate(template.uriTemplate, values.value) : undefined;
  return (
    <div class="stack">
      <b>
        <ServerText text={template.title ?? template.name} />
      </b>
      {template.description !== undefined && <Quoted by={server} text={template.description} />}
      {variables.map((name) => (
        <CompletedField
          key={name}
          server={server}
          of={{ type: "ref/resource", uri: template.uriTemplate }}
          name={name}
          isRequired
          value={values.value[name] ?? ""}
          known={values.value}
          onChange={(value) => {
            values.value = { ...values.peek(), [name]: value };
          }}
        />
      ))}
      {uri !== undefined && (
        <>
          <label class="row">
            <input
              type="checkbox"
              checked={isChosen(server, uri)}
              onChange={() => onToggle(server, uri, Object.values(values.peek()).join(" "))}
            />
            Attach this one
          </label>
          <ResourcePreview server={server} uri={uri} name={Object.values(values.value).join(" ")} />
        </>
      )}
    </div>
  );
}
