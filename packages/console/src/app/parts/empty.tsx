import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Note } from "./badge.tsx";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { ServerText } from "./quoted.tsx";

/** A place without content: what it is for, and the next step. */
export function Empty(props: { icon?: IconName; title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      {props.icon && <Icon name={props.icon} />}
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

const bonesAfterMs = 200;

/** Grey bars in the place of content that is being loaded. They appear only if it takes a while. */
export function Bones({ label, rows = 3 }: { label: string; rows?: number }): JSX.Element {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), bonesAfterMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="stack" role="status" aria-label={label}>
      {isShown && Array.from({ length: rows }, (_, index) => <span key={index} class={`bone w${index % 3}`} />)}
    </div>
  );
}

/** Something that could not be read: the reason, and the way to try once more. */
export function ReadFailure(props: { reason: string; onRetry: (() => void) | undefined }): JSX.Element {
  const { reason, onRetry } = props;
  return (
    <Note tone="danger">
      <ServerText text={reason} lines="keep" />{" "}
      {onRetry && (
        <Button size="small" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Note>
  );
}
