import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { ServerRecord, SkillRow, Verbs } from "../../../api.ts";
import { Badge, Note } from "../../parts/badge.tsx";
import { TextContent } from "../../parts/content.tsx";
import { Bones, ReadFailure } from "../../parts/empty.tsx";
import { Quoted, ServerText } from "../../parts/quoted.tsx";
import { usePage } from "../../state/console.ts";
import { type Loaded, load } from "../state.ts";
import { countText, sizeText } from "../words.ts";

/** One skill: its files, and the instructions that a model would load. Looking at them allows nothing. */
export function SkillPane({ server, skill }: { server: ServerRecord; skill: SkillRow }): JSX.Element {
  const page = usePage();
  const { uri, name, description, files } = skill;
  const read = useSignal<Loaded<Verbs["skill.preview"]["gives"]>>({ isLoading: true });
  useEffect(() => {
    void load(read, () => page.api.read("skill.preview", { server: server.name, uri }));
  }, []);
  const { value, reason, retry, isLoading } = read.value;
  return (
    <>
      <section class="pane" aria-label={`Skill ${name}`}>
        <div class="pane-head">
          <h2 class="tool cut">
            <ServerText text={name} />
          </h2>
          <Badge>skill</Badge>
        </div>
        <div class="pane-body try-form">
          <div class="form">
            <Quoted by={server.name} text={description} />
            {files === undefined ? (
              <Note tone="warn">
                The server names no digests of its files, so nobody can tell whether they changed.
              </Note>
            ) : (
              <dl class="facts">
                {files.map(({ uri: file, size }) => (
                  <>
                    <dt key={`${file} size`} class="num">
                      {sizeText(size)}
                    </dt>
                    <dd key={file}>
                      <code>
                        <ServerText text={file} />
                      </code>
                    </dd>
                  </>
                ))}
              </dl>
            )}
          </div>
        </div>
      </section>
      <section class="pane result" aria-label="Instructions">
        <div class="pane-head">
          <h3>Instructions</h3>
          {value && <Badge tone="accent">{countText(value.tokens)} tokens</Badge>}
        </div>
        <div class="pane-body">
          <div class="in-pane stack">
            {reason !== undefined && <ReadFailure reason={reason} onRetry={retry} />}
            {isLoading && value === undefined && <Bones label="Reading the skill" />}
            {value && <TextContent text={value.text} label={uri} />}
          </div>
        </div>
      </section>
    </>
  );
}
