import type { ContentBlock } from "portolan";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Note } from "./badge.tsx";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";
import { parseJson, printJson } from "./json/document.ts";
import { JsonText } from "./json/json-text.tsx";
import { ServerText } from "./quoted.tsx";

const firstChars = 5_000;
const moreChars = 100_000;

/** One piece of content of a server, shown as what it is. Nothing in it is ever markup of this page. */
export function Content({ block, label }: { block: ContentBlock; label: string }): JSX.Element {
  switch (block.type) {
    case "text":
      return <TextContent text={block.text} label={label} />;
    case "image":
      return <MediaContent kind="image" data={block.data} type={block.mimeType} label={label} />;
    case "audio":
      return <MediaContent kind="audio" data={block.data} type={block.mimeType} label={label} />;
    case "resource_link":
      return (
        <div class="content-link">
          <Icon name="file" />
          <span class="grow cut">
            <b>
              <ServerText text={block.title ?? block.name} />
            </b>{" "}
            <code class="t3">
              <ServerText text={block.uri} />
            </code>
          </span>
          {block.mimeType !== undefined && (
            <span class="small t3">
              <ServerText text={block.mimeType} />
            </span>
          )}
        </div>
      );
    case "resource": {
      const { resource } = block;
      return (
        <div class="stack">
          <code class="small t3">
            <ServerText text={resource.uri} />
          </code>
          {"text" in resource ? (
            <TextContent text={resource.text} label={resource.uri} />
          ) : (
            <BlobContent data={resource.blob} type={resource.mimeType ?? ""} label={resource.uri} />
          )}
        </div>
      );
    }
    default:
      return <Note>Content of a kind that is not known here: see Raw.</Note>;
  }
}

/** A text, or the JSON that it is. */
export function TextContent({ text, label }: { text: string; label: string }): JSX.Element {
  const [shown, setShown] = useState(firstChars);
  const json = useMemo(() => {
    if (text.length > 2_000_000 || !/^\s*[[{]/.test(text)) return undefined;
    const parsed = parseJson(text);
    return "node" in parsed ? printJson(parsed.node) : undefined;
  }, [text]);
  if (json !== undefined) return <JsonText label={label} text={json} />;
  return (
    <div class="content-text">
      <div class="words" dir="auto">
        <ServerText text={text.slice(0, shown)} lines="keep" />
      </div>
      {text.length > shown && (
        <Button size="small" onClick={() => setShown(shown + moreChars)}>
          Show more of {text.length.toLocaleString("en")} characters
        </Button>
      )}
    </div>
  );
}

/** Content that is bytes: a picture or sound if it is one, else its size. */
export function BlobContent({ data, type, label }: { data: string; type: string; label: string }): JSX.Element {
  if (type.startsWith("image/")) return <MediaContent kind="image" data={data} type={type} label={label} />;
  if (type.startsWith("audio/")) return <MediaContent kind="audio" data={data} type={type} label={label} />;
  return (
    <p class="t2">
      {Math.round((data.length * 3) / 4).toLocaleString("en")} bytes of <ServerText text={type || "unknown type"} />
    </p>
  );
}

/** Types that a browser shows without running anything. A picture of type SVG could, so it is only a file. */
const shown = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+)$/;

function MediaContent(props: { kind: "image" | "audio"; data: string; type: string; label: string }): JSX.Element {
  const { kind, data, type, label } = props;
  const [address, setAddress] = useState<string | undefined>(undefined);
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    if (!shown.test(type)) return;
    const bytes = bytesOf(data);
    if (bytes === undefined) {
      setBroken(true);
      return;
    }
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [data, type]);
  const size = Math.round((data.length * 3) / 4).toLocaleString("en");
  if (!shown.test(type) || isBroken) {
    return (
      <p class="t2">
        {size} bytes of <ServerText text={type} />
        {isBroken ? ", not readable" : ", not shown"}
      </p>
    );
  }
  return (
    <figure class="content-media">
      {address !== undefined &&
        (kind === "image" ? (
          <img src={address} alt={`From the server: ${label}`} onError={() => setBroken(true)} />
        ) : (
          // biome-ignore lint/a11y/useMediaCaption: what a server sends has no captions
          <audio controls src={address} onError={() => setBroken(true)} />
        ))}
      <figcaption class="small t3">
        <ServerText text={type} />, {size} bytes
      </figcaption>
    </figure>
  );
}

function bytesOf(data: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}
